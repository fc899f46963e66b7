//! Host buffers with real processes: one address or a clean refusal, deaths at each step, memory
//! that is counted once, and sections that nobody can write any more.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use tcasm_core::place::addresses;
use tcasm_core::testing::fault::HOST_BUFFER_POINTS;
use tcasm_tests::child::{Child, poll_until};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");
const JOB: &str = "job";
/// The bytes of address space of the program's buffer.
const TOTAL: u64 = 10 << 20;
/// The sum of the values in the program's list.
const SUM: u64 = 2047 * 2048 / 2;

fn candidates() -> Vec<u64> {
    addresses(&format!("hostbuffer/{JOB}"), TOTAL).collect()
}

/// Starts a process that expects `count` processes, with a page mapped at each blocked address.
fn start(dir: &Path, count: usize, blocked: &[u64], fault: &str) -> Child {
    let count = count.to_string();
    let blocked: Vec<String> = blocked.iter().map(|at| format!("{at:x}")).collect();
    let mut arguments = vec![JOB, count.as_str()];
    arguments.extend(blocked.iter().map(String::as_str));
    Child::start(PROGRAM, &arguments, dir, &[("TCASM_FAULT", fault)])
}

fn command(child: &mut Child, line: &str) -> String {
    child.send(line);
    child.hear_line("ok ")
}

/// Returns whether the process created the buffer, and its address.
fn hear(child: &Child) -> (bool, u64) {
    let line = child.hear_line("ok created=");
    let (created, address) = line.split_once(" address=").expect("both are printed");
    let address = u64::from_str_radix(address, 16).expect("it is a number");
    (created == "true", address)
}

