//! Tests of `clean`, each in a folder of its own: in the folder that the tests share, it would
//! remove what others need.

use crate::common::{Run, command, names_in, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// A folder of sockets.
struct Site(TempDir);

/// A process that is killed when this value is dropped.
struct Process(Child);

impl Site {
    fn new() -> Site {
        Site(tempfile::tempdir().unwrap())
    }

    fn tcasm(&self, args: &[&str]) -> Run {
        let mut command = command(args);
        command.env("TCASM_RUNTIME_DIR", self.0.path());
        command.output().unwrap().into()
    }

    fn start(&self, args: &[&str]) -> Process {
        let mut command = command(args);
        command.env("TCASM_RUNTIME_DIR", self.0.path());
        Process(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    /// Starts a simulation, and waits until it has published.
    fn simulate(&self, name: &str) -> Process {
        let args = ["demo-producer", name, "--steps", "1000000", "--pause", "5"];
        let process = self.start(&args);
        until("it publishes", || self.is_alive(name));
        process
    }

    fn is_alive(&self, name: &str) -> bool {
        self.tcasm(&["stats", name, "height"]).code == 0
    }

    /// Runs `clean`, which must end well, and returns the files that it lists after `word`.
    fn clean(&self, args: &[&str], word: &str) -> Vec<String> {
        let run = self.tcasm(&[&["clean"], args].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        let path = format!("{word} {}/", self.0.path().display());
        let lines = run.out.lines();
        lines
            .map(|line| line.strip_prefix(&path).unwrap_or(line).to_owned())
            .collect()
    }

    /// Checks that `clean` finds nothing and removes nothing.
    fn assert_clean(&self) {
        let before = names_in(self.0.path());
        let nothing = format!("nothing to remove in {}", self.0.path().display());
        assert_eq!(self.clean(&[], "removed"), [nothing]);
        assert_eq!(names_in(self.0.path()), before);
    }
}

impl Process {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn clean_removes_what_a_killed_simulation_has_left_and_nothing_of_others() {
    let site = Site::new();
    let running = site.simulate("running");
    drop(site.simulate("dead"));
    let left = ["dead.sock", "dead.sock.lock"];
    let alive = ["running.sock", "running.sock.lock"];
    assert_eq!(names_in(site.0.path()), [left, alive].concat());
    // A simulation that is stopped answers nobody, but it lives.
    running.signal(Signal::SIGSTOP);
    assert_eq!(site.clean(&["--dry-run"], "would remove"), left);
    assert_eq!(names_in(site.0.path()), [left, alive].concat());
    assert_eq!(site.clean(&[], "removed"), left);
    assert_eq!(names_in(site.0.path()), alive);
    site.assert_clean();
    running.signal(Signal::SIGCONT);
    assert!(site.is_alive("running"));
    assert_eq!(site.tcasm(&["info", "dead"]).code, 3);
    drop(site.simulate("dead"));
    assert_eq!(site.clean(&[], "removed"), left);
}

#[test]
fn clean_leaves_a_region_alone_that_tcasm_keep_holds() {
    let site = Site::new();
    let simulation = site.simulate("held");
    let keeper = site.start(&["keep", "held"]);
    let kept = ["held.kept", "held.kept.lock"];
    until("the keeper serves it", || {
        names_in(site.0.path()).starts_with(&kept.map(str::to_owned))
    });
    site.assert_clean();
    drop(simulation);
    until("it is held", || {
        let run = site.tcasm(&["ls"]);
        let line = |line: &str| line.starts_with("held ") && line.contains(" kept ");
        run.out.lines().any(line)
    });
    site.assert_clean();
    drop(keeper);
    let left = ["held.sock", "held.sock.lock", "held.kept", "held.kept.lock"];
    assert_eq!(site.clean(&[], "removed"), left);
    assert_eq!(names_in(site.0.path()), [] as [String; 0]);
}

#[test]
fn keeper_that_died_is_no_reason_to_touch_a_running_simulation() {
    let site = Site::new();
    let _simulation = site.simulate("busy");
    let keeper = site.start(&["keep", "busy"]);
    until("the keeper serves it", || {
        site.0.path().join("busy.kept").exists()
    });
    drop(keeper);
    site.assert_clean();
    assert!(site.is_alive("busy"));
}

#[test]
fn files_of_other_programs_stay() {
    let site = Site::new();
    let folder = site.0.path();
    let _listener = UnixListener::bind(folder.join("other.sock")).unwrap();
    drop(UnixListener::bind(folder.join("old.sock")).unwrap());
    fs::write(folder.join("other.sock.lock"), "4711\n").unwrap();
    fs::write(folder.join("view.key"), "secret").unwrap();
    site.assert_clean();
}

#[test]
fn missing_folder_is_not_created() {
    let site = Site::new();
    let missing = site.0.path().join("missing");
    let mut clean = command(&["clean"]);
    let run: Run = clean
        .env("TCASM_RUNTIME_DIR", &missing)
        .output()
        .unwrap()
        .into();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.starts_with("nothing to remove in "), "{run:?}");
    assert!(!missing.exists());
}
