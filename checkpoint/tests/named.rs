//! Checkpoints of several regions in one folder: each is found by its name, and errors list the
//! names.

use std::fs;
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Layout, Options, ReadError, Settings, Snapshot, checkpoint_files,
    checkpoint_files_named, manifests, manifests_named,
};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tempfile::TempDir;

/// Writes a full checkpoint of the first step, and an increment of the second. All values are the
/// step.
fn write(dir: &Path, name: &str, layout: Layout, steps: [u64; 2]) {
    let options = Options {
        layout,
        ..Options::default()
    };
    let settings = Settings {
        most_files: 2,
        options,
        ..Settings::new(dir)
    };
    let mut to = Checkpointer::open(name, settings).unwrap();
    let table = FieldTable {
        fields: vec![FieldDesc::new("t", DType::U8, &[3])],
        ..FieldTable::default()
    };
    for step in steps {
        let stamp = Stamp {
            version: step,
            step,
            time: 0.0,
        };
        let values = [step as u8; 3];
        let snapshot = Snapshot::new(name, stamp, &table, |_| &values);
        let filled = to.fill_increment(&snapshot, |_| std::iter::once(0..3).collect());
        to.commit(filled.unwrap()).unwrap();
    }
}

/// Returns a folder with the steps 10 and 20 of `ra`, and 30 and 40 of `rb`.
fn shared(layout: Layout) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "ra", layout, [10, 20]);
    write(dir.path(), "rb", layout, [30, 40]);
    dir
}

/// Checks what was found: the region, the step and the values.
fn assert_is(found: &Result<Checkpoint, ReadError>, name: &str, step: u64) {
    let found = found.as_ref().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((found.region(), found.stamp().step), (name, step));
    assert!(found.passed_over().is_empty(), "{:?}", found.passed_over());
    let mut values = [0; 3];
    found.read_bytes("t", &mut values).unwrap();
    assert_eq!(values, [step as u8; 3]);
}

/// Returns the names that the error lists. It must say that `ra` is not there.
fn others<T>(found: Result<T, ReadError>) -> Vec<String> {
    match found {
        Err(ReadError::NoName { name, have, .. }) if name == "ra" => have,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("something was found"),
    }
}

#[test]
fn each_region_is_found_by_its_name() {
    for layout in [Layout::VtkHdf, Layout::OpenPmd] {
        let dir = shared(layout);
        let dirs = [dir.path()];
        assert_is(&Checkpoint::restart_named(&dirs, "ra", None), "ra", 20);
        assert_is(&Checkpoint::restart_named(&dirs, "rb", None), "rb", 40);
        assert_is(&Checkpoint::restart_named(&dirs, "ra", Some(10)), "ra", 10);
        let error = Checkpoint::restart(&dirs, None).unwrap_err();
        let ReadError::SeveralNames { names, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(names, &["ra", "rb"]);
        let error = Checkpoint::restart_named(&dirs, "ra", Some(30)).unwrap_err();
        let ReadError::NoStep { have, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(have, &[20, 10]);
    }
}

#[test]
fn name_selects_among_all_tiers() {
    let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write(fast.path(), "rb", Layout::VtkHdf, [50, 60]);
    write(slow.path(), "ra", Layout::VtkHdf, [10, 20]);
    let dirs = [fast.path(), slow.path()];
    assert_is(&Checkpoint::restart_named(&dirs, "ra", None), "ra", 20);
    assert_is(&Checkpoint::restart_named(&dirs, "rb", None), "rb", 60);
}

#[test]
fn name_that_is_not_there_is_an_error_with_the_names_that_are() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = [dir.path()];
    let none = |error: ReadError| assert!(matches!(error, ReadError::NoneFound(_)), "{error}");
    none(Checkpoint::restart_named(&dirs, "ra", None).unwrap_err());
    // A file of another program is no checkpoint.
    fs::write(dir.path().join("rx_00000001.h5"), "of another program").unwrap();
    none(Checkpoint::restart_named(&dirs, "ra", None).unwrap_err());
    write(dir.path(), "rb", Layout::VtkHdf, [30, 40]);
    write(dir.path(), "rc", Layout::OpenPmd, [30, 40]);
    let found = Checkpoint::restart_named(&dirs, "ra", None);
    assert_eq!(others(found), ["rb", "rc"]);
    let file = dir.path().join("rb_00000030.vtkhdf");
    assert_is(&Checkpoint::restart_named(&[&file], "rb", None), "rb", 30);
    assert_eq!(
        others(Checkpoint::restart_named(&[&file], "ra", None)),
        ["rb"]
    );
    assert_eq!(others(manifests_named(dir.path(), "ra")), ["rb", "rc"]);
    let files = checkpoint_files_named(dir.path(), "ra");
    assert_eq!(others(files), ["rb", "rc", "rx"]);
}

#[test]
fn name_may_be_in_a_tier_that_cannot_be_read() {
    let dir = shared(Layout::VtkHdf);
    let gone = dir.path().join("gone");
    let dirs = [dir.path(), &gone];
    assert_is_past(&Checkpoint::restart_named(&dirs, "ra", None), &gone);
    let error = Checkpoint::restart_named(&dirs, "rc", None).unwrap_err();
    let ReadError::NoneUsable(_, tried) = &error else {
        panic!("{error}");
    };
    assert_eq!(tried[0].0, gone);
}

/// Checks that step 20 of `ra` was found although `gone` could not be read.
fn assert_is_past(found: &Result<Checkpoint, ReadError>, gone: &Path) {
    let found = found.as_ref().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((found.region(), found.stamp().step), ("ra", 20));
    assert_eq!(found.passed_over()[0].0, gone);
}

#[test]
fn list_stands_for_the_checkpoints_of_its_name_and_increments_among_them() {
    let dir = shared(Layout::VtkHdf);
    let list = |name: &str| dir.path().join(format!("{name}.vtkhdf.series"));
    let [ra, rb] = ["ra", "rb"].map(list);
    assert_is(&Checkpoint::restart(&[&ra], None), "ra", 20);
    assert_is(&Checkpoint::restart(&[&rb], Some(30)), "rb", 30);
    assert_is(&Checkpoint::restart_named(&[&rb], "rb", None), "rb", 40);
    assert_eq!(
        others(checkpoint_files_named(&rb, "ra")),
        ["rb"],
        "the list has only its own checkpoints"
    );
    let steps = ["ra_00000010.vtkhdf", "ra_00000020.increment.h5"];
    let files = checkpoint_files(&ra).unwrap();
    assert_eq!(files, steps.map(|file| dir.path().join(file)));
    let contents = manifests(&rb).unwrap();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].region, "rb");
    assert_eq!(manifests(dir.path()).unwrap().len(), 2);
    // A list that does not exist stands for nothing.
    let error = Checkpoint::restart(&[list("rc")], None).unwrap_err();
    assert!(matches!(error, ReadError::NoneUsable(..)), "{error}");
}
