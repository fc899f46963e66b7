//! Each kind of failure has its own exit status, and its message says what to do.

use crate::common::{Victim, bad, line, name, publish, runtime_dir, tcasm};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;
use tcasm_core::format::layout::{LAYOUT_VERSION, MAGIC};
use tcasm_core::format::wire::{self, Answer};
use tcasm_core::place::socket_path;
use tcasm_core::sys::socket;
use tcasm_producer::Producer;

/// Returns command lines of all commands that look at a region.
fn looks(name: &str) -> [Vec<String>; 5] {
    let file = runtime_dir().join("never.vtkhdf");
    let file = file.to_str().unwrap();
    [
        vec!["info", name],
        vec!["dump", name, "t"],
        vec!["stats", name, "t"],
        vec!["export", name, file],
        vec!["checkpoint", name, "--fast", "/tmp", "--last", "--no-wait"],
    ]
    .map(|args| args.into_iter().map(str::to_owned).collect())
}

fn all_fail(name: &str, code: i32, says: &str) {
    for args in looks(name) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let error = bad(&args, code);
        assert!(error.contains(says), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn wrong_command_line_exits_with_2() {
    for args in [
        vec!["frobnicate"],
        vec!["info"],
        vec!["dump", "a", "b", "--npy", "x", "--raw", "y"],
        vec!["checkpoint", "a"],
        vec!["checkpoint", "a", "--last"],
        vec!["checkpoint", "a", "--fast", "b"],
        vec!["checkpoint", "a", "--fast", "b", "--every", "0"],
        vec!["checkpoint", "a", "--fast", "b", "--every-seconds", "-1"],
        vec!["checkpoint", "a", "--fast", "b", "--mtbf", "0"],
        vec!["checkpoint", "a", "--fast", "b", "--every", "1", "--last"],
        vec![
            "checkpoint",
            "a",
            "--fast",
            "b",
            "--last",
            "--keep-slow",
            "2",
        ],
        vec!["checkpoint", "a", "--fast", "b", "--last", "--slow", "b"],
        vec!["restore", "a"],
        vec!["verify"],
        vec!["completions", "tcl"],
    ] {
        bad(&args, 2);
    }
    all_fail("no/name", 2, "not usable");
}

#[test]
fn missing_region_exits_with_3() {
    all_fail(&name("missing"), 3, "TCASM_RUNTIME_DIR");
}

#[test]
fn dead_producer_exits_with_4() {
    let mut victim = Victim::start("killed");
    victim.kill();
    all_fail(&victim.name, 4, "is dead");
}

/// A server at the socket of a region that answers every greeting with the same message, or not at
/// all.
struct Impostor {
    name: String,
}

impl Impostor {
    fn new(message: Option<Vec<u8>>) -> Impostor {
        let name = name("impostor");
        fs::create_dir_all(runtime_dir()).unwrap();
        let listener = socket::listen_at(&socket_path(&name)).unwrap();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            while socket::wait_readable(&listener, Duration::from_secs(20)) {
                let connection = socket::accept(&listener).unwrap();
                if let Some(message) = &message {
                    socket::send(&connection, message, &[]).unwrap();
                }
                kept.push(connection);
            }
        });
        Impostor { name }
    }
}

impl Drop for Impostor {
    /// Removes the socket. Otherwise every `ls` would wait for a server that does not answer.
    fn drop(&mut self) {
        fs::remove_file(socket_path(&self.name)).unwrap();
    }
}

#[test]
fn refusal_exits_with_5() {
    all_fail(
        &Impostor::new(Some(wire::answer(Answer::NotAllowed))).name,
        5,
        "may not attach",
    );
}

#[test]
fn other_layout_version_exits_with_6() {
    let words = [MAGIC, LAYOUT_VERSION + 1, Answer::OtherLayout as u64];
    let message = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    all_fail(&Impostor::new(Some(message)).name, 6, "layout version");
}

#[test]
fn full_or_silent_producer_exits_with_10() {
    let name = name("full");
    let builder = Producer::builder(&name).capacity(1).max_observers(0);
    let _producer = builder.create().unwrap();
    all_fail(&name, 10, "max_observers");
    let error = bad(&["info", &Impostor::new(None).name], 10);
    assert!(error.contains("did not answer"), "{error}");
}

#[test]
fn invalid_answer_exits_with_1() {
    all_fail(
        &Impostor::new(Some(b"HTTP/1.1 400 Bad Request".to_vec())).name,
        1,
        "not a producer",
    );
}

#[test]
fn ls_shows_why_each_region_cannot_be_used() {
    let refusing = Impostor::new(Some(wire::answer(Answer::NotAllowed)));
    let full = Impostor::new(Some(wire::answer(Answer::Full)));
    let run = tcasm(&["ls"]);
    for (name, state) in [(&refusing.name, "not-allowed"), (&full.name, "full")] {
        let line = run.out.lines().find(|l| l.split(' ').next() == Some(name));
        assert!(line.is_some_and(|l| l.contains(state)), "{name}: {run:?}");
    }
}

#[test]
fn missing_field_exits_with_7_and_lists_the_others() {
    let name = name("fields");
    let (mut p, t) = line(&name, 8);
    publish(&mut p, t, 10);
    for command in ["dump", "stats"] {
        let error = bad(&[command, &name, "pressure"], 7);
        assert!(
            error.contains("\"pressure\"") && error.contains("\"t\""),
            "{error}"
        );
    }
}

#[test]
fn missing_version_exits_with_8() {
    let name = name("versions");
    let (mut p, t) = line(&name, 8);
    for command in ["dump", "stats"] {
        assert!(bad(&[command, &name, "t"], 8).contains("nothing yet"));
    }
    publish(&mut p, t, 10);
    for command in ["dump", "stats"] {
        let error = bad(&[command, &name, "t", "--version", "9"], 8);
        assert!(
            error.contains("version 9") && error.contains("[1]"),
            "{error}"
        );
    }
}

#[test]
fn unusable_socket_exits_with_9() {
    let name = name("file");
    fs::create_dir_all(runtime_dir()).unwrap();
    let path = socket_path(&name);
    // A stream socket. Producers do not use stream sockets.
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    all_fail(&name, 9, "cannot connect");
    fs::remove_file(path).unwrap();
}
