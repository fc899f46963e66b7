//! Tests of the rule for regions that do not exist yet: commands that follow a region wait and say
//! so, all others fail at once. (`watch`, which needs a terminal, is tested in `watch.rs`.)

use crate::checkpoint::attached;
use crate::common::{Background, Victim, bad, line, name, publish};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ChildStderr;

/// Returns the command lines that follow the region `name` until it ends, or until a signal.
fn follows(name: &str, dir: &Path) -> [Vec<String>; 4] {
    let file = dir.join(format!("{name}.vtkhdf"));
    let [dir, file] = [dir, &file].map(|path| path.to_str().unwrap());
    [
        vec!["info", name, "--watch", "--json"],
        vec!["export", name, file, "--follow"],
        vec!["checkpoint", name, "--fast", dir, "--last"],
        vec!["keep", name],
    ]
    .map(|args| args.into_iter().map(str::to_owned).collect())
}

/// Returns the command line `args` with `more` arguments.
fn with<'a>(args: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let args = args.iter().map(String::as_str);
    args.chain(more.iter().copied()).collect()
}

/// Starts a command, and returns it with its standard error.
fn start(args: &[&str]) -> (Background, BufReader<ChildStderr>) {
    let mut run = Background::start(args);
    let errors = run.child().stderr.take().unwrap();
    (run, BufReader::new(errors))
}

/// Reads the next line of standard error, which must contain all `words`.
fn hear(errors: &mut BufReader<ChildStderr>, words: &[&str]) {
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.starts_with("tcasm: "), "{line:?}");
    for word in words {
        assert!(line.contains(word), "{word:?} in {line:?}");
    }
}

#[test]
fn commands_that_follow_wait_for_the_region_and_say_so() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..4 {
        let name = name("awaited");
        let args = &follows(&name, dir.path())[i];
        let (run, mut errors) = start(&with(args, &[]));
        let words = ["start the producer", "waiting for", &name, "--no-wait"];
        hear(&mut errors, &words);
        let (mut p, t) = line(&name, 8);
        attached(&name, run.pid());
        publish(&mut p, t, 10);
        drop(p);
        if args[0] == "keep" {
            run.signal(Signal::SIGTERM);
        }
        let run = run.end();
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
    }
}

#[test]
fn dead_region_is_waited_for_until_its_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut victim = Victim::start("again");
    victim.kill();
    for args in follows(&victim.name, dir.path()) {
        let (run, mut errors) = start(&with(&args, &[]));
        hear(&mut errors, &["is dead", "waiting for", &victim.name]);
        victim.restart();
        attached(&victim.name, run.pid());
        victim.kill();
    }
}

#[test]
fn no_wait_and_timeout_limit_the_wait() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("limited"));
    let view = ["view", &name, "--port", "0"].map(str::to_owned).to_vec();
    for args in follows(&name, dir.path()).into_iter().chain([view]) {
        let told = bad(&with(&args, &["--no-wait"]), 3);
        assert!(told.contains("start the producer"), "{args:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{args:?}: {told}");
        let told = bad(&with(&args, &["--timeout", "0.5"]), 3);
        let lines: Vec<bool> = told.lines().map(|line| line.contains("waiting")).collect();
        assert_eq!(lines, [true, false], "{args:?}: {told}");
        bad(&with(&args, &["--no-wait", "--timeout", "1"]), 2);
    }
}

#[test]
fn commands_that_look_once_fail_at_once_and_take_no_limit() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("looked-for"));
    let file = dir.path().join("one.vtkhdf");
    let file = file.to_str().unwrap();
    for args in [
        vec!["info", &name],
        vec!["stats", &name, "t"],
        vec!["dump", &name, "t"],
        vec!["export", &name, file],
        vec!["restore", "--kept", &name, "--out", file],
    ] {
        let told = bad(&args, 3);
        assert_eq!(told.lines().count(), 1, "{args:?}: {told}");
        assert!(!told.contains("waiting"), "{args:?}: {told}");
        for limit in [&["--no-wait"][..], &["--timeout", "1"]] {
            bad(&[&args[..], limit].concat(), 2);
        }
    }
}

#[test]
fn keep_goes_on_with_the_regions_that_exist() {
    let [here, missing] = [name("here"), name("missing")];
    let (mut p, t) = line(&here, 8);
    publish(&mut p, t, 10);
    let (run, mut errors) = start(&["keep", &missing, &here, "--timeout", "0.5"]);
    hear(&mut errors, &["waiting for", &missing]);
    hear(&mut errors, &["there is no region", &missing]);
    attached(&here, run.pid());
    run.signal(Signal::SIGTERM);
    let run = run.end();
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.starts_with("attached to here-"), "{run:?}");
}
