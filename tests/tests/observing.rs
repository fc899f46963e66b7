//! Operations of observers and producers that are used less often.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tcasm_core::format::layout::LAYOUT_VERSION;
use tcasm_core::format::wire::{self, Answer};
use tcasm_core::place::socket_path;
use tcasm_core::sys::socket;
use tcasm_observer::{AttachError, ObserveError, Observer, Status, Version};
use tcasm_producer::{Buffer, Producer, Receipt};
use tcasm_tests::child::poll_until;
use tcasm_tests::{PublishVisible, name, on_all_trackers};

type Bytes = Buffer<u8, ndarray::Ix1>;

fn small(name: &str, history: usize) -> (Producer, Bytes) {
    let builder = Producer::builder(name).capacity(1 << 20).history(history);
    let mut p = builder.create().unwrap();
    let field = p.field::<u8, _>("bytes", [100_000]).add().unwrap();
    (p, field.buffer())
}

fn step(p: &mut Producer, field: Bytes, n: u64) -> Receipt {
    p.view_mut(field).unwrap()[n as usize] = n as u8;
    p.publish_visible(n, n as f64 / 2.0).unwrap()
}

#[test]
fn next_gives_every_version_that_is_kept_in_order_and_latest_the_newest() {
    let name = name("order");
    let (mut p, f) = small(&name, 5);
    let mut o = Observer::attach(&name).unwrap();
    assert!(matches!(
        o.next(Duration::ZERO),
        Err(ObserveError::NotReady)
    ));
    (1..=4).for_each(|n| drop(step(&mut p, f, n)));
    let seen: Vec<u64> = (0..4)
        .map(|_| o.next(Duration::ZERO).unwrap().number())
        .collect();
    assert_eq!(seen, [1, 2, 3, 4]);
    (5..=20).for_each(|n| drop(step(&mut p, f, n)));
    assert_eq!(o.next(Duration::ZERO).unwrap().number(), 15, "six are kept");
    assert_eq!(o.latest().unwrap().number(), 20);
    assert_eq!(o.version(17).unwrap().time(), 8.5);
    let gone = o.version(3).unwrap_err();
    assert!(
        matches!(&gone, ObserveError::Gone { version: 3, available } if available.contains(&20)),
        "{gone}"
    );
    assert!(matches!(
        o.wait_newer(Duration::from_millis(5)),
        Err(ObserveError::NotReady)
    ));
}

#[test]
fn the_iterator_ends_with_the_stream() {
    let name = name("iterate");
    let (mut p, f) = small(&name, 3);
    let mut o = Observer::attach(&name).unwrap();
    let producing = std::thread::spawn(move || {
        for n in 1..=50 {
            step(&mut p, f, n);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let steps: Vec<u64> = o.versions().map(|v| v.unwrap().step()).collect();
    producing.join().unwrap();
    assert!(
        steps.is_sorted() && *steps.last().unwrap() == 50,
        "{steps:?}"
    );
}

#[test]
fn the_descriptor_becomes_readable_and_quiet_again() {
    let name = name("poll");
    let (mut p, f) = small(&name, 1);
    let mut o = Observer::attach(&name).unwrap();
    let readable = |o: &mut Observer, ms| {
        let fd = o.descriptor().unwrap().try_clone_to_owned().unwrap();
        socket::wait_readable(&fd, Duration::from_millis(ms))
    };
    assert!(readable(&mut o, 5000), "it is readable once at first");
    o.acknowledge();
    assert!(!readable(&mut o, 50));
    step(&mut p, f, 1);
    assert!(readable(&mut o, 5000));
    o.latest().unwrap();
    assert!(!readable(&mut o, 50));
    drop(p);
    assert!(readable(&mut o, 5000), "the end must make it readable too");
}

/// Returns a producer of at most two versions, both of which an observer holds.
fn with_no_room(name: &str) -> (Producer, Bytes, Observer, [Version; 2]) {
    let mut p = Producer::builder(name)
        .capacity(4096)
        .versions(2)
        .history(0)
        .create()
        .unwrap();
    let f = p.field::<u8, _>("b", [100]).add().unwrap().buffer();
    let mut o = Observer::attach(name).unwrap();
    step(&mut p, f, 1);
    let one = o.latest().unwrap();
    step(&mut p, f, 2);
    let two = o.latest().unwrap();
    (p, f, o, [one, two])
}

#[test]
fn observer_that_has_ended_its_sending_is_detached() {
    let name = name("half-closed");
    let (mut p, f, mut o, [held, newest]) = with_no_room(&name);
    assert_eq!(step(&mut p, f, 3).version(), None, "both versions are held");
    let socket = o.descriptor().unwrap().as_raw_fd();
    nix::sys::socket::shutdown(socket, nix::sys::socket::Shutdown::Write).unwrap();
    poll_until("its pins do not count any more", || {
        (p.stats().observers == 0).then_some(())
    });
    assert_eq!(step(&mut p, f, 4).version(), Some(3));
    assert_eq!(o.status().unwrap(), Status::Revoked);
    drop((held, newest));
}

#[test]
fn publish_wait_waits_for_room_and_no_longer() {
    let name = name("wait");
    let (mut p, _, _, [one, two]) = with_no_room(&name);
    let receipt = p.publish_wait(3, 0.0, Duration::from_millis(20)).unwrap();
    assert_eq!(receipt.version(), None);
    let released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            released.store(true, Ordering::SeqCst);
            drop(one);
        });
        let receipt = p.publish_wait(4, 0.0, Duration::from_secs(30)).unwrap();
        assert_eq!(receipt.version(), Some(3));
        assert!(released.load(Ordering::SeqCst));
    });
    assert_eq!(two.step(), 2);
}

