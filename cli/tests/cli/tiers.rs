//! Tests of `checkpoint` on two tiers, and of `checkpoints`, `verify` and `restore`.

use crate::checkpoint::{attached, expected, files, start};
use crate::common::{Background, bad, command, line, name, publish, tcasm, until};
use nix::sys::signal::Signal;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::Field;

#[test]
fn sigterm_writes_the_newest_version_before_the_end() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("term"));
    let [fast, slow] = ["fast", "slow"].map(|tier| dir.path().join(tier));
    [&fast, &slow]
        .into_iter()
        .for_each(|dir| fs::create_dir(dir).unwrap());
    let (mut p, t) = line(&name, 8);
    let slow_arg = slow.to_str().unwrap();
    let run = start(&name, &fast, &["--last", "--slow", slow_arg]);
    (1..=3).for_each(|n| publish(&mut p, t, n * 10));
    run.signal(Signal::SIGTERM);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.contains("asked to end: 1 file written") && run.out.contains("1 copied"));
    for folder in [&fast, &slow] {
        assert_eq!(files(folder), expected(&name, &[30]));
    }
    publish(&mut p, t, 40);
}

/// Files are limited to 100 KiB at first, so the second checkpoint fails. The slow copy of the
/// first one takes seconds, and the run keeps trying for as long.
#[test]
fn last_checkpoint_waits_for_room_while_copies_progress() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("room"));
    let [fast, slow] = ["fast", "slow"].map(|tier| dir.path().join(tier));
    [&fast, &slow]
        .into_iter()
        .for_each(|dir| fs::create_dir(dir).unwrap());
    let (mut p, t) = line(&name, 10_000);
    let tiers = [
        "--fast",
        fast.to_str().unwrap(),
        "--slow",
        slow.to_str().unwrap(),
    ];
    let args = [
        "--every",
        "1",
        "--compress",
        "0",
        "--limit",
        "0.01",
        "--timeout",
        "30",
    ];
    let tcasm = command(&[&["checkpoint", &name], &tiers[..], &args].concat());
    let mut shell = std::process::Command::new("bash");
    let limited = "trap '' XFSZ; ulimit -S -f 100; exec \"$@\"";
    shell.args(["-c", limited, "bash"]);
    shell.arg(tcasm.get_program()).args(tcasm.get_args());
    let mut run = Background::from(shell);
    attached(&name, run.pid());
    publish(&mut p, t, 10);
    assert!(run.read_line().starts_with("wrote "));
    let more: Field<f64, _> = p.field("more", [10_000]).add().unwrap();
    p.view_mut(more).unwrap().fill(1.0);
    publish(&mut p, t, 20);
    drop(p);
    let mut complaint = String::new();
    let mut complaints = BufReader::new(run.child().stderr.take().unwrap());
    complaints.read_line(&mut complaint).unwrap();
    assert!(
        complaint.contains("step 20") && complaint.contains("no room"),
        "{complaint}"
    );
    let pid = run.pid().to_string();
    let mut room = std::process::Command::new("prlimit");
    let status = room.args(["--pid", &pid, "--fsize=unlimited"]).status();
    assert!(status.unwrap().success());
    let told = run.read_line();
    assert!(
        told.starts_with("wrote ") && told.contains("step 20"),
        "{told}"
    );
    run.signal(Signal::SIGINT);
    let run = run.end();
    let left = "the rest is left to the next start";
    assert_eq!(run.code, 9, "{left}: {run:?}");
    let newest = Checkpoint::open(&fast).unwrap();
    newest.verify().unwrap();
    assert_eq!(newest.stamp().step, 20);
}

