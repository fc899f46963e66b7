//! Tests of `checkpoint` with increments while the fields of the region change: a new chain begins,
//! and every step is restored correctly.

use crate::checkpoint::start;
use crate::common::{Background, good, name};
use ndarray::{Dimension, Ix1, Ix2};
use std::collections::BTreeMap;
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, Contents, Kind};
use tcasm_producer::{Field, Producer};

/// The length of a field that has several pages.
const LONG: usize = 3000;

/// The fields of each step, by name: the shape, and the value of all elements but the first, whose
/// value is the step.
type States = BTreeMap<u64, BTreeMap<&'static str, (Vec<usize>, f64)>>;

fn producer(name: &str) -> Producer {
    let builder = Producer::builder(name).capacity(1 << 20);
    builder.versions(64).history(60).create().unwrap()
}

fn args() -> [&'static str; 8] {
    let plain = ["--compress", "0", "--timeout", "10"];
    let all = [&["--every", "1", "--increments", "9"], &plain[..]].concat();
    all.try_into().unwrap()
}

/// Changes one page of the field.
fn touch<D: Dimension>(p: &mut Producer, field: Field<f64, D>, step: u64) {
    let mut view = p.view_mut(field).unwrap();
    *view.iter_mut().next().unwrap() = step as f64;
}

/// Publishes a version and waits until it is written.
fn publish(p: &mut Producer, run: &mut Background, step: u64) {
    p.publish(step, step as f64).unwrap();
    let line = run.read_line();
    assert!(
        line.starts_with("wrote ") && line.contains(&format!("step {step} ")),
        "{line:?}"
    );
}

fn kinds(dir: &Path, name: &str) -> Vec<(u64, bool)> {
    let contents = Contents::read(&dir.join(format!("{name}.manifest"))).unwrap();
    let full =
        |(step, item): (&u64, &tcasm_checkpoint::Item)| (*step, item.entry.kind == Kind::Full);
    contents.items.iter().map(full).collect()
}

/// Restores every step and compares it with `states`.
fn assert_all_restored(dir: &Path, states: &States) {
    let out = dir.join("restored.vtkhdf");
    for (step, fields) in states {
        let text = step.to_string();
        let to = ["--step", &text, "--out", out.to_str().unwrap()];
        good(&[&["restore", dir.to_str().unwrap()], &to[..]].concat());
        let restored = Checkpoint::open(&out).unwrap();
        let names: Vec<&str> = restored
            .table()
            .fields
            .iter()
            .map(|f| f.name.as_str())
            .collect();
        assert_eq!(names.len(), fields.len(), "step {step}: {names:?}");
        for (name, (shape, rest)) in fields {
            let mut values = ndarray::ArrayD::<f64>::zeros(&shape[..]);
            restored.read_array(name, values.view_mut()).unwrap();
            let mut values = values.into_iter();
            assert_eq!(values.next(), Some(*step as f64), "{name} of step {step}");
            assert!(values.all(|x| x == *rest), "{name} of step {step}");
        }
        std::fs::remove_file(&out).unwrap();
    }
    let verified = good(&["verify", dir.to_str().unwrap()]);
    assert!(
        verified
            .out
            .contains(&format!("{} checkpoints are whole", states.len()))
    );
}

fn fields(all: &[(&'static str, &[usize], f64)]) -> BTreeMap<&'static str, (Vec<usize>, f64)> {
    all.iter()
        .map(|(name, shape, rest)| (*name, (shape.to_vec(), *rest)))
        .collect()
}

#[test]
fn added_field_begins_a_new_chain_and_every_step_is_restored() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("added"));
    let mut p = producer(&name);
    let a: Field<f64, Ix1> = p.field("a", [LONG]).add().unwrap();
    p.view_mut(a).unwrap().fill(0.5);
    let mut run = start(&name, dir.path(), &args());
    let mut states = States::new();
    for step in [10, 20] {
        touch(&mut p, a, step);
        publish(&mut p, &mut run, step);
        states.insert(step, fields(&[("a", &[LONG], 0.5)]));
    }
    let b: Field<f64, Ix2> = p.field("b", [30, 40]).add().unwrap();
    p.view_mut(b).unwrap().fill(1.5);
    for step in [30, 40, 50] {
        touch(&mut p, a, step);
        touch(&mut p, b, step);
        publish(&mut p, &mut run, step);
        states.insert(step, fields(&[("a", &[LONG], 0.5), ("b", &[30, 40], 1.5)]));
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let expected = [
        (10, true),
        (20, false),
        (30, true),
        (40, false),
        (50, false),
    ];
    assert_eq!(kinds(dir.path(), &name), expected);
    assert_all_restored(dir.path(), &states);
}

#[test]
fn restart_with_other_shapes_or_more_fields_begins_a_new_chain() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("reshaped"));
    let mut states = States::new();
    let shapes: [&[(&'static str, &[usize], f64)]; 4] = [
        &[("a", &[LONG, 1], 0.5)],
        &[("a", &[60, 70], 1.5)],
        // The same number of values as before, in rows of another length.
        &[("a", &[70, 60], 2.5)],
        &[
            ("b", &[5, 6], 3.5),
            ("a", &[70, 60], 4.5),
            ("c", &[LONG, 2], 5.5),
        ],
    ];
    for (start_number, all) in shapes.iter().enumerate() {
        let mut p = producer(&name);
        let mut handles = Vec::new();
        for (field, shape, rest) in *all {
            let handle: Field<f64, Ix2> = p.field(field, [shape[0], shape[1]]).add().unwrap();
            p.view_mut(handle).unwrap().fill(*rest);
            handles.push(handle);
        }
        let mut run = start(&name, dir.path(), &args());
        for step in [1, 2, 3].map(|n| 100 * start_number as u64 + n) {
            handles
                .iter()
                .for_each(|handle| touch(&mut p, *handle, step));
            publish(&mut p, &mut run, step);
            states.insert(step, fields(all));
        }
        drop(p);
        let run = run.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    }
    for (step, full) in kinds(dir.path(), &name) {
        assert_eq!(full, step % 100 == 1, "step {step}");
    }
    assert_all_restored(dir.path(), &states);
}
