//! Files of versions of which an adopted field is lost: they have all other fields, and say so.

use crate::checkpoint::start;
use crate::common::{bad, good, name, tcasm};
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, ReadError};
use tcasm_core::field::FieldDesc;
use tcasm_producer::{Field, Producer};
use tcasm_tests::unmap::Adopted;

const N: usize = 2000;

/// A producer with a field `t` of its own, and an adopted field `u`, until it is unmapped.
pub struct Program {
    producer: Producer,
    t: Field<f64, ndarray::Ix1>,
    u: Option<Adopted>,
}

impl Program {
    pub fn new(name: &str) -> Self {
        let builder = Producer::builder(name).capacity(8 << 20).versions(64);
        let mut producer = builder.history(60).create().unwrap();
        let t = producer.field::<f64, _>("t", [N]).add().unwrap();
        let u = Some(Adopted::new(&mut producer, "u", N).unwrap());
        Program { producer, t, u }
    }

    /// Publishes a version of step `step`, all values of which are `step`.
    pub fn publish(&mut self, step: u64) {
        self.producer.view_mut(self.t).unwrap().fill(step as f64);
        if let Some(u) = &mut self.u {
            u.fill(step as f64);
        }
        let receipt = self.producer.publish(step, step as f64).unwrap();
        assert!(receipt.version().is_some());
    }

    /// Unmaps the memory of `u` without telling the producer.
    pub fn unmap(&mut self) {
        self.u.take().unwrap().unmap().unwrap();
    }
}

/// Checks that all values of a field are `step`.
fn holds(checkpoint: &Checkpoint, field: &str, step: u64) {
    let mut values = vec![0.0; N];
    let bytes = bytemuck::cast_slice_mut(&mut values);
    checkpoint.read_bytes(field, bytes).unwrap();
    assert!(values.iter().all(|v| *v == step as f64), "{field}, {step}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the full checkpoint of a step, or the increment.
fn file_of(dir: &Path, step: u64) -> PathBuf {
    let mut paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of_step = format!("_{step:08}.");
    let found = paths.find(|path| text(path).contains(&of_step));
    found.unwrap_or_else(|| panic!("no checkpoint of step {step}"))
}

/// Checkpoints four versions. Before the third one, `u` gets lost.
fn checkpoint_of_a_loss(name: &str, dir: &Path, args: &[&str]) {
    let mut program = Program::new(name);
    let run = start(name, dir, &[&["--every", "1"], args].concat());
    for step in [1, 2] {
        program.publish(step);
    }
    program.unmap();
    for step in [3, 4] {
        program.publish(step);
    }
    drop(program);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let told: Vec<&str> = run.out.lines().filter(|l| l.contains(": lost")).collect();
    assert_eq!(told.len(), 1, "{run:?}");
    assert!(told[0].contains("unmapped or moved their memory: u;"));
}

#[test]
fn checkpoints_go_on_without_a_field_that_is_lost() {
    for args in [&[][..], &["--increments", "3"], &["--fields", "t,u"]] {
        let (dir, name) = (tempfile::tempdir().unwrap(), name("lost"));
        checkpoint_of_a_loss(&name, dir.path(), args);
        for step in 1..=4 {
            let checkpoint = Checkpoint::open(file_of(dir.path(), step)).unwrap();
            holds(&checkpoint, "t", step);
            if step <= 2 {
                holds(&checkpoint, "u", step);
                continue;
            }
            let error = checkpoint.read_bytes("u", &mut vec![0; N * 8]).unwrap_err();
            assert!(matches!(error, ReadError::Lost { .. }), "{error}");
            assert!(error.to_string().starts_with("field \"u\" is lost: "));
            let missing: Vec<&FieldDesc> = checkpoint.table().missing().collect();
            assert!(missing.len() == 1 && missing[0].name == "u" && missing[0].lost);
        }
        good(&["verify", text(dir.path())]);
    }
}

#[test]
fn restart_takes_the_last_checkpoint_that_has_the_field() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lost-restart"));
    checkpoint_of_a_loss(&name, dir.path(), &[]);
    let checkpoint = Checkpoint::restart(&[dir.path()], None).unwrap();
    assert_eq!(checkpoint.stamp().step, 2);
    holds(&checkpoint, "u", 2);
    let out = dir.path().join("out.vtkhdf");
    let newest = file_of(dir.path(), 4);
    let run = tcasm(&["restore", text(&newest), "--out", text(&out)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("has no values of u"), "{run:?}");
    holds(&Checkpoint::open(&out).unwrap(), "t", 4);
}

#[test]
fn export_has_the_other_fields_and_names_the_lost_one() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lost-export"));
    let path = dir.path().join("out.vtkhdf");
    let mut program = Program::new(&name);
    program.publish(1);
    program.unmap();
    program.publish(2);
    for fields in [&[][..], &["--fields", "u,t"]] {
        let export = ["export", &name, text(&path), "--force"];
        let run = good(&[&export[..], fields].concat());
        let told = run.out.contains("u") && run.out.contains("not stored, because it is lost");
        assert!(told, "{run:?}");
        let exported = Checkpoint::open(&path).unwrap();
        holds(&exported, "t", 2);
        assert!(exported.table().get("u").is_none());
    }
    let only = ["export", &name, text(&path), "--force", "--fields", "u"];
    let error = bad(&only, 1);
    assert!(error.contains("field \"u\" is lost"), "{error}");
    assert!(!error.contains("bytes"), "{error}");
}
