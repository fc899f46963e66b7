//! Tests of `ls`, `info`, `doctor` and `completions`.

use crate::common::{Background, Victim, good, json, line, name, publish, runtime_dir, tcasm};
use serde_json::{Value, json};
use tcasm_core::sys::reserved::ReservedPages;
use tcasm_observer::Observer;
use tcasm_producer::Producer;

#[test]
fn info_reports_the_region_as_json() {
    let name = name("truth");
    let mut p = Producer::builder(&name)
        .capacity(1 << 20)
        .attr("case", "A")
        .create()
        .unwrap();
    let t = p.field::<f64, _>("t", [64, 64]).unit("K").add().unwrap();
    let flow = p
        .field::<f32, _>("flow", [12, 10, 3])
        .vector()
        .fortran_order();
    let flow = flow
        .ghosts(&[[1, 1], [2, 0]])
        .mesh([1.0, 2.0, 3.0], [0.5; 3])
        .cell_centred();
    flow.attr("mach", 0.3).add().unwrap();
    for step in 1..=3 {
        p.view_mut(t).unwrap().fill(step as f64);
        p.publish(step * 10, step as f64 * 0.5).unwrap();
    }
    let info = json(&["info", &name, "--json"]);
    assert_eq!(info["name"], name.as_str());
    assert_eq!(info["producer"]["pid"], std::process::id());
    assert_eq!(info["producer"]["alive"], true);
    assert_eq!(info["region"]["base"], p.base());
    assert_eq!(info["region"]["base_hex"], format!("{:#x}", p.base()));
    assert!(info["region"]["bytes"].as_u64().unwrap() >= 1 << 20);
    assert_eq!(info["page_size"], 4096);
    assert_eq!(info["tracker"], p.tracker().name());
    let latest = &info["latest"];
    assert_eq!(
        (&latest["version"], &latest["step"]),
        (&json!(3), &json!(30))
    );
    assert_eq!(
        (&latest["time"], &latest["changed_pages"]),
        (&json!(1.5), &json!(8))
    );
    assert_eq!((&info["publishes"], &info["skips"]), (&json!(3), &json!(0)));
    assert_eq!(info["held_bytes"], p.stats().held_bytes);
    assert_eq!(
        info["observers"],
        json!([]),
        "the command itself is not listed"
    );
    assert_eq!(info["attrs"], json!({"case": "A"}));
    let us = &info["publish_us"];
    let [p50, p99, max] = ["p50", "p99", "max"].map(|q| us[q].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{us}");
    assert_eq!(info["counters"]["pages"], p.stats().pages);
    check_fields(&info["fields"]);
}

fn check_fields(fields: &Value) {
    let [t, flow] = fields.as_array().unwrap().as_slice() else {
        panic!("{fields}");
    };
    assert_eq!((&t["name"], &t["dtype"]), (&json!("t"), &json!("float64")));
    assert_eq!((&t["shape"], &t["order"]), (&json!([64, 64]), &json!("C")));
    assert_eq!((&t["unit"], &t["mesh"]), (&json!("K"), &Value::Null));
    assert_eq!(
        (&t["centering"], &t["bytes"]),
        (&json!("point"), &json!(64 * 64 * 8))
    );
    assert_eq!(
        (&flow["dtype"], &flow["components"]),
        (&json!("float32"), &json!(3))
    );
    assert_eq!(
        (&flow["shape"], &flow["order"]),
        (&json!([12, 10]), &json!("F"))
    );
    assert_eq!(
        (&flow["ghosts"], &flow["centering"]),
        (&json!([[1, 1], [2, 0]]), &json!("cell"))
    );
    assert_eq!(
        flow["mesh"],
        json!({"origin": [1.0, 2.0, 3.0], "spacing": [0.5, 0.5, 0.5]})
    );
    assert_eq!(flow["attrs"], json!({"mach": 0.3}));
}

#[test]
fn memory_held_by_several_pins_is_counted_once() {
    let name = name("held");
    let (mut p, t) = line(&name, 4096); // eight pages
    let mut observer = Observer::attach(&name).unwrap();
    let mut pins = Vec::new();
    for (step, pages) in [(1, 0..8), (2, 0..1), (3, 0..2)] {
        p.view_mut(t).unwrap().as_slice_mut().unwrap()[pages.start * 512..pages.end * 512]
            .fill(step as f64);
        p.publish(step, 0.0).unwrap();
        pins.push(observer.latest().unwrap());
    }
    let row = || json(&["info", &name, "--json"])["observers"][0].clone();
    assert_eq!(row()["pid"], std::process::id());
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    let program = program.trim_end();
    assert_eq!(row()["program"], program);
    let mut pinned: Vec<u64> = serde_json::from_value(row()["pinned"].clone()).unwrap();
    pinned.sort_unstable();
    assert_eq!(pinned, [1, 2, 3]);
    // Page 0 of version 1, page 0 of version 2, and page 1, which both versions share.
    assert_eq!(row()["held_bytes"], 3 * 4096);
    pins.remove(0);
    assert_eq!(row()["held_bytes"], 2 * 4096);
    pins.remove(0);
    assert_eq!(
        (row()["pinned"].clone(), row()["held_bytes"].clone()),
        (json!([3]), json!(0))
    );
    let text = good(&["info", &name]).out;
    assert!(
        text.contains("PINS VERSIONS")
            && text.contains(&format!("{}  {program}", std::process::id())),
        "{text}"
    );
}

#[test]
fn region_without_versions_has_no_latest_version() {
    let name = name("empty");
    let (_p, _) = line(&name, 8);
    let info = json(&["info", &name, "--json"]);
    assert_eq!(
        (&info["latest"], &info["fields"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(row(&name).unwrap()["version"], Value::Null);
    let text = good(&["info", &name]).out;
    assert!(text.contains("nothing published yet"), "{text}");
}

/// Returns the row of the region in `ls --json`.
fn row(name: &str) -> Option<Value> {
    let rows = json(&["ls", "--json"]);
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
        .cloned()
}

#[test]
fn ls_lists_running_and_dead_regions() {
    let alive = name("alive");
    let (mut p, t) = line(&alive, 8);
    publish(&mut p, t, 10);
    publish(&mut p, t, 20);
    let _observer = Observer::attach(&alive).unwrap();
    let mut victim = Victim::start("dead");
    assert_eq!(row(&victim.name).unwrap()["pid"], victim.child.id());
    victim.kill();
    let found = row(&alive).unwrap();
    assert_eq!(
        (&found["state"], &found["alive"]),
        (&json!("running"), &json!(true))
    );
    assert_eq!(
        (&found["pid"], &found["version"]),
        (&json!(std::process::id()), &json!(2))
    );
    assert_eq!((&found["step"], &found["time"]), (&json!(20), &json!(0.2)));
    assert_eq!(
        (&found["versions"], &found["observers"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(found["held_bytes"], p.stats().held_bytes);
    let found = row(&victim.name).unwrap();
    assert_eq!(
        (&found["state"], &found["alive"]),
        (&json!("dead"), &json!(false))
    );
    assert_eq!(found["pid"], Value::Null);
    let text = good(&["ls"]).out;
    let line = |name: &str| {
        text.lines()
            .find(|l| l.split(' ').next() == Some(name))
            .unwrap()
    };
    assert!(
        line(&alive).contains("running") && line(&victim.name).contains("dead"),
        "{text}"
    );
    drop(p);
    assert!(row(&alive).is_none(), "a region that was closed is gone");
}

#[test]
fn missing_runtime_folder_has_no_regions() {
    let run = |args: &[&str]| {
        let mut command = crate::common::command(args);
        command.env("TCASM_RUNTIME_DIR", runtime_dir().join("nowhere"));
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert_eq!(run(&["ls", "--json"]), (Some(0), "[]\n".to_owned()));
    let (code, text) = run(&["ls"]);
    assert!(
        code == Some(0) && text.starts_with("no regions in "),
        "{text}"
    );
    let (code, text) = run(&["doctor"]);
    assert!(
        code == Some(0) && text.contains("the first producer makes it"),
        "{text}"
    );
}

#[test]
fn info_watch_ends_with_the_region() {
    let name = name("watch");
    let (mut p, t) = line(&name, 8);
    publish(&mut p, t, 10);
    let mut watch = Background::start(&["info", &name, "--json", "--watch"]);
    let first: Value = serde_json::from_str(&watch.read_line()).unwrap();
    assert_eq!(first["latest"]["version"], 1);
    publish(&mut p, t, 20);
    drop(p);
    let run = watch.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["latest"]["version"], 2);
}

#[test]
fn doctor_reports_the_machine_and_the_chosen_tracker() {
    let probe = tcasm_core::track::probe();
    let report = json(&["doctor", "--json"]);
    assert_eq!(report["kernel"], probe.kernel);
    assert_eq!(report["uffd_async"]["state"], "usable");
    assert_eq!(report["user_faults"]["state"], "usable");
    assert_eq!(
        report["choice"]["tracker"],
        probe.choice.tracker.unwrap().name()
    );
    assert_eq!(report["max_map_count"], probe.max_map_count);
    assert!(report["limits"]["open_files"].as_u64().unwrap() > 0);
    assert!(report["limits"]["memory"].as_u64().unwrap() > 1 << 20);
    assert_eq!(report["registrars"][0]["name"], "mlock");
    assert_eq!(report["registrars"][0]["problem"], Value::Null);
    let reserved = ReservedPages::read().map(|pages| pages.total);
    assert_eq!(
        report["limits"]["reserved_pages"]["total"].as_u64(),
        reserved
    );
    let nodes = report["memory_nodes"]["nodes"].as_array().unwrap();
    let found = nodes.iter().map(|node| node["processors"].as_array());
    assert!(found.flatten().any(|processors| !processors.is_empty()));
    assert_eq!(report["memory_nodes"]["refused"], Value::Null);
    assert_eq!(
        report["runtime_dir"]["path"],
        runtime_dir().to_str().unwrap()
    );
    assert_eq!(report["runtime_dir"]["problem"], Value::Null);
    let text = good(&["doctor"]).out;
    for word in [
        "uffd-async",
        "cow",
        "compare",
        "deferred capture, user mode only",
        &probe.kernel,
        "open files",
        "locked memory",
        "registering memory for devices",
        "nodes of memory",
        "reserved huge pages",
        "runtime folder",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn doctor_reports_problems() {
    let doctor = |variable, value: &str| {
        let mut command = crate::common::command(&["doctor"]);
        let output = command.env(variable, value).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, text) = doctor("TCASM_RUNTIME_DIR", "/proc/nowhere");
    assert!(
        code == 9 && text.contains("TCASM_RUNTIME_DIR"),
        "{code} {text}"
    );
    let (code, text) = doctor("TCASM_RUNTIME_DIR", &format!("/tmp/{}", "x".repeat(120)));
    assert!(code == 9 && text.contains("too long"), "{code} {text}");
    let (code, text) = doctor("TCASM_TRACKER", "magic");
    assert!(code == 1 && text.contains("\"magic\""), "{code} {text}");
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let text = good(&["completions", shell]).out;
        assert!(
            text.contains("checkpoint") && text.contains("with-ghosts"),
            "{shell}: {text}"
        );
        assert!(text.len() > 1000);
    }
}

#[test]
fn help_documents_the_exit_statuses() {
    let text = good(&["--help"]).out;
    for line in [
        "3  there is no such region",
        "130  interrupted",
        "TCASM_LOG",
        "NO_COLOR",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(good(&["--version"]).out.starts_with("tcasm "));
    assert!(!text.contains("demo-producer"));
    assert_eq!(tcasm(&[]).code, 2);
}
