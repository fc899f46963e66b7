//! `restore_or_begin` begins at the first start of a program, and continues at later ones, with the
//! name and the settings of the program. Folders may hold checkpoints of several regions.

use ndarray::Ix1;
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, Options, ReadError, Snapshot};
use tcasm_observer::{Observer, kept_path};
use tcasm_producer::{Attr, Builder, Producer};
use tcasm_restart::{Continue, Restore, RestoreError, Restored, Start};
use tcasm_tests::child::{Child, program};
use tcasm_tests::{PublishVisible, name, runtime_dir};
use tempfile::TempDir;

const CAPACITY: usize = 8 << 20;

/// Returns the builder of a program whose settings differ from the defaults.
fn builder(name: &str) -> Builder {
    let builder = Producer::builder(name).capacity(CAPACITY);
    builder.versions(12).history(5).attr("code", "own")
}

/// Starts the program, which must begin.
fn begun(name: &str, dirs: &[&Path]) -> Producer {
    match builder(name).restore_or_begin(dirs).unwrap() {
        Start::New(producer) => producer,
        Start::Restored(last) => panic!("{name} continues from {:?}", last.from),
    }
}

/// Starts the program, which must continue.
fn restored(name: &str, dirs: &[&Path]) -> Restored {
    match builder(name).restore_or_begin(dirs).unwrap() {
        Start::Restored(last) => last,
        Start::New(_) => panic!("{name} begins"),
    }
}

/// Creates a region with default settings, and publishes a version. All its values are `step`.
fn publish(name: &str, step: u64) -> Producer {
    let builder = Producer::builder(name).capacity(1 << 20);
    let mut p = builder.create().unwrap();
    let t = p.field::<f64, _>("t", [1000]).add().unwrap();
    p.view_mut(t).unwrap().fill(step as f64);
    p.publish_visible(step, step as f64).unwrap();
    p
}

/// Writes a checkpoint of a region that is gone afterwards. Returns the file.
fn write(name: &str, dir: &Path, step: u64) -> PathBuf {
    let _producer = publish(name, step);
    let version = Observer::attach(name).unwrap().latest().unwrap();
    let view = version.view().unwrap();
    let snapshot = Snapshot::new(name, view.stamp(), view.table(), |field| {
        view.bytes_of(field).unwrap()
    });
    let file = dir.join(format!("{name}_{step:08}.vtkhdf"));
    let snapshot = snapshot.at(Some(version.extent()));
    tcasm_checkpoint::write(&file, &snapshot, &Options::default()).unwrap();
    file
}

fn assert_holds(p: &Producer, step: u64) {
    let t = p.view(p.handle::<f64, Ix1>("t").unwrap()).unwrap();
    assert!(t.len() == 1000 && t.iter().all(|x| *x == step as f64));
}

/// Checks that a region with the state of `step` has the name and the settings of [`builder`].
fn assert_own(mut p: Producer, name: &str, step: u64) {
    assert_eq!(p.name(), name);
    assert_holds(&p, step);
    let t = p.handle::<f64, Ix1>("t").unwrap();
    for n in 0..=5 {
        p.view_mut(t).unwrap()[0] = n as f64;
        let version = p.publish_visible(step + n, 0.0).unwrap().version();
        assert_eq!(version, Some(n + 2), "the state was version 1");
    }
    let mut observer = Observer::attach(name).unwrap();
    assert!(observer.info().unwrap().bytes >= CAPACITY as u64);
    let oldest = observer.version(2).unwrap();
    assert_eq!(oldest.step(), step);
    assert_eq!(oldest.table().attrs["code"], Attr::from("own"));
}

#[test]
fn first_start_begins_and_the_next_continues_with_the_settings_of_the_builder() {
    let ([fast, slow], name) = ([(); 2].map(|()| TempDir::new().unwrap()), name("own"));
    let dirs = [fast.path(), slow.path()];
    drop(begun(&name, &dirs));
    write(&name, slow.path(), 20);
    let last = restored(&name, &dirs);
    assert_eq!((last.stamp.step, last.passed_over.len()), (20, 0));
    assert_own(last.producer, &name, 20);
    // Without folders there is only memory, and nothing holds it.
    drop(begun(&name, &[]));
}

