//! Attaching while the producer is stopped, while the folder is full, and very often.

use nix::sys::signal::Signal;
use std::time::{Duration, Instant};
use tcasm_core::sys::socket;
use tcasm_observer::Observer;
use tcasm_tests::child::{DEADLINE, Received, poll_until};
use tcasm_tests::hostile::HostileClient;
use tcasm_tests::puppet::Puppet;
use tcasm_tests::{name, procfs, runtime_dir};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

fn region() -> (TempDir, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x pages=16 observers=200");
    producer.ok("publish 1");
    (dir, producer)
}

fn hears(puppet: &Puppet, beginning: &str) {
    match puppet.child.receive(DEADLINE) {
        Received::Line(line) if line.starts_with(beginning) => {}
        said => panic!("{said:?}"),
    }
}

#[test]
fn observers_of_a_stopped_producer_attach_when_it_goes_on() {
    let (dir, mut producer) = region();
    let before = procfs::descriptors(producer.child.pid()).len();
    for _ in 0..3 {
        producer.child.stop();
        let mut waiting: Vec<Puppet> = (0..6).map(|_| Puppet::start(PUPPET, dir.path())).collect();
        waiting.iter_mut().for_each(|o| o.child.send("attach x"));
        // Other connections come and go meanwhile and wait in the socket.
        (0..40).for_each(|_| drop(HostileClient::connect(dir.path(), "x")));
        for observer in &waiting {
            assert_eq!(
                observer.child.receive(Duration::from_millis(50)),
                Received::Nothing
            );
        }
        producer.child.signal(Signal::SIGCONT);
        waiting.iter().for_each(|o| hears(o, "ok"));
        let observers = producer.number("stats", "observers");
        assert_eq!(observers, waiting.len() as u64);
        producer.ok("publish 1");
        waiting.iter_mut().for_each(|o| drop(o.ok("latest")));
        drop(waiting);
        poll_until("nothing of them is left", || {
            (procfs::descriptors(producer.child.pid()).len() == before).then_some(())
        });
        assert_eq!(producer.number("stats", "observers"), 0);
    }
}

#[test]
fn observers_that_give_up_on_a_stopped_producer_leave_nothing() {
    let (dir, producer) = region();
    let before = procfs::descriptors(producer.child.pid()).len();
    let mut attached = Puppet::start(PUPPET, dir.path());
    attached.ok("attach x");
    producer.child.stop();
    let mut late = Puppet::start(PUPPET, dir.path());
    let mut patient = Puppet::start(PUPPET, dir.path());
    patient.child.send("attach-wait x 60000");
    let error = late.error("attach x");
    assert!(error.starts_with("NoAnswer"), "{error}");
    let half = Duration::from_millis(500); // the other one began as late as that
    assert_eq!(patient.child.receive(half), Received::Nothing);
    assert_eq!(attached.ok("status"), "Ok", "stopped is not dead");
    producer.child.signal(Signal::SIGCONT);
    hears(&patient, "ok");
    late.ok("attach x");
    assert_eq!(late.ok("latest"), "version=1");
    drop((late, patient, attached));
    poll_until("nothing of them is left", || {
        (procfs::descriptors(producer.child.pid()).len() == before).then_some(())
    });
}

/// Lets a request of an observer time out, and returns when its answer waits in the socket.
fn with_a_late_answer(name: &str, first: impl FnOnce(&mut Observer)) -> (Puppet, Observer) {
    let mut producer = Puppet::start(PUPPET, runtime_dir());
    producer.ok(&format!("create {name} pages=16"));
    let mut observer = Observer::attach(name).unwrap();
    first(&mut observer);
    producer.child.stop();
    let asked = observer.observers_within(Duration::from_millis(20));
    assert_eq!(asked.unwrap(), None);
    producer.child.signal(Signal::SIGCONT);
    // The service has seen the request before it serves a second one of another connection.
    let mut other = Observer::attach(name).unwrap();
    (0..2).for_each(|_| drop(other.observers().unwrap()));
    (producer, observer)
}

#[test]
fn late_answer_is_not_taken_for_that_to_the_next_request() {
    let name = name("late");
    let (_producer, mut observer) = with_a_late_answer(&name, |_| ());
    let _third = [
        Observer::attach(&name).unwrap(),
        Observer::attach(&name).unwrap(),
    ];
    assert_eq!(observer.observers().unwrap().len(), 3);
}

#[test]
fn descriptor_is_quiet_after_a_late_answer_until_there_is_a_version() {
    let name = name("late-quiet");
    let subscribe = |observer: &mut Observer| {
        let descriptor = observer.descriptor().unwrap();
        assert!(socket::wait_readable(&descriptor, DEADLINE));
        observer.acknowledge();
    };
    let (mut producer, mut observer) = with_a_late_answer(&name, subscribe);
    let descriptor = observer.descriptor().unwrap();
    let descriptor = descriptor.try_clone_to_owned().unwrap();
    observer.acknowledge();
    assert!(socket::is_quiet(&descriptor));
    producer.ok("publish 1");
    assert!(socket::wait_readable(&descriptor, DEADLINE));
    observer.acknowledge();
    assert!(observer.latest().is_ok());
}

