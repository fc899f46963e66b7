//! The formats are as docs/formats.md says.

use crate::node::run_steps;
use crate::world::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tcasm_checkpoint::job::Redundancy;

/// Returns the keys that the row of docs/formats.md has which begins with `| name`.
fn documented(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("## Checkpoints of jobs").nth(1).unwrap();
    let mut rows = text.lines();
    let row = rows
        .find(|row| row.starts_with(&format!("| {name}")))
        .unwrap();
    let mut keys = row.split('|').nth(2).unwrap().to_owned();
    // What is in parentheses explains the key before it.
    while let Some(open) = keys.find('(') {
        let close = open + keys[open..].find(')').unwrap();
        keys.replace_range(open..=close, "");
    }
    keys.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

/// Returns the lines of a file, each without its checksum, which is checked.
fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let (json, sum) = line.rsplit_once('#').unwrap();
        assert_eq!(
            sum,
            format!("{:016x}", xxhash_rust::xxh3::xxh3_64(json.as_bytes()))
        );
        serde_json::from_str(json).unwrap()
    });
    lines.collect()
}

#[test]
fn manifest_list_and_parity_have_the_documented_keys() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|settings| {
        (settings.drain_every, settings.keep, settings.keep_slow) = (2, 2, 1);
    });
    let world = World {
        increments: true,
        ..world
    };
    run_steps(&world, &[10, 20, 30, 40, 50]);
    run_steps(&world, &[60, 70, 80]);
    let manifest = lines(&world.slow().join("heat.job"));
    let of = |event: &str| {
        manifest
            .iter()
            .filter(|line| line["event"] == event)
            .collect::<Vec<_>>()
    };
    assert_eq!(manifest[0]["event"], "begin");
    assert_eq!(keys(&manifest[0]), documented("`begin`"));
    assert_eq!((of("commit").len(), of("drained").len()), (8, 4));
    for event in ["drained", "removed"] {
        assert_eq!(keys(of(event)[0]), documented("`drained`"));
    }
    let commit = of("commit")[2]; // with increments
    assert_eq!(keys(commit), documented("`commit`"));
    let part = &commit["parts"][1];
    assert_eq!(keys(part), documented("part of a node"));
    assert_eq!(keys(&part["blocks"][0]), documented("block"));
    let list = lines(&world.local(1).join("heat.node1.prepared"));
    assert_eq!(list[0]["manifest"], manifest[0]["created"]);
    assert_eq!(
        list.last().unwrap()["file"],
        of("commit")[7]["parts"][1]["file"]
    );
    let parity = fs::read(world.local(1).join("heat.node1_00000080.parity")).unwrap();
    assert_eq!(&parity[..8], b"TCASMPY1");
    let length = u64::from_le_bytes(parity[8..16].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&parity[16..16 + length]).unwrap();
    assert_eq!(keys(&header), documented("header of parity"));
    let chunk = header["chunk"].as_u64().unwrap();
    assert_eq!(parity.len() as u64, 16 + length as u64 + chunk);
    assert_eq!(chunk % 64, 0);
}

#[test]
fn manifest_that_was_replaced_has_the_documented_lines() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|s| s.drain_every = 2);
    world.lengthen_manifest();
    let events = || -> Vec<String> {
        let lines = lines(&world.manifest());
        lines
            .iter()
            .map(|line| line["event"].as_str().unwrap().to_owned())
            .collect()
    };
    run_steps(&world, &[10]);
    assert_eq!(events(), ["begin", "commit", "undrained"]);
    let all = lines(&world.manifest());
    assert_eq!(
        (&all[0]["created"], &all[2]["commits"]),
        (&1.into(), &1.into())
    );
    assert_eq!(keys(&all[2]), documented("`undrained`"));
    run_steps(&world, &[20]);
    assert_eq!(events()[3..], ["commit", "drained"]);
    world.check(&world.find().unwrap());
}