fn files(dir: &Path) -> Vec<String> {
    let all = dir.read_dir().unwrap().flatten();
    all.map(|file| file.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Starts a process, and waits until it leads.
fn start_leader(dir: &Path, count: usize, fault: &str) -> Child {
    let mut leader = start(dir, count, &[], fault);
    poll_until("it leads or is dead", || {
        let leads = files(dir).iter().any(|file| file == "job.hostbuffer");
        (leads || leader.ended().is_some()).then_some(())
    });
    leader
}

#[test]
fn sixty_four_processes_walk_one_list_at_the_first_address_free_in_all() {
    let dir = TempDir::new().unwrap();
    let free = candidates();
    // Processes 0 to 7 have one of the first addresses in use each, so that only the next is free.
    let blocked = |i: usize| if i < 8 { &free[i..=i] } else { &free[..0] };
    let all = (0..64).map(|i| start(dir.path(), 64, blocked(i), ""));
    let mut all: Vec<Child> = all.collect();
    let heard: Vec<(bool, u64)> = all.iter().map(hear).collect();
    assert!(heard.iter().all(|(_, at)| *at == free[8]), "{heard:x?}");
    let creator = heard.iter().position(|(created, _)| *created).unwrap();
    assert_eq!(heard.iter().filter(|(created, _)| *created).count(), 1);
    command(&mut all[creator], "build");
    for child in &mut all {
        assert_eq!(command(child, "walk"), SUM.to_string());
    }
    // Each process counts its share of each page, so the shares add up to the memory.
    let shares = all.iter_mut().map(|child| command(child, "pss"));
    let kib: u64 = shares.map(|share| share.parse::<u64>().unwrap()).sum();
    assert!((7 << 10..9 << 10).contains(&kib), "{kib} KiB");
}

#[test]
fn refusal_names_process_and_mapping_and_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let mut all = vec![start(dir.path(), 3, &candidates(), "")];
    all.extend((0..2).map(|_| start(dir.path(), 3, &[], "")));
    let blocker = all[0].pid();
    for child in &mut all {
        let why = child.hear_line("error ");
        let first = format!("{:#x}: process {blocker} (hostbuffer) on ", candidates()[0]);
        assert!(why.contains(&first) && why.contains("---p"), "{why}");
        assert!(child.wait().success());
    }
    assert_eq!(files(dir.path()), Vec::<String>::new());
    // Without that process, the same job starts at its first address.
    let alone = start(dir.path(), 1, &[], "");
    assert_eq!(hear(&alone), (true, candidates()[0]));
}

#[test]
fn creator_killed_at_each_step_leaves_one_buffer_to_the_others() {
    let sealing = ["sealing", "closing"];
    for point in HOST_BUFFER_POINTS
        .into_iter()
        .filter(|p| !sealing.contains(p))
    {
        let dir = TempDir::new().unwrap();
        let mut creator = start_leader(dir.path(), 4, point);
        let mut others: Vec<Child> = (0..3).map(|_| start(dir.path(), 4, &[], "")).collect();
        assert_eq!(
            creator.wait().signal(),
            Some(Signal::SIGKILL as i32),
            "{point}"
        );
        // As a launcher would do.
        others.push(start(dir.path(), 4, &[], ""));
        let heard: Vec<(bool, u64)> = others.iter().map(hear).collect();
        assert!(
            heard.iter().all(|(_, at)| *at == candidates()[0]),
            "{point}: {heard:x?}"
        );
        assert_eq!(
            heard.iter().filter(|h| h.0).count(),
            1,
            "{point}: {heard:x?}"
        );
        let new = heard.iter().position(|(created, _)| *created).unwrap();
        command(&mut others[new], "build");
        for child in &mut others {
            assert_eq!(command(child, "walk"), SUM.to_string(), "{point}");
        }
    }
}

#[test]
fn member_that_dies_while_addresses_are_chosen_is_named_to_all() {
    let dir = TempDir::new().unwrap();
    let leader = start_leader(dir.path(), 3, "stop@proposed");
    let mut victim = start(dir.path(), 3, &[], "");
    let other = start(dir.path(), 3, &[], "");
    poll_until("the leader stops", || {
        tcasm_tests::procfs::is_stopped(leader.pid()).then_some(())
    });
    // It may have answered already. Then its death is found at the next step.
    victim.kill();
    leader.signal(Signal::SIGCONT);
    let died = format!("process {} ended while", victim.pid());
    for child in [&leader, &other] {
        let why = child.hear_line("error ");
        assert!(why.contains(&died), "{why}");
    }
}

#[test]
fn process_that_is_stopped_is_named_when_the_time_is_over() {
    let dir = TempDir::new().unwrap();
    let settings = [
        ("TCASM_FAULT", "stop@assembled"),
        ("HOSTBUFFER_SECONDS", "10"),
    ];
    let leader = Child::start(PROGRAM, &[JOB, "2"], dir.path(), &settings);
    poll_until("it leads", || (!files(dir.path()).is_empty()).then_some(()));
    let member = start(dir.path(), 2, &[], "");
    poll_until("the leader stops", || {
        tcasm_tests::procfs::is_stopped(leader.pid()).then_some(())
    });
    member.stop();
    leader.signal(Signal::SIGCONT);
    let why = leader.hear_line("error ");
    let named = format!("process {} did not answer in time", member.pid());
    assert!(why.contains(&named), "{why}");
    member.signal(Signal::SIGCONT);
    member.hear_line("error ");
}

#[test]
fn buffer_outlives_its_creator_and_is_gone_with_the_last_process() {
    let dir = TempDir::new().unwrap();
    let mut creator = start(dir.path(), 0, &[], "");
    let (created, at) = hear(&creator);
    assert!(created);
    command(&mut creator, "build");
    let mut second = start(dir.path(), 0, &[], "");
    assert_eq!(hear(&second), (false, at));
    creator.kill();
    // The second one leads now.
    let mut third = start(dir.path(), 0, &[], "");
    assert_eq!(hear(&third), (false, at));
    assert_eq!(command(&mut third, "walk"), SUM.to_string());
    for child in [&mut second, &mut third] {
        child.finish();
        assert!(child.wait().success());
    }
    assert_eq!(files(dir.path()), Vec::<String>::new());
    // A killed last process leaves files, which are in nobody's way. The memory is new.
    let mut next = start(dir.path(), 0, &[], "");
    assert_eq!(hear(&next), (true, at));
    next.kill();
    let mut last = start(dir.path(), 0, &[], "");
    assert_eq!(hear(&last), (true, at));
    assert_eq!(command(&mut last, "walk"), "0");
}

#[test]
fn late_process_that_cannot_attach_is_refused_alone() {
    let dir = TempDir::new().unwrap();
    let mut creator = start(dir.path(), 0, &[], "");
    let (_, at) = hear(&creator);
    let late = start(dir.path(), 0, &[at], "");
    let why = late.hear_line("error ");
    let named = format!("process {} (hostbuffer)", late.pid());
    assert!(why.contains(&named) && why.contains("---p"), "{why}");
    command(&mut creator, "build");
    let mut other = start(dir.path(), 0, &[], "");
    assert_eq!(hear(&other), (false, at));
    assert_eq!(command(&mut other, "walk"), SUM.to_string());
}

#[test]
fn sealed_section_is_read_only_in_all_processes_for_ever() {
    let dir = TempDir::new().unwrap();
    let mut all: Vec<Child> = (0..3).map(|_| start(dir.path(), 3, &[], "")).collect();
    let heard: Vec<(bool, u64)> = all.iter().map(hear).collect();
    let creator = heard.iter().position(|(created, _)| *created).unwrap();
    command(&mut all[creator], "build");
    command(&mut all[(creator + 1) % 3], "seal");
    let late = start(dir.path(), 3, &[], "");
    assert_eq!(hear(&late), (false, heard[0].1));
    all.push(late);
    for mut child in all {
        assert_eq!(command(&mut child, "sealed"), (8 << 20).to_string());
        assert_eq!(command(&mut child, "walk"), SUM.to_string());
        child.send("unlock");
        assert!(child.hear_line("error ").contains("denied"));
        child.send("poke");
        assert_eq!(child.wait().signal(), Some(Signal::SIGSEGV as i32));
    }
}

#[test]
fn seal_is_completed_by_the_next_leader() {
    let dir = TempDir::new().unwrap();
    let mut creator = start(dir.path(), 0, &[], "sealing");
    hear(&creator);
    let mut other = start(dir.path(), 0, &[], "");
    hear(&other);
    other.send("seal");
    assert_eq!(creator.wait().signal(), Some(Signal::SIGKILL as i32));
    other.hear_line("ok ");
    assert_eq!(command(&mut other, "sealed"), (8 << 20).to_string());
}

/// The process that asks dies when the others cannot write the section any more.
#[test]
fn seal_that_nobody_alive_has_asked_for_is_completed_by_the_next_leader() {
    let dir = TempDir::new().unwrap();
    let mut creator = start(dir.path(), 0, &[], "closing");
    hear(&creator);
    let mut others = [0, 1].map(|_| start(dir.path(), 0, &[], ""));
    for other in &others {
        assert!(!hear(other).0);
    }
    creator.send("seal");
    assert_eq!(creator.wait().signal(), Some(Signal::SIGKILL as i32));
    for other in &mut others {
        assert_eq!(command(other, "sealed"), (8 << 20).to_string());
    }
}
