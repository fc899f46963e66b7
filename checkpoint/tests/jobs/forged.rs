//! Manifests whose lines are whole, but not such as a job writes.

use crate::node::{run, run_steps};
use crate::world::{COLUMNS, World};
use proptest::prelude::*;
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tcasm_checkpoint::job::{JobCheckpoint, Redundancy, committed};
use xxhash_rust::xxh3::xxh3_64;

/// The values that are put into lines.
const NUMBERS: [u64; 9] = [0, 1, 2, 7, 10, 20, 1 << 40, i64::MAX as u64, u64::MAX];
const NAMES: [&str; 7] = [
    "../victim",
    "..",
    "",
    "heat.job",
    "heat.node0_00000010.h5",
    "heat.node1_00000020.h5",
    "heat.node1_00000010.parity",
];

/// Makes a full checkpoint of step 10 and increments to step 20. All but node 1 are left.
fn world(dir: &Path) -> World {
    let world = World {
        increments: true,
        ..World::new(dir, 3, Redundancy::Xor)
    };
    run_steps(&world, &[10, 20]);
    fs::write(dir.join("victim"), "precious").unwrap();
    world.lose(1);
    world
}

/// Changes the lines of commits, and gives them the right checksums.
fn forge(world: &World, mut change: impl FnMut(&mut Value)) {
    let text = fs::read_to_string(world.manifest()).unwrap();
    let mut forged = String::new();
    for line in text.lines() {
        let (json, _) = line.rsplit_once('#').unwrap();
        let mut value: Value = serde_json::from_str(json).unwrap();
        if value["event"] == "commit" {
            change(&mut value);
        }
        let json = value.to_string();
        forged += &format!("{json}#{:016x}\n", xxh3_64(json.as_bytes()));
    }
    fs::write(world.manifest(), forged).unwrap();
}

/// Reads all that a checkpoint has. Errors do no harm.
fn read_all(found: &JobCheckpoint) {
    let _ = found.verify();
    let _ = found.load();
    for rank in 0..7 {
        let _ = found.rank(rank);
        let _ = found.read_block(rank, "u", &mut [0; 8]);
    }
    let rows: [Range<usize>; 3] = [0..1, 3..30, 0..48];
    for rows in rows {
        let _ = found.read::<f64>("u", &[rows, 0..COLUMNS]);
    }
}

/// Checks that nothing was written outside of the folders, and no file of another node replaced.
fn nothing_else_was_touched(world: &World) {
    let mut names: Vec<_> = fs::read_dir(&world.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["node0", "node1", "node2", "slow", "spare", "victim"]
    );
    assert_eq!(fs::read(world.root.join("victim")).unwrap(), b"precious");
}

#[test]
fn lost_file_is_rebuilt_under_its_own_name_only() {
    for name in NAMES {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        let before = fs::read(world.local(0).join("heat.node0_00000010.h5")).unwrap();
        forge(&world, |line| line["parts"][1]["file"] = name.into());
        assert!(
            committed(&world.slow(), "heat").unwrap().is_empty(),
            "{name:?}"
        );
        assert!(world.find().is_err(), "{name:?}");
        let recovered = run(&world, |node| node.writer.recover());
        for recovered in recovered {
            assert!(matches!(recovered.unwrap(), Ok(None)), "{name:?}");
        }
        nothing_else_was_touched(&world);
        let after = fs::read(world.local(0).join("heat.node0_00000010.h5")).unwrap();
        assert!(before == after, "{name:?}");
    }
}

#[test]
fn places_that_blocks_do_not_have_are_errors_when_their_values_are_read() {
    let places: [(&str, [u64; 2]); 4] = [
        ("offset", [u64::MAX, 0]),
        ("offset", [7, 0]),
        ("count", [u64::MAX, 1]),
        ("count", [40, 300]),
    ];
    for (key, value) in places {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        forge(&world, |line| {
            line["parts"][0]["blocks"][0][key] = value.to_vec().into()
        });
        let Ok(found) = world.find() else { continue };
        let read = found.read::<f64>("u", &[0..48, 0..COLUMNS]);
        let error = read.unwrap_err().to_string();
        assert!(
            error.contains("\"u\"") && error.contains("rank 0"),
            "{key}: {error}"
        );
        // Values beside the wrong places can be read, and so can the memory of each rank.
        assert!(
            found.read::<f64>("u", &[40..48, 1..COLUMNS]).is_ok(),
            "{key}"
        );
        world.check(&found);
    }
    let dir = tempfile::tempdir().unwrap();
    let world = world(dir.path());
    forge(&world, |line| {
        line["parts"][0]["blocks"][0]["offset"] = vec![0].into()
    });
    assert!(world.find().is_err());
}

#[test]
fn impossible_sizes_of_lost_files_are_errors() {
    for bytes in [u64::MAX, i64::MAX as u64, 1 << 40, 0] {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        forge(&world, |line| line["parts"][1]["bytes"] = bytes.into());
        let error = world.find().unwrap_err().to_string();
        assert!(
            error.contains("node 1") || error.contains("no checkpoint"),
            "{error}"
        );
        for recovered in run(&world, |node| node.writer.recover()) {
            assert!(!matches!(recovered.unwrap(), Ok(Some(_))), "{bytes}");
        }
        nothing_else_was_touched(&world);
    }
}

/// A place in a line: which child is taken at each level, and what is put there.
type Change = (Vec<prop::sample::Index>, Value);

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        prop::sample::select(&NUMBERS[..]).prop_map(Value::from),
        prop::sample::select(&NAMES[..]).prop_map(Value::from),
        prop::sample::select(vec!["none", "partner", "reed-solomon"]).prop_map(Value::from),
        prop::collection::vec(0..4_u64, 0..4).prop_map(Value::from),
        Just(Value::Null),
    ];
    (
        prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        value,
    )
}

/// Puts a value into a line.
fn put(line: &mut Value, path: &[prop::sample::Index], value: &Value) {
    let next = path.split_first();
    match (line, next) {
        (Value::Array(all), Some((index, rest))) if !all.is_empty() => {
            let i = index.index(all.len());
            put(&mut all[i], rest, value);
        }
        (Value::Object(all), Some((index, rest))) if !all.is_empty() => {
            let i = index.index(all.len());
            put(all.values_mut().nth(i).unwrap(), rest, value);
        }
        (line, _) => *line = value.clone(),
    }
}

/// Returns a copy of all folders.
fn copied(of: &World) -> (tempfile::TempDir, World) {
    let dir = tempfile::tempdir().unwrap();
    let copy = std::process::Command::new("cp")
        .args(["-r", "--reflink=auto"])
        .arg(of.root.join("."))
        .arg(dir.path())
        .status();
    assert!(copy.unwrap().success());
    let world = World {
        root: dir.path().to_owned(),
        ..of.clone()
    };
    (dir, world)
}

#[test]
fn forged_manifest_is_no_panic_and_nothing_is_written_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let original = world(dir.path());
    let config = ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(changes in prop::collection::vec(change(), 1..3), first in any::<bool>())| {
        let (_dir, world) = copied(&original);
        let mut skip = !first;
        forge(&world, |line| {
            if !std::mem::take(&mut skip) {
                changes.iter().for_each(|(path, value)| put(line, path, value));
                // Without this it would be another line.
                if line.is_object() {
                    line["event"] = "commit".into();
                }
            }
        });
        if let Ok(found) = world.find() {
            read_all(&found);
        }
        let recovered = run(&world, |node| drop(node.writer.recover()));
        prop_assert!(recovered.iter().all(Option::is_some), "a node has panicked");
        nothing_else_was_touched(&world);
    });
}
