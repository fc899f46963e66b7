//! Tests of how `export --follow` ends, what it pins, and what it does when the disk is full.

use super::{fill_with_noise, has, in_dir, of, read, start, start_limited};
use crate::common::{Background, Victim, line, name, publish, until};
use nix::sys::signal::Signal;
use tcasm_observer::Observer;

#[test]
fn sigterm_appends_the_newest_version_before_the_end() {
    let (_dir, file) = in_dir();
    let name = name("follow-term");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--every-steps", "1000"]);
    (1..=3).for_each(|n| publish(&mut p, t, n * 10));
    run.signal(Signal::SIGTERM);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(read(&file), of(&[30]));
}

#[test]
fn sigint_ends_with_status_0() {
    let (_dir, file) = in_dir();
    let name = name("follow-int");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    run.signal(Signal::SIGINT);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(
        run.out.starts_with("interrupted: 1 version appended"),
        "{run:?}"
    );
    let other = file.with_file_name("other.vtkhdf");
    let other = other.to_str().unwrap();
    let waiting = Background::start(&["export", "nobody", other, "--follow", "--timeout", "60"]);
    let lock = file.with_file_name(".other.vtkhdf.tcasm-lock");
    until("it waits", || lock.exists());
    waiting.signal(Signal::SIGINT);
    let waiting = waiting.end();
    assert_eq!(waiting.code, 0, "{waiting:?}");
}

#[test]
fn last_version_of_a_killed_simulation_is_appended() {
    let (_dir, file) = in_dir();
    let mut victim = Victim::start("follow-victim");
    let run = start(&victim.name, &file, &["--every", "1000000"]);
    let mut observer = Observer::attach(&victim.name).unwrap();
    victim.kill();
    let run = run.end();
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("died"), "{run:?}");
    let last = observer.latest().unwrap().step();
    let series = hdf5::File::open(&file).unwrap();
    let steps: Vec<u64> = series.dataset("tcasm/step").unwrap().read_raw().unwrap();
    assert_eq!(steps, [last]);
}

#[test]
fn versions_are_pinned_only_while_they_are_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-pins");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    let mut observer = Observer::attach(&name).unwrap();
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
        until("it is appended and released", || {
            let rows = observer.observers().unwrap();
            let row = rows
                .iter()
                .find(|row| row.pid == u64::from(run.pid()))
                .unwrap();
            has(&file, n * 10) && row.pinned.is_empty()
        });
    }
}

#[test]
fn full_disk_loses_versions_but_not_the_series() {
    let (dir, file) = in_dir();
    let name = name("follow-disk");
    let (mut p, t) = line(&name, 1 << 16);
    let run = start_limited(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    fill_with_noise(&mut p, t);
    p.publish(20, 0.2).unwrap();
    publish(&mut p, t, 30);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "the last version was appended: {run:?}");
    assert!(
        run.err.contains("no room") && run.err.contains("step 20"),
        "{run:?}"
    );
    assert_eq!(read(&file), of(&[10, 30]));
    assert_eq!(
        crate::common::names_in(&dir.path().join("run.steps")).len(),
        2
    );
}
