//! Host buffers of processes that fork: their children live longer than they do, and hold all their
//! sockets open. And what a core dump of a process does to the memory.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use tcasm_tests::child::Child;
use tcasm_tests::core_file;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");
const BYTES: usize = 8 << 20;
const PAGES: usize = BYTES / 4096;

fn start(dir: &Path, count: usize, settings: &[(&str, &str)]) -> Child {
    Child::start(PROGRAM, &["job", &count.to_string()], dir, settings)
}

fn command(child: &mut Child, line: &str) -> String {
    child.send(line);
    child.hear_line("ok ")
}

/// Starts a process that has the buffer.
fn attached(dir: &Path) -> Child {
    let child = start(dir, 0, &[]);
    child.hear_line("ok created=");
    child
}

#[test]
fn death_of_a_leader_is_noticed_while_its_forked_child_lives() {
    let dir = TempDir::new().unwrap();
    let (mut leader, mut member) = (attached(dir.path()), attached(dir.path()));
    command(&mut leader, "build");
    command(&mut leader, "fork");
    leader.kill_alone();
    let mut late = start(dir.path(), 0, &[]);
    late.hear_line("ok created=false");
    assert_ne!(command(&mut late, "walk"), "0");
    // The forked child can write the section, and so nobody can seal it before that child ends.
    leader.finish();
    command(&mut member, "seal");
    assert_eq!(command(&mut late, "sealed"), BYTES.to_string());
}

#[test]
fn forked_child_that_survives_alone_keeps_nobody_from_a_new_buffer() {
    let dir = TempDir::new().unwrap();
    let mut leader = attached(dir.path());
    command(&mut leader, "build");
    command(&mut leader, "fork");
    leader.kill_alone();
    let mut next = start(dir.path(), 0, &[]);
    next.hear_line("ok created=true");
    assert_eq!(command(&mut next, "walk"), "0");
}

#[test]
fn leader_that_dies_while_others_come_is_replaced_while_its_forked_child_lives() {
    let dir = TempDir::new().unwrap();
    let leader = start(dir.path(), 3, &[("HOSTBUFFER_FORKS", "1")]);
    leader.hear_line("forked");
    let early = start(dir.path(), 3, &[]);
    leader.kill_alone();
    let all = [early, start(dir.path(), 3, &[]), start(dir.path(), 3, &[])];
    for child in &all {
        child.hear_line("ok created=");
    }
}

#[test]
fn seal_waits_for_no_dead_process_but_for_its_forked_child_as_long_as_is_promised() {
    let dir = TempDir::new().unwrap();
    let (mut leader, mut member) = (attached(dir.path()), attached(dir.path()));
    command(&mut member, "fork");
    member.kill_alone();
    leader.send("seal");
    let why = leader.hear_line("error ");
    assert!(why.contains("for 30s, a forked child"), "{why}");
    member.finish();
    assert_eq!(command(&mut leader, "seal"), "");
    assert_eq!(command(&mut leader, "sealed"), BYTES.to_string());
}

/// Here, the processes live on without the buffer, and their children hold the sockets open.
#[test]
fn process_that_gives_its_buffer_up_is_not_waited_for_while_its_forked_child_lives() {
    let dir = TempDir::new().unwrap();
    let (mut leader, mut member) = (attached(dir.path()), attached(dir.path()));
    command(&mut leader, "build");
    command(&mut leader, "fork");
    command(&mut leader, "leave");
    let mut late = start(dir.path(), 0, &[]);
    late.hear_line("ok created=false");
    assert_ne!(command(&mut late, "walk"), "0");
    command(&mut late, "fork");
    command(&mut late, "leave");
    member.send("seal");
    let why = member.hear_line("error ");
    assert!(why.contains("a forked child"), "{why}");
    leader.finish();
    late.finish();
    assert_eq!(command(&mut member, "seal"), "");
}

#[test]
fn forked_child_cannot_seal_or_register_and_disturbs_nobody() {
    let dir = TempDir::new().unwrap();
    let (mut leader, mut member) = (attached(dir.path()), attached(dir.path()));
    for child in [&mut leader, &mut member] {
        let seen = command(child, "fork-use");
        assert_eq!(seen.matches("forked child").count(), 3, "{seen}");
    }
    command(&mut leader, "build");
    command(&mut member, "seal");
    for child in [&mut leader, &mut member] {
        let seen = command(child, "fork-use");
        assert!(seen.starts_with(&format!("Ok({BYTES}) Err")), "{seen}");
        assert_eq!(seen.matches("forked child").count(), 2, "{seen}");
        assert_eq!(command(child, "sealed"), BYTES.to_string());
    }
    let late = start(dir.path(), 0, &[]);
    late.hear_line("ok created=false");
}

/// Ends a process with a core dump. Returns the size of the dump in MiB.
fn dump(child: &mut Child) -> u64 {
    assert!(
        core_file::written_to_current_folder(),
        "this test needs core dumps in the current folder: sysctl kernel.core_pattern=core"
    );
    let folder = TempDir::new().unwrap();
    child.send(&format!("dump {}", folder.path().display()));
    assert_eq!(child.wait().signal(), Some(Signal::SIGABRT as i32));
    let path = core_file::find(folder.path()).expect("no core dump was written");
    path.metadata().unwrap().len() >> 20
}

#[test]
fn core_dump_of_a_process_allocates_no_memory_of_sections() {
    let dir = TempDir::new().unwrap();
    let (mut first, mut second) = (attached(dir.path()), attached(dir.path()));
    dump(&mut second);
    assert_eq!(command(&mut first, "allocated"), "0");
    command(&mut first, "seal");
    dump(&mut attached(dir.path()));
    assert_eq!(command(&mut first, "allocated"), "0");
    // This section is in core dumps, by choice.
    let dir = TempDir::new().unwrap();
    let all = [0, 1].map(|_| start(dir.path(), 2, &[("HOSTBUFFER_DUMPED", "1")]));
    let [mut first, mut second] = all;
    first.hear_line("ok created=");
    assert!(dump(&mut second) >= BYTES as u64 >> 20);
    assert_eq!(command(&mut first, "allocated"), PAGES.to_string());
}