#[test]
fn descriptor_that_a_stopped_producer_gave_becomes_readable_when_it_goes_on() {
    let name = name("late-subscribed");
    let mut producer = Puppet::start(PUPPET, runtime_dir());
    producer.ok(&format!("create {name} pages=16"));
    let mut observer = Observer::attach(&name).unwrap();
    producer.child.stop();
    let descriptor = observer.descriptor().unwrap();
    let descriptor = descriptor.try_clone_to_owned().unwrap();
    assert!(socket::is_quiet(&descriptor));
    // Nothing is published, but an event loop must look: something may have been, before the
    // producer knew of the subscription.
    producer.child.signal(Signal::SIGCONT);
    assert!(socket::wait_readable(&descriptor, DEADLINE));
}

#[test]
fn full_folder_refuses_new_regions_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let mut puppet = Puppet::start(PUPPET, dir.path());
    puppet.ok("own-folder 8");
    puppet.ok("create x pages=16");
    puppet.ok("publish 1");
    puppet.ok("fill-folder");
    let error = puppet.error("create y pages=16");
    assert!(error.starts_with("Lock"), "{error}");
    // Room for the lock file alone.
    puppet.ok("free-folder 1");
    for _ in 0..2 {
        let error = puppet.error("create y pages=16");
        assert!(error.starts_with("Listen"), "{error}");
    }
    assert_eq!(puppet.ok("list-folder"), "x.sock x.sock.lock");
    for version in 2..5 {
        assert_eq!(puppet.number("publish 1", "published"), 1);
        puppet.ok("attach x");
        assert_eq!(puppet.ok("latest"), format!("version={version}"));
        puppet.ok("detach");
        assert_eq!(puppet.ok("fork attach x"), "ok ");
    }
    puppet.ok("free-folder 1");
    puppet.ok("create y pages=16");
    puppet.ok("drop");
    puppet.ok("drop");
    assert_eq!(puppet.ok("list-folder"), "");
}

/// Counts of what a process holds. None of them may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    mappings: usize,
    threads: u64,
}

fn held(pid: i32) -> Held {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    Held {
        descriptors: procfs::descriptors(pid).len(),
        mappings: maps.lines().count(),
        threads: procfs::status(pid, "Threads").unwrap(),
    }
}

/// Attaches and detaches `count` times, at most 1,000 times a second.
fn cycles(name: &str, count: u32) {
    let start = Instant::now();
    for i in 0..count {
        let mut observer = Observer::attach(name).unwrap();
        assert_eq!(observer.latest().unwrap().number(), 1);
        let due = start + Duration::from_millis(i.into());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Checks that neither side holds more after many cycles than after a few.
fn nothing_grows(count: u32) {
    /// The bytes that allocators may keep. In the long test a leak of 100 bytes per cycle exceeds
    /// them.
    const SLACK: u64 = 4 << 20;
    let name = name("cycles");
    let mut producer = Puppet::start(PUPPET, runtime_dir());
    producer.ok(&format!("create {name} pages=16"));
    producer.ok("publish 1");
    let sides = [producer.child.pid(), std::process::id() as i32];
    let memory = || sides.map(|pid| procfs::status(pid, "VmRSS").unwrap());
    cycles(&name, 500);
    let gone = |producer: &mut Puppet| {
        poll_until("all are gone", || {
            (producer.number("stats", "observers") == 0).then_some(())
        })
    };
    gone(&mut producer);
    let (before, memory_before) = (sides.map(held), memory());
    cycles(&name, count);
    gone(&mut producer);
    poll_until("both have what they had", || {
        (sides.map(held) == before).then_some(())
    });
    for (now, before) in memory().into_iter().zip(memory_before) {
        assert!(now <= before + SLACK, "{before} bytes became {now}");
    }
    assert_eq!(producer.number("publish 1", "published"), 1);
}

/// Runs `inside` in a process of its own, in which no other test opens and maps things meanwhile.
fn alone(test: &str, inside: impl FnOnce()) {
    const MARK: &str = "TCASM_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return inside();
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--include-ignored"]);
    command.env_remove("TCASM_RUNTIME_DIR").env(MARK, "1");
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{out:?}");
}

#[test]
fn attaching_and_detaching_leaks_nothing() {
    alone("attaching_and_detaching_leaks_nothing", || {
        nothing_grows(3000)
    });
}

#[test]
#[ignore = "takes a minute; run by make soak"]
fn attaching_and_detaching_for_a_minute_leaks_nothing() {
    let test = "attaching_and_detaching_for_a_minute_leaks_nothing";
    alone(test, || nothing_grows(60_000));
}