#[test]
fn declared_device_writes_are_captured() {
    // Every tracker sees a store through /proc/self/mem. So this test checks what declaring adds:
    // pages that were not written are captured.
    on_all_trackers(|tracker| {
        let name = name("dma");
        let mut p = Producer::builder(&name)
            .capacity(1 << 20)
            .tracker(tracker)
            .create()
            .unwrap();
        let a = p.field::<u8, _>("a", [10 * 4096]).add().unwrap();
        let b = p.field::<u8, _>("b", [10 * 4096]).add().unwrap();
        p.view_mut(a).unwrap().fill(1);
        p.view_mut(b).unwrap().fill(1);
        p.publish_visible(0, 0.0).unwrap();
        let pages = |receipt: Receipt| match receipt {
            Receipt::Published(p) => p.pages,
            Receipt::Skipped { .. } => panic!("{receipt:?}"),
        };
        assert_eq!(pages(p.publish_visible(1, 0.0).unwrap()), 0, "{tracker}");
        p.mark_dirty_bytes(a, 4096..3 * 4096 + 1);
        assert_eq!(pages(p.publish_visible(2, 0.0).unwrap()), 3, "{tracker}");
        p.register_dma(b);
        for step in 3..6 {
            assert!(
                pages(p.publish_visible(step, 0.0).unwrap()) >= 10,
                "{tracker}"
            );
        }
    });
}

#[test]
fn revoked_observer_keeps_its_versions_until_it_leaves_and_can_attach_again() {
    let name = name("revoke");
    let (mut p, f, mut o, [held, newest]) = with_no_room(&name);
    let view = held.view().unwrap();
    let before = view.bytes("b").unwrap().to_vec();
    assert_eq!(p.revoke(std::process::id() as i32), 1);
    assert_eq!(
        p.revoke(std::process::id() as i32),
        0,
        "it is revoked already"
    );
    assert_eq!(o.status().unwrap(), Status::Revoked);
    assert!(matches!(o.latest(), Err(ObserveError::Revoked)));
    for n in 3..20 {
        assert_eq!(step(&mut p, f, n).version(), None, "both versions are held");
    }
    assert_eq!(view.bytes("b").unwrap(), before);
    let mut read = vec![0; before.len()];
    held.read_bytes("b", 0, &mut read).unwrap();
    assert_eq!(read, before);
    drop((view, held, newest, o));
    let receipt = p.publish_wait(20, 0.0, Duration::from_secs(20)).unwrap();
    assert_eq!(receipt.version(), Some(3));
    let mut again = Observer::attach(&name).unwrap();
    assert_eq!(again.latest().unwrap().number(), 3);
}

