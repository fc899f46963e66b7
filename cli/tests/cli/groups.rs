//! Commands on groups: several regions as one, with their global arrays.

use crate::common::{Background, bad, good, json, name, tcasm, until};
use crate::tmux::Tmux;
use crate::view::Served;
use ndarray::{Array2, Ix1, Ix2};
use nix::sys::signal::Signal;
use serde_json::json;
use tcasm_checkpoint::Checkpoint;
use tcasm_core::group::{AgreedAttrs, agreed_region};
use tcasm_producer::{Field, Group, Producer};

/// A group of two ranks, which have the upper and the lower rows of `u`.
pub struct Ranks {
    producers: Vec<Producer>,
    u: Vec<Field<f64, Ix2>>,
    list: Vec<Field<u32, Ix1>>,
}

const RANKS: u32 = 2;
const SHAPE: [usize; 2] = [6, 5];

/// Returns the value of `u` at a step.
fn u(step: u64, i: usize, j: usize) -> f64 {
    (100 * step) as f64 + (10 * i + j) as f64
}

fn whole(step: u64) -> Array2<f64> {
    Array2::from_shape_fn(SHAPE, |(i, j)| u(step, i, j))
}

impl Ranks {
    /// Creates the regions. Each has a ghost row on both sides, and a list of its own length.
    pub fn new(group: &str) -> Ranks {
        let (mut producers, mut us, mut lists) = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..RANKS {
            let place = Group::new(rank, RANKS).run("one");
            let builder = Producer::builder(group).group(place).history(3);
            let mut producer = builder.capacity(1 << 20).create().unwrap();
            let field = producer
                .field::<f64, _>("u", [5, 5])
                .ghosts(&[[1, 1], [0, 0]]);
            let field = field.global(SHAPE).at([3 * rank as usize, 0]).unit("K");
            let origin = [7.0, 3.0 + f64::from(rank) * 1.5, 0.0];
            us.push(field.mesh(origin, [1.0, 0.5, 1.0]).add().unwrap());
            let length = 2 + rank as usize;
            lists.push(producer.field::<u32, _>("list", [length]).add().unwrap());
            producers.push(producer);
        }
        Ranks {
            producers,
            u: us,
            list: lists,
        }
    }

    fn publish(&mut self, rank: usize, step: u64) {
        let producer = &mut self.producers[rank];
        let mut values = producer.view_mut(self.u[rank]).unwrap();
        for ((i, j), value) in values.indexed_iter_mut() {
            let ghost = i == 0 || i == 4;
            *value = if ghost {
                -1.0
            } else {
                u(step, 3 * rank + i - 1, j)
            };
        }
        producer
            .view_mut(self.list[rank])
            .unwrap()
            .fill(rank as u32 + 1);
        producer.publish(step, step as f64 / 2.0).unwrap();
    }

    pub fn publish_all(&mut self, step: u64) {
        (0..RANKS as usize).for_each(|rank| self.publish(rank, step));
    }
}

fn published(stem: &str) -> (String, Ranks) {
    let group = name(stem);
    let mut ranks = Ranks::new(&group);
    ranks.publish_all(3);
    ranks.publish_all(4);
    // Only one rank has the newest step.
    ranks.publish(0, 5);
    (group, ranks)
}

#[test]
fn statistics_are_those_of_the_whole_array_of_the_common_step() {
    let (group, _ranks) = published("stats");
    let stats = json(&["stats", &group, "u", "--json"]);
    let all = whole(4);
    assert_eq!(
        (&stats["step"], &stats["version"]),
        (&json!(4), &json!(null))
    );
    assert_eq!(
        (&stats["count"], &stats["shape"]),
        (&json!(30), &json!([6, 5]))
    );
    assert_eq!(
        (&stats["min"], &stats["max"]),
        (&json!(400.0), &json!(454.0))
    );
    let ranks = json!({"here": 2, "all": 2, "complete": true, "shape": [6, 5], "part": null});
    assert_eq!(stats["ranks"], ranks);
    assert_eq!(stats["mean"], all.mean().unwrap());
    let std = stats["std"].as_f64().unwrap();
    assert!((std - all.std(0.0)).abs() < 1e-12, "{std}");
    let row = json(&["stats", &group, "u", "--json", "--slice", "2:4,1"]);
    assert_eq!(
        (&row["count"], &row["min"], &row["max"]),
        (&json!(2), &json!(421.0), &json!(431.0))
    );
    // Fields without a place are taken together.
    let list = json(&["stats", &group, "list", "--json"]);
    assert_eq!(
        (&list["count"], &list["mean"]),
        (&json!(5), &json!(8.0 / 5.0))
    );
    let text = good(&["stats", &group, "u"]).out;
    assert!(text.contains("6 x 5  in K  step 4  t = 2"), "{text}");
}

