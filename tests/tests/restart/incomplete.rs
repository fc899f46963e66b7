//! Checkpoints that lack fields, or have rounded values.

use super::{Past, check, open, save_again};
use ndarray::Ix2;
use std::fs;
use tcasm_checkpoint::{Checkpoint, ReadError};
use tcasm_observer::Observer;
use tcasm_producer::Producer;
use tcasm_restart::{Continue, Load, Restore, RestoreError, rebuild};
use tcasm_tests::PublishVisible;

/// Writes the checkpoint of step 20 again as step 30, without the field `name`.
fn save_without(past: &Past, name: &str) {
    save_again(past, |table| {
        let fields = table.fields.drain(..);
        let (lacking, fields) = fields.partition(|field| field.name == name);
        (table.lacking, table.fields) = (lacking, fields);
    });
}

#[test]
fn checkpoint_that_lacks_a_field_is_passed_over_for_an_older_one_that_has_it() {
    let past = Past::new();
    save_without(&past, "nodes");
    let dirs = [past.dir.path()];
    for named in [false, true] {
        let restored = match named {
            true => Producer::restore_named(&dirs, &past.name).unwrap(),
            false => Producer::restore(&dirs).unwrap(),
        };
        assert_eq!((restored.stamp.step, restored.from), (20, past.file(20)));
        let [(path, why)] = &restored.passed_over[..] else {
            panic!("{:?}", restored.passed_over);
        };
        assert_eq!(*path, past.file(30));
        assert!(why.to_string().contains("nodes"), "{why}");
        check(&restored.producer, 2);
    }
    // It can be asked for, and it is taken if there is no other.
    let asked = Checkpoint::restart(&dirs, Some(30)).unwrap();
    assert_eq!((asked.stamp().step, asked.passed_over().len()), (30, 0));
    fs::remove_file(past.file(10)).unwrap();
    fs::remove_file(past.file(20)).unwrap();
    let only = Checkpoint::restart(&dirs, None).unwrap();
    assert_eq!((only.stamp().step, only.passed_over().len()), (30, 0));
}

#[test]
fn restart_from_a_checkpoint_that_lacks_a_field_is_refused_by_its_name() {
    let past = Past::new();
    save_without(&past, "nodes");
    let refused = |error: &RestoreError| {
        let RestoreError::Lacks { step, fields, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((*step, fields.as_slice()), (30, &["nodes".to_owned()][..]));
    };
    refused(&Producer::restore(&[past.file(30)]).unwrap_err());
    let state = open(&past.file(30));
    let builder = Producer::builder(&past.name).capacity(1 << 20);
    let mut p = builder.create().unwrap();
    let t = p.field::<f64, _>("t", [40, 50]).fortran_order();
    t.add().unwrap();
    refused(&p.load(&state).unwrap_err());
    // The fields that it has can be read.
    let mut bytes = vec![0; 40 * 50 * 8];
    state.read_bytes("t", &mut bytes).unwrap();
}

/// Writes the checkpoint of step 20 again as step 30, with rounded values of `t`.
fn save_rounded(past: &Past, bound: f64) {
    save_again(past, |table| {
        for field in table.fields.iter_mut().filter(|field| field.name == "t") {
            field.relative_error = Some(bound);
        }
    });
}

#[test]
fn restart_from_rounded_values_is_refused_unless_the_program_accepts_them() {
    let (past, bound) = (Past::new(), 1e-2);
    save_rounded(&past, bound);
    let error = Producer::restore(&[past.dir.path()]).unwrap_err();
    let lossy = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::Lossy { .. }));
    assert!(lossy(&error), "{error}");
    let builder = || Producer::builder(&past.name);
    let error = builder().restore_or_begin(&[past.dir.path()]).unwrap_err();
    assert!(lossy(&error), "{error}");
    let refused = |error: &RestoreError| {
        let RestoreError::Lossy { step, fields, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((*step, fields.as_slice()), (30, &["t".to_owned()][..]));
    };
    let state = open(&past.file(30));
    refused(&rebuild(builder(), &state).unwrap_err());
    let state = state.allow_lossy();
    let mut p = rebuild(builder(), &state).unwrap();
    let t = p.view(p.handle::<f64, Ix2>("t").unwrap()).unwrap();
    let mut changed = 0;
    for ((i, j), t) in t.indexed_iter() {
        let exact = (i * 100 + j) as f64 + 1.0;
        assert!((t - exact).abs() <= bound * exact, "{t} for {exact}");
        changed += usize::from(*t != exact);
    }
    assert!(changed > 0);
    // Versions after the restart are exact again.
    p.publish_visible(40, 4.0).unwrap();
    let version = Observer::attach(&past.name).unwrap().latest().unwrap();
    assert_eq!(version.table().relative_error(), None);
    refused(&p.load(&open(&past.file(30))).unwrap_err());
    assert_eq!(p.load(&state).unwrap().step, 30);
}
