//! Host buffers of several hosts, which are folders here, and their rendezvous.

use nix::sys::signal::Signal;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tcasm_core::place::addresses;
use tcasm_hostbuffer::tcp::{Event, Secret, Server};
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::procfs::is_stopped;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");
const SECRET: &str = "0123456789abcdef";

/// A rendezvous of three hosts. Dropping it ends it.
struct Running {
    address: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Event>>>,
}

impl Running {
    fn start() -> Self {
        let secret = Secret::new(SECRET.as_bytes()).unwrap();
        let server = Server::bind("127.0.0.1:0", 3, secret).unwrap();
        let address = server.address().unwrap().to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut events = Vec::new();
            let go_on = || !seen.load(Ordering::Relaxed);
            server.run(go_on, |event| events.push(event));
            events
        });
        Running {
            address,
            stop,
            thread: Some(thread),
        }
    }

    fn finish(mut self) -> Vec<Event> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("it does not panic")
    }

    /// Starts a process of the host in `dir`, which has two.
    fn process(&self, dir: &TempDir, secret: &str, blocked: &[u64]) -> Child {
        self.process_with(dir, secret, blocked, "")
    }

    fn process_with(&self, dir: &TempDir, secret: &str, blocked: &[u64], fault: &str) -> Child {
        let blocked: Vec<String> = blocked.iter().map(|at| format!("{at:x}")).collect();
        let mut arguments = vec!["job", "2"];
        arguments.extend(blocked.iter().map(String::as_str));
        let settings = [
            ("HOSTBUFFER_RENDEZVOUS", self.address.as_str()),
            ("HOSTBUFFER_SECRET", secret),
            ("TCASM_FAULT", fault),
        ];
        Child::start(PROGRAM, &arguments, dir.path(), &settings)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn hosts() -> [TempDir; 3] {
    [(); 3].map(|()| TempDir::new().unwrap())
}

fn candidates() -> Vec<u64> {
    addresses("hostbuffer/job", 10 << 20).collect()
}

#[test]
fn three_hosts_take_the_first_address_that_is_free_on_all() {
    let (server, dirs, free) = (Running::start(), hosts(), candidates());
    // A program that knows nothing of the protocol disturbs nobody.
    let mut stranger = TcpStream::connect(&server.address).unwrap();
    stranger.write_all(&[0xff; 100]).unwrap();
    let both =
        |(i, dir): (usize, &TempDir)| [0, 1].map(|j| server.process(dir, SECRET, &free[i..i + j]));
    let all: Vec<Child> = dirs.iter().enumerate().flat_map(both).collect();
    // The second process of each host has one of the first three addresses in use.
    for child in &all {
        let line = child.hear_line("ok created=");
        assert!(line.ends_with(&format!(" address={:x}", free[3])), "{line}");
    }
    let joined = server.finish().into_iter();
    let joined = joined.filter(|event| matches!(event, Event::Joined { .. }));
    assert_eq!(joined.count(), 3, "one process of each host connects");
}

#[test]
fn process_of_one_host_that_has_no_address_free_is_named_on_all() {
    let (server, dirs) = (Running::start(), hosts());
    let blocker = server.process(&dirs[0], SECRET, &candidates());
    let mut all = vec![server.process(&dirs[0], SECRET, &[])];
    for dir in &dirs[1..] {
        all.extend([0, 1].map(|_| server.process(dir, SECRET, &[])));
    }
    let named = format!("process {} (hostbuffer)", blocker.pid());
    all.push(blocker);
    for child in &all {
        let why = child.hear_line("error ");
        assert!(why.contains(&named) && why.contains("---p"), "{why}");
    }
}

#[test]
fn host_with_another_secret_is_refused_and_keeps_no_place() {
    let (server, dirs) = (Running::start(), hosts());
    let wrong = TempDir::new().unwrap();
    let strangers = [0, 1].map(|_| server.process(&wrong, "fedcba9876543210", &[]));
    for child in &strangers {
        let why = child.hear_line("error ");
        assert!(why.contains("does not know the secret"), "{why}");
    }
    let both = |dir: &TempDir| [0, 1].map(|_| server.process(dir, SECRET, &[]));
    let all: Vec<Child> = dirs.iter().flat_map(both).collect();
    for child in &all {
        child.hear_line("ok created=");
    }
    let events = server.finish();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Refused { .. }))
    );
}

/// Returns the process that has stopped, and then the other one.
fn stopped_first([first, second]: [Child; 2]) -> [Child; 2] {
    let second_stops = poll_until("a process stops", || {
        let stopped = [&first, &second].map(|child| is_stopped(child.pid()));
        (stopped != [false; 2]).then_some(stopped[1])
    });
    match second_stops {
        true => [second, first],
        false => [first, second],
    }
}

#[test]
fn host_that_dies_is_told_to_the_others_while_one_of_them_is_busy() {
    let (server, dirs) = (Running::start(), hosts());
    let start = |dir, fault| [0, 1].map(|_| server.process_with(dir, SECRET, &[], fault));
    let waiting = start(&dirs[0], "");
    // The processes that lead stop when all hosts are there, and an address has been proposed.
    let both = [&dirs[1], &dirs[2]].map(|dir| start(dir, "stop@proposed"));
    let [busy, dead] = both.map(stopped_first);
    let [mut dead, _orphan] = dead;
    dead.kill();
    for child in &waiting {
        let why = child.hear_line("error ");
        assert!(why.contains("has left"), "{why}");
    }
    busy[0].signal(Signal::SIGCONT);
    for child in &busy {
        let why = child.hear_line("error ");
        assert!(why.contains("has left"), "{why}");
    }
}