#[test]
fn dump_gathers_the_array() {
    let (group, _ranks) = published("dump");
    let raw = good(&["dump", &group, "u", "--raw", "-"]).bytes;
    let values: Vec<f64> = raw
        .chunks(8)
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(values, whole(4).into_raw_vec_and_offset().0);
    let text = good(&["dump", &group, "u", "--slice", "2:4,0"]).out;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("step 4"), "{text}");
    assert_eq!(
        lines[1].split_whitespace().collect::<Vec<_>>(),
        ["420", "430"]
    );
    let error = bad(&["dump", &group, "u", "--with-ghosts"], 2);
    assert!(error.contains("no ghost layers"), "{error}");
    let error = bad(&["dump", &group, "u", "--version", "2"], 2);
    assert!(
        error.contains("step in common") && error.contains(&format!("{group}.0")),
        "{error}"
    );
    let error = bad(&["dump", &group, "v"], 7);
    assert!(error.contains("\"list\", \"u\""), "{error}");
}

#[test]
fn export_writes_the_gathered_arrays_of_the_common_step() {
    let (group, _ranks) = published("export");
    let folder = tempfile::tempdir().unwrap();
    for (file, part, expected) in [
        ("whole.vtkhdf", &[][..], whole(4)),
        (
            "part.vtkhdf",
            &["--slice", "1:5,:"],
            whole(4).slice_move(ndarray::s![1..5, ..]),
        ),
    ] {
        let path = folder.path().join(file);
        let path = path.to_str().unwrap();
        let out = good(&[&["export", &group, path][..], part].concat()).out;
        assert!(out.contains("step 4"), "{out}");
        good(&["verify", path]);
        let read = Checkpoint::open(path).unwrap();
        let table = read.table();
        let field = table.get("u").unwrap();
        assert_eq!(
            (&field.shape, &field.unit),
            (&expected.shape().to_vec(), &"K".to_owned())
        );
        assert!(field.global.is_none());
        let first = if part.is_empty() { 0.0 } else { 0.5 };
        let mesh = field.usable_mesh().unwrap();
        assert_eq!(
            (mesh.origin, mesh.spacing),
            ([7.0, 3.0 + first, 0.0], [1.0, 0.5, 1.0])
        );
        assert!(
            table.lacking.iter().any(|field| field.name == "list"),
            "{:?}",
            table.lacking
        );
        let mut values = Array2::<f64>::zeros(expected.raw_dim()).into_dyn();
        read.read_array("u", values.view_mut()).unwrap();
        assert_eq!(values, expected.into_dyn());
    }
}

#[test]
fn ls_has_one_line_for_a_group() {
    let (group, mut ranks) = published("ls");
    let row = |args: &[&str], name: &str| {
        let rows = json(args);
        rows.as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .cloned()
    };
    let found = row(&["ls", "--json"], &group).unwrap();
    assert_eq!(
        (&found["step"], &found["state"]),
        (&json!(4), &json!("running"))
    );
    assert_eq!(found["ranks"], json!({"present": 2, "wanted": 2, "all": 2}));
    let rank = format!("{group}.1");
    assert_eq!(row(&["ls", "--json"], &rank), None);
    assert_eq!(row(&["ls", "--json", "--ranks"], &rank).unwrap()["step"], 4);
    assert_eq!(row(&["ls", "--json", "--ranks"], &group), None);
    let text = good(&["ls"]).out;
    let line = text.lines().find(|line| line.starts_with(&group)).unwrap();
    assert!(line.ends_with("2/2"), "{line}");
    // A rank that has ended is missing.
    ranks.producers.pop();
    let found = row(&["ls", "--json"], &group).unwrap();
    assert_eq!(found["ranks"]["present"], 1);
    assert_eq!(found["state"], "incomplete");
}