#[test]
fn increments_are_listed_verified_and_restored() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("chain"));
    let [fast, slow] = ["fast", "slow"].map(|tier| dir.path().join(tier));
    [&fast, &slow]
        .into_iter()
        .for_each(|dir| fs::create_dir(dir).unwrap());
    let (fast_arg, slow_arg) = (fast.to_str().unwrap(), slow.to_str().unwrap());
    let (mut p, t) = line(&name, 1 << 18); // 2 MiB
    let args = ["--every", "1", "--increments", "3", "--compress", "0"];
    let args = [&args[..], &["--slow", slow_arg, "--keep", "1"]].concat();
    let run = start(&name, &fast, &args);
    publish(&mut p, t, 10);
    for step in [20, 30, 40, 50] {
        // One page in ten.
        for page in (0..512).step_by(10) {
            p.view_mut(t).unwrap()[page * 512 + step as usize] = step as f64;
        }
        p.publish(step, step as f64).unwrap();
        until("it is written", || {
            fs::read_dir(&slow).unwrap().flatten().any(|e| {
                let file = e.file_name().into_string().unwrap();
                file.contains(&format!("_{step:08}.")) && !file.starts_with('.')
            })
        });
    }
    let last: Vec<u8> = p
        .view_mut(t)
        .unwrap()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");

    let list = tcasm(&["checkpoints", slow_arg, "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    let all = list[0]["checkpoints"].as_array().unwrap().clone();
    let kinds: Vec<_> = all
        .iter()
        .map(|c| (c["step"].as_u64().unwrap(), c["kind"].as_str().unwrap()))
        .collect();
    let increment = "increment";
    assert_eq!(
        kinds,
        [
            (10, "full"),
            (20, increment),
            (30, increment),
            (40, "full"),
            (50, increment)
        ]
    );
    let bytes = |i: usize| all[i]["bytes"].as_u64().unwrap();
    assert!(bytes(1) < 52 * 4096 * 11 / 10, "{}", bytes(1));
    let text = tcasm(&["checkpoints", fast_arg]);
    let told = |text: &str, what: &str| assert!(text.contains(what), "{what} in {text}");
    told(&text.out, "increment on step 40, 2 files");
    told(&text.out, "copied");
    assert_eq!(
        text.out.lines().count(),
        3,
        "the newest and the checkpoint that it builds on: {text:?}"
    );

    let verified = tcasm(&["verify", fast_arg, slow_arg]);
    assert_eq!(verified.code, 0, "{verified:?}");
    told(&verified.out, "7 checkpoints are whole");
    let out = dir.path().join("restored.vtkhdf");
    let restored = tcasm(&[
        "restore",
        fast_arg,
        slow_arg,
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(
        (restored.code, restored.err.as_str()),
        (0, ""),
        "{restored:?}"
    );
    let read = |path: &Path| {
        let mut bytes = vec![0; last.len()];
        Checkpoint::open(path)
            .unwrap()
            .read_bytes("t", &mut bytes)
            .unwrap();
        bytes
    };
    assert!(read(&out) == last);

    // The newest is damaged in both folders: the one before is restored, and a message says so.
    for folder in [&fast, &slow] {
        let file = folder.join(format!("{name}_00000050.increment.h5"));
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
    let verified = tcasm(&["verify", slow_arg]);
    assert_eq!(verified.code, 9, "{verified:?}");
    told(&verified.out, "BAD");
    told(&verified.out, "_00000050.increment.h5");
    let restored = tcasm(&[
        "restore",
        fast_arg,
        slow_arg,
        "--force",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(restored.code, 0, "{restored:?}");
    told(&restored.err, "passed over");
    told(&restored.out, "step 40");
    assert!(read(&out) != last);
    let restored = tcasm(&[
        "restore",
        slow_arg,
        "--step",
        "20",
        "--force",
        "--out",
        out.to_str().unwrap(),
    ]);
    told(&restored.out, "step 20");
    bad(
        &[
            "restore",
            slow_arg,
            "--step",
            "21",
            "--force",
            "--out",
            out.to_str().unwrap(),
        ],
        8,
    );
    bad(&["checkpoints", dir.path().to_str().unwrap()], 8);
}

#[test]
fn openpmd_checkpoints_are_written_listed_verified_and_restored() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("openpmd"));
    let [fast, slow] = ["fast", "slow"].map(|n| dir.path().join(n));
    for folder in [&fast, &slow] {
        fs::create_dir(folder).unwrap();
    }
    let slow_arg = slow.to_str().unwrap();
    let args = ["--slow", slow_arg, "--every", "1", "--increments", "2"];
    let args = [&args[..], &["--layout", "openpmd", "--keep", "1"]].concat();
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &fast, &args);
    for version in 1..=3 {
        publish(&mut p, t, version * 10);
        let file = slow.join(format!("{name}.manifest"));
        let told = format!("\"step\":{}", version * 10);
        until("it is copied", || {
            fs::read_to_string(&file).is_ok_and(|text| text.contains(&told))
        });
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let file = |step: u64, end: &str| slow.join(format!("{name}_{step:08}.{end}"));
    assert!(file(10, "h5").exists() && file(20, "increment.h5").exists());
    assert!(file(30, "h5").exists());
    assert!(!slow.join(format!("{name}.vtkhdf.series")).exists());
    let verified = tcasm(&["verify", slow_arg]);
    assert!(
        verified.out.contains("3 checkpoints are whole"),
        "{verified:?}"
    );

    for (layout, end) in [("openpmd", "h5"), ("vtkhdf", "vtkhdf")] {
        let out = dir.path().join(format!("restored.{end}"));
        let to = out.to_str().unwrap();
        let all = [
            "restore", slow_arg, "--step", "20", "--out", to, "--layout", layout,
        ];
        let restored = tcasm(&all);
        assert_eq!(
            (restored.code, restored.err.as_str()),
            (0, ""),
            "{restored:?}"
        );
        let mut values = vec![0; 800];
        let checkpoint = Checkpoint::open(&out).unwrap();
        checkpoint.read_bytes("t", &mut values).unwrap();
        assert_eq!(checkpoint.stamp().step, 20);
        assert!(values.chunks(8).all(|v| v == 20f64.to_le_bytes()));
        let bytes = fs::read(&out).unwrap();
        let shows = |what: &str| bytes.windows(what.len()).any(|w| w == what.as_bytes());
        assert_eq!(
            [shows("iterationEncoding"), shows("VTKHDF")],
            [end == "h5", end != "h5"]
        );
    }
}

#[test]
fn bad_file_or_folder_does_not_stop_verify_and_restore() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("pipes"));
    let [tier, empty] = ["tier", "empty"].map(|n| dir.path().join(n));
    for folder in [&tier, &empty] {
        fs::create_dir(folder).unwrap();
    }
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &tier, &["--last"]);
    publish(&mut p, t, 10);
    drop(p);
    run.end();
    let pipe = tier.join(format!("{name}_00000020.vtkhdf"));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();

    let [tier, empty] = [&tier, &empty].map(|folder| folder.to_str().unwrap());
    let verified = tcasm(&["verify", empty, tier]);
    assert_eq!(verified.code, 9, "{verified:?}");
    assert!(verified.err.contains("2 of 3 checkpoints"), "{verified:?}");
    let lines: Vec<&str> = verified.out.lines().collect();
    let told = |n: usize, begin: &str, what: &str| {
        assert!(
            lines[n].starts_with(begin) && lines[n].contains(what),
            "{lines:?}"
        );
    };
    told(0, "BAD", "no checkpoint in");
    told(1, "ok", "step 10");
    told(2, "BAD", "not a regular file");

    let out = dir.path().join("restored.vtkhdf");
    let restored = tcasm(&["restore", tier, "--out", out.to_str().unwrap()]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(restored.err.contains("passed over") && restored.err.contains("regular file"));
    assert!(restored.out.contains("step 10"), "{restored:?}");
}
