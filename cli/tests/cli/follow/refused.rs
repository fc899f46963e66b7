//! Tests of what `export --follow` refuses: earlier steps, files of others, wrong arguments.

use super::{has, in_dir, of, read, start};
use crate::checkpoint::{self, attached};
use crate::common::{Background, bad, line, name, names_in, publish, tcasm, until};
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_observer::Observer;

#[test]
fn next_start_continues_and_earlier_steps_are_refused() {
    let (_dir, file) = in_dir();
    let name = name("follow-again");
    let path = file.to_str().unwrap();
    let run_to = |steps: &[u64], args: &[&str]| {
        let (mut p, t) = line(&name, 100);
        let all = [&["export", &name, path, "--follow"], args].concat();
        let run = Background::start(&all);
        attached(&name, run.pid());
        steps.iter().for_each(|step| publish(&mut p, t, *step));
        until("it is appended, or refused", || {
            has(&file, *steps.last().unwrap())
                || Observer::attach(&name)
                    .unwrap()
                    .observers()
                    .unwrap()
                    .is_empty()
        });
        drop(p);
        run.end()
    };
    assert_eq!(run_to(&[10, 20, 30], &[]).code, 0);
    assert_eq!(run_to(&[40, 50], &[]).code, 0);
    assert_eq!(read(&file), of(&[10, 20, 30, 40, 50]));
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 30);
    let refused = bad(&["export", &name, path, "--follow"], 11);
    assert!(
        refused.contains("step 30") && refused.contains("step 50"),
        "{refused}"
    );
    drop(p);
    assert_eq!(read(&file).len(), 5);
    assert_eq!(run_to(&[30, 40], &["--replace-later"]).code, 0);
    assert_eq!(read(&file), of(&[10, 20, 30, 40]));
}

#[test]
fn file_of_another_program_is_not_touched() {
    let (_dir, file) = in_dir();
    let name = name("follow-foreign");
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 10);
    let path = file.to_str().unwrap();
    fs::write(&file, "a letter").unwrap();
    let refused = bad(&["export", &name, path, "--follow"], 11);
    assert!(refused.contains("run.vtkhdf"), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), b"a letter");
    assert_eq!(tcasm(&["export", &name, path, "--force"]).code, 0);
    let exported = fs::read(&file).unwrap();
    bad(&["export", &name, path, "--follow"], 11);
    assert_eq!(fs::read(&file).unwrap(), exported);
}

#[test]
fn file_of_another_program_with_the_name_of_a_version_is_not_replaced() {
    let (dir, _) = in_dir();
    let (series, name) = (dir.path().join("run_%T.h5"), name("follow-taken"));
    let file = |step: u64| dir.path().join(format!("run_{step:08}.h5"));
    fs::write(file(20), "a letter").unwrap();
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &series, &[]);
    (1..=3).for_each(|n| publish(&mut p, t, n * 10));
    let run = run.end();
    assert_eq!(run.code, 9, "{run:?}");
    assert!(
        run.err.contains("run_00000020.h5") && run.err.contains("exists already"),
        "{run:?}"
    );
    assert!(!run.err.contains("--force"), "{run:?}");
    assert_eq!(fs::read(file(20)).unwrap(), b"a letter");
    assert!(file(10).exists() && !file(30).exists());
    drop(p);
}

#[test]
fn part_does_not_join_checkpoints_and_no_whole_version_joins_parts() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("follow-mixed"));
    let (mut p, t) = line(&name, 100);
    let run = checkpoint::start(&name, dir.path(), &["--every", "1"]);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
        until("it is written", || {
            checkpoint::files(dir.path()).len() as u64 == n
        });
    }
    run.signal(Signal::SIGINT);
    run.end();
    let written = names_in(dir.path());
    let series = |stem: &str| dir.path().join(format!("{stem}_%T.h5"));
    let export = |series: &Path, more: &[&str]| {
        let args = ["export", &name, series.to_str().unwrap(), "--follow"];
        bad(&[&args[..], more].concat(), 11)
    };
    let part = ["--slice", "0:10", "--keep", "1"];
    let rounded = ["--relative-error", "1e-3", "--keep", "1"];
    for more in [&part, &rounded] {
        let refused = export(&series(&name), more);
        assert!(refused.contains(more[0]), "{refused}");
        assert_eq!(names_in(dir.path()), written);
    }
    let restored = Checkpoint::restart(&[dir.path()], None).unwrap();
    assert_eq!(restored.stamp().step, 30);
    drop(restored);

    // A series of parts goes on with the same part, and with no other.
    for step in [40, 50] {
        let run = start(&name, &series("part"), &part);
        publish(&mut p, t, step);
        let file = dir.path().join(format!("part_{step:08}.h5"));
        until("it is appended", || file.exists());
        run.signal(Signal::SIGINT);
        let run = run.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    }
    let refused = export(&series("part"), &[]);
    assert!(refused.contains("part_%T.h5"), "{refused}");
}

#[test]
fn wrong_arguments_are_refused() {
    let (dir, file) = in_dir();
    let name = name("follow-misuse");
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 10);
    let path = file.to_str().unwrap();
    for wrong in [
        &["--every", "2"][..],
        &["--keep", "2"],
        &["--timeout", "2"],
        &["--no-wait"],
        &["--lossless"],
        &["--follow", "--every", "0"],
        &["--follow", "--every", "2", "--every-seconds", "1"],
        &["--follow", "--keep", "0"],
        &["--follow", "--version", "1"],
        &["--follow", "--layout", "openpmd"],
        &["--follow", "--force"],
    ] {
        bad(&[&["export", &name, path], wrong].concat(), 2);
    }
    let other = dir.path().join("run.h5");
    bad(&["export", &name, other.to_str().unwrap(), "--follow"], 2);
    let nowhere = dir.path().join("no/run.vtkhdf");
    bad(&["export", &name, nowhere.to_str().unwrap(), "--follow"], 9);
    bad(&["export", "nobody", path, "--follow", "--no-wait"], 3);
    assert!(!file.exists() && !other.exists());
}