#[test]
fn info_describes_a_group_and_the_places_of_blocks() {
    let (group, _ranks) = published("info");
    let rank = format!("{group}.1");
    let info = json(&["info", &group, "--json"]);
    assert_eq!(
        info["latest"],
        json!({"step": 4, "time": 2.0, "run": "one", "ranks": 2})
    );
    assert_eq!(
        (&info["error"], &info["members"][1]["region"]),
        (&json!(null), &json!(rank))
    );
    let [u, list] = [&info["fields"][0], &info["fields"][1]];
    assert_eq!(
        (&u["global_shape"], &u["complete"], &u["blocks"]),
        (&json!([6, 5]), &json!(true), &json!(2))
    );
    assert_eq!(
        (&list["global_shape"], &list["error"]),
        (&json!(null), &json!(null))
    );
    let text = good(&["info", &group]).out;
    assert!(text.contains("6 x 5") && text.contains("local"), "{text}");
    let head =
        format!("group   {group}\nrun     one\nranks   2 here, 2 in all\nlatest  step 4, t = 2,");
    assert!(text.starts_with(&head), "{text}");
    let text = good(&["info", &rank]).out;
    assert!(text.contains("5 x 5, at [3, 0] of 6 x 5"), "{text}");
}

/// Publishes an agreed step as an agent does.
fn agree(group: &str, step: u64) -> Producer {
    let attrs = AgreedAttrs {
        group: group.to_owned(),
        run: "one".to_owned(),
        ranks: 2,
        agents: 3,
        newest: step,
    };
    let builder = Producer::builder(&agreed_region(group)).capacity(1 << 20);
    let mut agent = builder.create().unwrap();
    for (name, value) in attrs.attrs() {
        agent.set_attr(name, value);
    }
    agent.publish(step, step as f64 / 2.0).unwrap();
    agent
}

#[test]
fn ls_and_info_show_the_agreed_step_and_how_far_it_is_behind() {
    let (group, _ranks) = published("agreed");
    assert_eq!(json(&["info", &group, "--json"])["agreed"], json!(null));
    let agent = agree(&group, 3);
    let expected = json!({
        "step": 3, "time": 1.5, "run": "one", "lag": 2, "agents": 3, "alive": true
    });
    assert_eq!(json(&["info", &group, "--json"])["agreed"], expected);
    let text = good(&["info", &group]).out;
    assert!(
        text.contains("agreed  step 3, t = 1.5, 2 steps behind, 3 agents"),
        "{text}"
    );
    let rows = json(&["ls", "--json"]);
    let names: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert!(!names.contains(&&json!(agreed_region(&group))), "{names:?}");
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == group)
        .unwrap();
    assert_eq!(row["agreed"], expected);
    let text = good(&["ls"]).out;
    let line = text.lines().find(|line| line.starts_with(&group)).unwrap();
    assert!(line.contains("3 (-2)"), "{line}");
    drop(agent);
    assert_eq!(json(&["info", &group, "--json"])["agreed"], json!(null));
}

#[test]
fn commands_for_single_regions_name_those_of_a_group() {
    let (group, _ranks) = published("single");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let file = format!("{folder}/run.vtkhdf");
    for args in [
        &["checkpoint", &group, "--fast", folder, "--last"][..],
        &["keep", &group],
        &["export", &group, &file, "--follow"],
        &["export", &group, &file, "--follow", "--no-wait"],
    ] {
        let error = bad(args, 2);
        let names = format!("single regions: {group}.0, {group}.1");
        assert!(error.contains(&names), "{args:?}: {error}");
    }
    // Without a region and a group the name of the region is missing, as before.
    let missing = name("neither");
    let error = bad(&["info", &missing], 3);
    assert!(error.contains(&missing), "{error}");
    assert_eq!(tcasm(&["stats", &missing, "u"]).code, 3);
}