#[test]
fn memory_comes_before_files_and_the_settings_of_the_builder_stay() {
    let (dir, name) = (TempDir::new().unwrap(), name("memory"));
    write(&name, dir.path(), 10);
    let holder = start("tcasm", &["keep", &name, "--after-end"]);
    let producer = publish(&name, 30);
    holder.hear_line("attached to");
    drop(producer);
    holder.hear_line(&format!("{name} has ended; held: "));
    let last = restored(&name, &[dir.path()]);
    assert_eq!((last.stamp.step, last.from), (30, kept_path(&name)));
    assert_own(last.producer, &name, 30);
}

#[test]
fn program_takes_a_file_of_another_region_but_nothing_of_one_from_a_folder() {
    let (dir, [old, new]) = (TempDir::new().unwrap(), ["old", "new"].map(name));
    let file = write(&old, dir.path(), 20);
    drop(begun(&new, &[dir.path()]));
    let last = restored(&new, &[&file]);
    assert_eq!((last.stamp.step, last.from), (20, file));
    assert_own(last.producer, &new, 20);
}

#[test]
fn run_does_not_begin_where_there_may_be_a_state() {
    let (dir, name) = (TempDir::new().unwrap(), name("may-be"));
    let missing = dir.path().join("missing");
    let fails = |dirs: &[&Path]| builder(&name).restore_or_begin(dirs).unwrap_err();
    let unusable = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::NoneUsable(..)));
    let error = fails(&[dir.path(), &missing]);
    assert!(unusable(&error), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
    let file = write(&name, dir.path(), 20);
    let cut = fs::File::options().write(true).open(&file).unwrap();
    cut.set_len(cut.metadata().unwrap().len() - 1).unwrap();
    let error = fails(&[dir.path()]);
    assert!(unusable(&error), "{error}");
    let error = fails(&[&file]);
    let cut = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::CutShort { .. }));
    assert!(cut(&error), "{error}");
}

#[test]
fn region_is_rebuilt_by_its_name_from_a_folder_of_several() {
    let (dir, names) = (TempDir::new().unwrap(), ["ra", "rb"].map(name));
    for (name, step) in names.iter().zip([10, 20]) {
        write(name, dir.path(), step);
    }
    let error = Producer::restore(&[dir.path()]).unwrap_err().to_string();
    assert!(error.contains(&names.join(", ")), "{error}");
    for (name, step) in names.iter().zip([10, 20]) {
        let last = Producer::restore_named(&[dir.path()], name).unwrap();
        assert_eq!(last.producer.name(), name);
        assert_holds(&last.producer, step);
    }
}

fn start(program_name: &str, args: &[&str]) -> Child {
    runtime_dir();
    let dir = tcasm_observer::runtime_dir();
    Child::start(&program(program_name), args, &dir, &[])
}

/// Starts a simulation that is far from its end when it is killed.
fn simulation(name: &str, folder: &str) -> Child {
    let args = ["--name", name, "--size", "64", "--steps", "100000000"];
    start("checkpoint_restart", &[&args[..], &[folder]].concat())
}

/// Runs a simulation for the first time, and kills it when it has a checkpoint. Returns the step of
/// its last checkpoint.
fn first_run(name: &str, folder: &str) -> u64 {
    let mut simulation = simulation(name, folder);
    simulation.hear_line("begins");
    let every = ["--every-seconds", "0.05"];
    let args = ["checkpoint", name, "--fast", folder];
    let mut writer = start("tcasm", &[&args[..], &every].concat());
    writer.hear_line("wrote ");
    simulation.kill();
    assert_eq!(writer.wait().code(), Some(4));
    let newest = Checkpoint::restart_named(&[folder], name, None).unwrap();
    newest.stamp().step
}

#[test]
fn killed_programs_that_share_a_folder_continue_from_their_own_checkpoints() {
    let (dir, names) = (TempDir::new().unwrap(), ["wa", "wb"].map(name));
    let folder = dir.path().to_str().unwrap();
    // When the second starts for the first time, there are checkpoints of the first.
    let steps = names.each_ref().map(|name| first_run(name, folder));
    for (name, step) in names.iter().zip(steps) {
        let from = simulation(name, folder).hear_line("goes on from step ");
        let file = format!("{folder}/{name}_{step:08}.vtkhdf");
        assert_eq!(from, format!("{step}, from {file}"));
    }
}