#[test]
fn observer_that_makes_too_many_requests_is_revoked_and_keeps_its_versions() {
    let name = name("requests");
    let (mut p, f, mut o, [held, _newest]) = with_no_room(&name);
    let view = held.view().unwrap();
    let before = view.bytes("b").unwrap().to_vec();
    let start = Instant::now();
    while o.status().unwrap() != Status::Revoked {
        // Without waiting for answers, so that a loaded machine is fast enough too.
        let _ = o.observers_within(Duration::ZERO);
        assert!(start.elapsed() < Duration::from_secs(60), "never revoked");
    }
    for n in 3..20 {
        assert_eq!(step(&mut p, f, n).version(), None, "both versions are held");
    }
    assert_eq!(view.bytes("b").unwrap(), before);
    assert_eq!(p.stats().observers, 1);
}

#[test]
fn next_reads_notices_so_that_an_event_loop_sleeps_between_versions() {
    let name = name("notices");
    let (mut p, f) = small(&name, 5);
    let mut o = Observer::attach(&name).unwrap();
    let descriptor = o.descriptor().unwrap().try_clone_to_owned().unwrap();
    for n in 1..4 {
        step(&mut p, f, n);
        assert!(socket::wait_readable(&descriptor, Duration::from_secs(20)));
        // A notice may come later than the version, so the loop may wake up once more for it.
        assert_eq!(o.next(Duration::ZERO).unwrap().number(), n);
        let start = Instant::now();
        while socket::wait_readable(&descriptor, Duration::from_millis(20)) {
            assert!(matches!(
                o.next(Duration::ZERO),
                Err(ObserveError::NotReady)
            ));
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "it stays readable"
            );
        }
    }
}

#[test]
fn programs_of_different_layouts_refuse_each_other() {
    // A producer meets an observer of another layout.
    let name_ = name("layout");
    let (_p, _) = small(&name_, 1);
    let stream = socket::connect_to(&socket_path(&name_)).unwrap();
    let hello = [u64::from_le_bytes(*b"TCASMIDX"), LAYOUT_VERSION + 1];
    let hello: Vec<u8> = hello.iter().flat_map(|w| w.to_le_bytes()).collect();
    socket::send(&stream, &hello, &[]).unwrap();
    assert!(socket::wait_readable(&stream, Duration::from_secs(5)));
    let mut answer = [0; 64];
    let (n, _) = socket::receive(&stream, &mut answer).unwrap();
    assert_eq!(
        wire::decode_answer(&answer[..n]),
        Some((LAYOUT_VERSION, Some(Answer::OtherLayout)))
    );

    // An observer meets a producer of another layout, or a program that is not a producer.
    let newer: Vec<u8> = [
        hello[..8].to_vec(),
        99u64.to_le_bytes().to_vec(),
        1u64.to_le_bytes().to_vec(),
    ]
    .concat();
    assert!(matches!(
        attach_to(newer, &[]),
        AttachError::OtherLayout {
            theirs: 99,
            ours: LAYOUT_VERSION,
            ..
        }
    ));
    assert!(matches!(
        attach_to(b"HTTP/1.1 400 Bad Request".to_vec(), &[]),
        AttachError::BadAnswer { .. }
    ));
    assert!(matches!(
        attach_to(wire::answer(Answer::Welcome), &[]),
        AttachError::BadAnswer { .. }
    ));
    assert!(matches!(
        attach_to(wire::answer(Answer::Full), &[]),
        AttachError::Full { .. }
    ));
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let fds = [file.as_raw_fd(), file.as_raw_fd(), file.as_raw_fd()];
    let error = attach_to(wire::answer(Answer::Welcome), &fds).to_string();
    assert!(error.contains("lease"), "{error}");
}

/// Attaches to a socket that listens where a producer would and sends `answer`.
fn attach_to(answer: Vec<u8>, fds: &[i32]) -> AttachError {
    let name = name("impostor");
    std::fs::create_dir_all(tcasm_observer::runtime_dir()).unwrap();
    let listener: OwnedFd = socket::listen_at(&socket_path(&name)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(socket::wait_readable(&listener, Duration::from_secs(5)));
            let stream = socket::accept(&listener).unwrap();
            socket::send(&stream, &answer, fds).unwrap();
            // Stay until the observer has closed the connection.
            let mut buffer = [0; 64];
            while !matches!(
                socket::receive(&stream, &mut buffer),
                Ok((0, _)) | Err(nix::errno::Errno::ECONNRESET)
            ) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Observer::attach(&name).unwrap_err()
    })
}
