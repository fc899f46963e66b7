//! Malicious files. None of them stops, blocks or misleads a reader of a folder with good
//! checkpoints. A seal is no signature, so these files have good seals.

#[path = "../common/mod.rs"]
mod common;
mod forge;

use common::{PLAIN, Version, field};
use forge::{EVERY, Folder, NAME, OF_COPIES};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;
use tcasm_checkpoint::{Checkpoint, Checkpointer, Contents, ReadError, Verifier, manifests};
use tcasm_core::field::DType;

/// Runs `work` in a thread of its own, and panics if it does not end.
fn without_hanging<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = channel();
    std::thread::spawn(move || done.send(work()));
    result
        .recv_timeout(Duration::from_secs(60))
        .expect("the work hangs or has panicked")
}

/// Reads the folder in every way. The bad file must be reported, and the good one used.
fn assert_passed_over(folder: &Folder, bad: &Path, why: &str) {
    let (dir, bad) = (folder.path().to_owned(), bad.to_owned());
    let errors = without_hanging(move || {
        let mut verifier = Verifier::new();
        let mut errors = vec![
            verifier.verify(&bad).unwrap_err(),
            Checkpoint::open(&bad).and_then(|c| c.verify()).unwrap_err(),
        ];
        assert!(verifier.verify(dir.join("run_00000001.vtkhdf")).is_ok());
        let restart = Checkpoint::restart(&[&dir], None).unwrap();
        assert_eq!(restart.stamp().step, 1);
        let passed_over = restart.into_passed_over();
        assert_eq!(passed_over.len(), 1, "{passed_over:?}");
        errors.extend(passed_over.into_iter().map(|(_, error)| error));
        // The next writer must leave it alone.
        drop(Checkpointer::new(&dir, NAME, PLAIN).unwrap());
        assert!(bad.symlink_metadata().is_ok(), "the bad file was removed");
        errors
    });
    for error in errors {
        let text = error.to_string();
        assert!(text.contains(why), "{text:?} does not say {why:?}");
    }
}

#[test]
fn forged_file_is_refused_and_reported_and_the_good_one_is_used() {
    for forgery in EVERY {
        let folder = Folder::new();
        println!("{}", forgery.what);
        let bad = folder.forge(forgery);
        assert_passed_over(&folder, &bad, forgery.why);
    }
}

#[test]
fn forged_copies_for_other_programs_are_reported_and_not_restored_from() {
    for forgery in OF_COPIES {
        let folder = Folder::new();
        println!("{}", forgery.what);
        let bad = folder.forge(forgery);
        let (error, step) = without_hanging(move || {
            let error = Verifier::new().verify(&bad).unwrap_err();
            let restart = Checkpoint::restart(&[bad.parent().unwrap()], None).unwrap();
            (error.to_string(), restart.stamp().step)
        });
        assert!(error.contains(forgery.why), "{error}");
        assert_eq!(step, 2);
    }
}

#[test]
fn special_files_are_refused_without_blocking() {
    type Make = fn(&Path);
    let make: [(&str, Make); 5] = [
        ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a device", |path| symlink("/dev/zero", path).unwrap()),
        ("a pipe behind a link", |path| {
            let pipe = path.with_extension("pipe");
            mkfifo(&pipe, Mode::S_IRWXU).unwrap();
            symlink(pipe, path).unwrap();
        }),
    ];
    for (what, make) in make {
        println!("{what}");
        for name in [
            "run_00000002.vtkhdf",
            "run_00000002.h5",
            "run_00000002.increment.h5",
        ] {
            let folder = Folder::new();
            let bad = folder.path().join(name);
            make(&bad);
            if what == "a folder" {
                // Opening the path itself would look inside the folder. So only a restart is tried.
                let restart = Checkpoint::restart(&[folder.path()], None).unwrap();
                assert_eq!((restart.stamp().step, restart.passed_over().len()), (1, 1));
                continue;
            }
            assert_passed_over(&folder, &bad, "not a regular file");
        }
    }
}

#[test]
fn manifests_and_lists_are_regular_files_of_bounded_size() {
    let huge = |path: &Path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    let pipe = |path: &Path| mkfifo(path, Mode::S_IRWXU).unwrap();
    let makes: [&(dyn Fn(&Path) + Sync); 2] = [&huge, &pipe];
    for make in makes {
        let dir = tempfile::tempdir().unwrap();
        let [manifest, list] = ["run.manifest", "run.vtkhdf.series"].map(|n| dir.path().join(n));
        make(&manifest);
        make(&list);
        let at = dir.path().to_owned();
        without_hanging(move || {
            assert!(Contents::read(&manifest).is_err());
            assert!(manifests(&at).is_err());
            assert!(Checkpoint::open(&list).is_err());
            assert!(Checkpointer::new(&at, NAME, PLAIN).is_err());
        });
    }
}

#[test]
fn file_of_another_step_than_its_name_says_is_refused() {
    let folder = Folder::new();
    let good = folder.path().join("run_00000001.vtkhdf");
    let bad = folder.path().join("run_00000007.vtkhdf");
    fs::copy(&good, &bad).unwrap();
    assert_passed_over(&folder, &bad, "named after step 7, but holds step 1");
    let asked = Checkpoint::restart(&[folder.path()], Some(7)).unwrap_err();
    assert!(matches!(asked, ReadError::NoneUsable(..)), "{asked}");
    // A file with any other name may hold any step.
    let export = folder.path().join("export.vtkhdf");
    fs::copy(&good, &export).unwrap();
    assert_eq!(Checkpoint::open(&export).unwrap().stamp().step, 1);
}

#[test]
fn junk_named_like_another_run_does_not_hide_a_good_run() {
    let folder = Folder::new();
    let junk = folder.path().join("other_00000009.vtkhdf");
    fs::write(&junk, "of another program").unwrap();
    for found in [
        Checkpoint::restart(&[folder.path()], None).unwrap(),
        Checkpoint::open(folder.path()).unwrap(),
    ] {
        assert_eq!(found.stamp().step, 1);
        let [(path, ReadError::NotHdf5(_))] = found.passed_over() else {
            panic!("{:?}", found.passed_over());
        };
        assert_eq!(*path, junk);
    }
}

#[test]
fn fields_that_do_not_fit_into_memory_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.vtkhdf");
    let version = Version::of([field("t", DType::F64, &[512])]);
    tcasm_checkpoint::write(&path, &version.snapshot(common::STAMP), &PLAIN).unwrap();
    forge::resize(&path, 1 << 42);
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert!(checkpoint.table().fields[0].bytes() >= 1 << 42);
    let error = checkpoint.load().unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }), "{error}");
}
