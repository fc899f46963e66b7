//! The ownership of names. A name is taken over from a dead producer, never from a living one.

use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_core::sys::socket;
use tcasm_producer::{CreateError, Producer};
use tcasm_tests::child::{DEADLINE, Received};
use tcasm_tests::hostile::socket_path;
use tcasm_tests::name;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

fn puppet(dir: &TempDir) -> Puppet {
    Puppet::start(PUPPET, dir.path())
}

/// Returns a folder, and a producer of the region `x` in it.
fn region() -> (TempDir, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = puppet(&dir);
    producer.ok("create x pages=16");
    producer.ok("publish 1");
    (dir, producer)
}

/// Returns a region whose producer is dead, and a forked child of it that holds the listening
/// socket.
fn abandoned() -> (TempDir, Puppet) {
    let (dir, mut producer) = region();
    producer.ok("leave-child");
    producer.child.kill_alone();
    (dir, producer)
}

fn lock_path(dir: &TempDir) -> PathBuf {
    dir.path().join("x.sock.lock")
}

/// Connects to the socket until it has no room for more.
fn fill(socket: &Path) -> Vec<OwnedFd> {
    let mut connections = Vec::new();
    loop {
        match socket::connect_to(socket) {
            Ok(connection) => connections.push(connection),
            Err(Errno::EAGAIN) => return connections,
            Err(error) => panic!("{error}"),
        }
        assert!(connections.len() < 1000, "some process accepts connections");
    }
}

fn files(dir: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn name_of_a_dead_producer_is_taken_over_behind_a_full_socket() {
    let (dir, _held) = abandoned();
    let _full = fill(&socket_path(dir.path(), "x"));
    let error = puppet(&dir).error("attach x");
    assert!(error.starts_with("Dead"), "{error}");
    let mut next = puppet(&dir);
    next.ok("create x pages=16");
    next.ok("publish 3");
    let mut observer = puppet(&dir);
    observer.ok("attach x");
    assert_eq!(observer.ok("latest"), "version=3");
}

#[test]
fn waiting_for_a_producer_does_not_fill_the_socket_of_a_dead_one() {
    let (dir, _held) = abandoned();
    let error = puppet(&dir).error("attach-wait x 3000");
    assert!(error.starts_with("Dead"), "{error}");
    let room = fill(&socket_path(dir.path(), "x")).len();
    assert!(room > 60, "only {room} connections found room");
}

#[test]
fn observer_that_waits_for_an_answer_learns_that_the_producer_has_died() {
    let (dir, mut producer) = region();
    producer.ok("leave-child");
    producer.child.stop();
    let mut observer = puppet(&dir);
    observer.child.send("attach x");
    assert_eq!(
        observer.child.receive(Duration::from_millis(300)),
        Received::Nothing
    );
    producer.child.kill_alone();
    match observer.child.receive(DEADLINE) {
        Received::Line(line) => assert!(line.starts_with("error Dead"), "{line}"),
        said => panic!("{said:?}"),
    }
}

#[test]
fn stopped_producer_behind_a_full_socket_owns_its_name() {
    let (dir, mut producer) = region();
    producer.child.stop();
    let full = fill(&socket_path(dir.path(), "x"));
    let error = puppet(&dir).error("create x pages=16");
    assert!(error.starts_with("InUse"), "{error}");
    let owner = format!("process {};", producer.child.pid());
    assert!(error.contains(&owner), "{error}");
    drop(full);
    producer.child.signal(Signal::SIGCONT);
    let mut observer = puppet(&dir);
    observer.ok("attach x");
    assert_eq!(observer.ok("latest"), "version=1");
    producer.ok("publish 1");
}

#[test]
fn attaching_to_a_region_of_the_same_process_does_not_give_its_name_up() {
    let (dir, mut producer) = region();
    for _ in 0..3 {
        producer.ok("attach x");
        producer.ok("detach");
        let error = puppet(&dir).error("create x pages=16");
        assert!(error.starts_with("InUse"), "{error}");
    }
    producer.ok("publish 1");
}

#[test]
fn process_cannot_have_two_regions_of_one_name() {
    let name = name("twice");
    let create = || Producer::builder(&name).capacity(1).create();
    let first = create().unwrap();
    let own = std::process::id() as i32;
    for _ in 0..2 {
        match create() {
            Err(CreateError::InUse { pid, .. }) => assert_eq!(pid, own),
            other => panic!("{other:?}"),
        }
    }
    drop(first);
    create().unwrap();
}

#[test]
fn files_of_a_name_are_removed_by_its_producer_or_reused_by_the_next() {
    let (dir, mut producer) = region();
    let both = ["x.sock", "x.sock.lock"];
    assert_eq!(files(&dir), both);
    producer.ok("close");
    assert_eq!(files(&dir), [""; 0]);
    let mut killed = puppet(&dir);
    killed.ok("create x pages=16");
    killed.child.kill();
    assert_eq!(files(&dir), both);
    let mut next = puppet(&dir);
    next.ok("create x pages=16");
    assert_eq!(files(&dir), both);
    next.ok("drop");
    assert_eq!(files(&dir), [""; 0]);
}

#[test]
fn exactly_one_of_many_simultaneous_producers_gets_the_name() {
    let dir = TempDir::new().unwrap();
    for _ in 0..10 {
        let mut all: Vec<Puppet> = (0..5).map(|_| puppet(&dir)).collect();
        all.iter_mut()
            .for_each(|p| p.child.send("create x pages=16"));
        let answers = all.iter().map(|p| match p.child.receive(DEADLINE) {
            Received::Line(line) => line,
            said => panic!("{said:?}"),
        });
        let answers: Vec<String> = answers.collect();
        let won = answers.iter().filter(|a| a.starts_with("ok")).count();
        let refused = answers.iter().filter(|a| a.starts_with("error InUse"));
        assert_eq!((won, refused.count()), (1, 4), "{answers:?}");
        // All producers are killed here, and their files stay.
    }
}

#[test]
fn lock_of_a_process_that_only_reads_does_not_keep_the_name() {
    let (dir, mut producer) = region();
    producer.child.kill();
    let file = fs::File::open(lock_path(&dir)).unwrap();
    let lock = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_OFD_SETLK(&lock)).unwrap();
    let error = puppet(&dir).error("attach x");
    assert!(error.starts_with("Dead"), "{error}");
    puppet(&dir).ok("create x pages=16");
}

#[test]
fn producer_whose_lock_file_was_removed_is_neither_replaced_nor_taken_for_dead() {
    let (dir, mut producer) = region();
    fs::remove_file(lock_path(&dir)).unwrap();
    for _ in 0..2 {
        let error = puppet(&dir).error("create x pages=16");
        assert!(error.starts_with("Listen"), "{error}");
        let mut observer = puppet(&dir);
        observer.ok("attach x");
        assert_eq!(observer.ok("latest"), "version=1");
    }
    producer.ok("close");
    assert_eq!(files(&dir), [""; 0]);
}