#[test]
fn region_comes_before_a_group_of_the_same_name() {
    let (group, _ranks) = published("both");
    let region = Producer::builder(&group).capacity(4096).create().unwrap();
    let info = json(&["info", &group, "--json"]);
    assert_eq!(info["region"]["base"], region.base());
    drop(region);
    assert_eq!(json(&["info", &group, "--json"])["latest"]["step"], 4);
}

#[test]
fn info_follows_a_group_until_all_ranks_have_ended() {
    let group = name("follow");
    let mut watch = Background::start(&["info", &group, "--json", "--watch"]);
    let said = watch.read_error_line();
    assert!(said.contains("waiting for"), "{said}");
    let mut ranks = Ranks::new(&group);
    let mut next = || -> serde_json::Value { serde_json::from_str(&watch.read_line()).unwrap() };
    let mut until = |what: &str, done: &dyn Fn(&serde_json::Value) -> bool| {
        let mut last = json!(null);
        for _ in 0..60 {
            last = next();
            if done(&last) {
                return;
            }
        }
        panic!("{what}: {last}");
    };
    until("both are there", &|info| {
        info["members"].as_array().unwrap().len() == 2
    });
    ranks.publish(0, 1);
    until("one has published", &|info| {
        let error = info["error"].as_str().unwrap_or_default();
        info["latest"].is_null() && error.contains("0: 1, 1: none")
    });
    ranks.publish(1, 1);
    until("both have", &|info| {
        info["latest"]["step"] == 1 && info["error"].is_null()
    });
    drop(ranks);
    until("they have ended", &|info| {
        let error = info["error"].as_str().unwrap_or_default();
        info["latest"]["step"] == 1 && error.contains("end of stream")
    });
    let run = watch.end();
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn watch_shows_each_common_step_of_a_group() {
    let (group, mut ranks) = published("watch");
    let tmux = Tmux::watch(&[&group]);
    let screen = tmux.until_it_says("values of u");
    for word in [&group, "step 4", "6 x 5", "float64"] {
        assert!(screen.contains(word), "{word} in\n{screen}");
    }
    assert!(!screen.contains("list"), "{screen}");
    ranks.publish(0, 6);
    ranks.publish(1, 6);
    tmux.until_it_says("step 6");
    tmux.until_it_says("654");
    tmux.press("q");
    tmux.assert_left(0);
}

#[test]
fn view_serves_a_mirror_of_the_group_as_long_as_it_runs() {
    let (group, _ranks) = published("view");
    let view = Served::start(&[&group, "--port", "0"]);
    let pid = view.program.pid();
    let mirror = format!("{group}.mirror-{pid}");
    let stats = json(&["stats", &mirror, "u", "--json"]);
    assert_eq!((&stats["step"], &stats["count"]), (&json!(4), &json!(30)));
    assert_eq!(stats["max"], 454.0);
    let _socket = view.open_socket();
    until("the page shows the mirror", || {
        let info = json(&["info", &mirror, "--json"]);
        info["observers"][0]["pid"] == pid
    });
    view.program.signal(Signal::SIGTERM);
    assert_eq!(view.program.end().code, 0);
    bad(&["info", &mirror], 3);
}

#[test]
fn part_of_a_block_has_no_place_in_the_global_array() {
    let (group, _ranks) = published("part");
    let rank = format!("{group}.1");
    let folder = tempfile::tempdir().unwrap();
    let place = |file: &str, part: &[&str]| {
        let path = folder.path().join(file);
        let path = path.to_str().unwrap();
        good(&[&["export", &rank, path], part].concat());
        let table = Checkpoint::open(path).unwrap().table().clone();
        table.get("u").unwrap().global.clone()
    };
    assert_eq!(place("block.vtkhdf", &[]).unwrap().offset, [3, 0]);
    assert_eq!(
        place("part.vtkhdf", &["--slice", "1:2", "--fields", "u"]),
        None
    );
}
