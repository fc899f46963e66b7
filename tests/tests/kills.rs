//! Observers that are killed, stopped, too many or hostile. The producer and the honest observers
//! go on.

use nix::sys::signal::Signal;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_core::format::wire::{self, Request};
use tcasm_tests::child::{DEADLINE, poll_until};
use tcasm_tests::hostile::{Attachment, HostileClient};
use tcasm_tests::pattern::mix;
use tcasm_tests::procfs;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Returns a folder for sockets, and a producer of the region `x` in it.
fn region(settings: &str) -> (TempDir, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x {settings}"));
    (dir, producer)
}

fn observer(dir: &TempDir) -> Puppet {
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    observer
}

#[test]
fn killed_observer_releases_its_pins() {
    let (dir, mut producer) = region("pages=64 versions=3");
    let mut greedy = observer(&dir);
    for _ in 0..3 {
        producer.ok("publish 1");
        greedy.ok("latest");
    }
    assert_eq!(
        producer.number("publish 5", "skipped"),
        5,
        "all three versions are pinned"
    );
    greedy.child.kill();
    poll_until("a version is published", || {
        (producer.number("publish 1", "published") == 1).then_some(())
    });
    assert_eq!(producer.number("publish 100", "skipped"), 0);
    assert_eq!(producer.number("stats", "observers"), 0);
}

#[test]
fn stopped_observer_keeps_its_pinned_version_and_blocks_nothing_else() {
    let (dir, mut producer) = region("pages=64 versions=3");
    let (mut stopped, mut other) = (observer(&dir), observer(&dir));
    producer.ok("publish 1");
    stopped.ok("latest");
    stopped.ok("view");
    stopped.child.signal(Signal::SIGSTOP);
    for version in 2..200 {
        assert_eq!(producer.number("publish 1", "published"), 1);
        assert_eq!(other.ok("latest"), format!("version={version}"));
        other.ok("release");
    }
    stopped.child.signal(Signal::SIGCONT);
    stopped.ok("check");
    assert_eq!(stopped.ok("latest"), "version=199");
}

#[test]
fn stopped_subscriber_does_not_delay_notifications_to_others() {
    let (dir, mut producer) = region("pages=16 versions=3");
    let (mut stopped, mut awake) = (observer(&dir), observer(&dir));
    stopped.ok("subscribe");
    assert_eq!(awake.ok("poll 60000"), "readable", "once at first");
    awake.error("latest"); // reads the notification
    assert_eq!(awake.ok("poll 0"), "quiet");
    stopped.child.signal(Signal::SIGSTOP);
    // Far more notifications than fit into the stopped observer's socket.
    for round in 1..=500 {
        producer.ok("publish 4");
        assert_eq!(awake.ok("poll 60000"), "readable", "round {round}");
        awake.ok("latest"); // reads the notifications
        awake.ok("release");
    }
    stopped.child.signal(Signal::SIGCONT);
    assert_eq!(stopped.ok("poll 60000"), "readable");
    assert_eq!(stopped.ok("latest"), "version=2000");
    poll_until("no more notifications", || {
        awake.ok("latest");
        (awake.ok("poll 20") == "quiet").then_some(())
    });
}

#[test]
fn observer_over_the_limit_is_refused_until_another_detaches() {
    let (dir, mut producer) = region("pages=16 versions=3 observers=64");
    producer.ok("publish 1");
    let mut crowd = Puppet::start(PUPPET, dir.path());
    (0..64).for_each(|_| drop(crowd.ok("attach x")));
    assert_eq!(producer.number("stats", "observers"), 64);
    let mut late = Puppet::start(PUPPET, dir.path());
    // Many attempts, so that the answer must arrive whichever side is faster.
    for _ in 0..200 {
        let error = late.error("attach x");
        assert!(error.starts_with("Full"), "{error}");
    }
    crowd.ok("latest");
    crowd.ok("detach");
    poll_until("a place is free", || {
        late.ask("attach x")?.starts_with("ok").then_some(())
    });
    assert_eq!(late.ok("latest"), "version=1");
}

/// Runs `attack` while the region publishes and an honest observer reads. Neither may be disturbed,
/// and nothing of the attack may stay with the producer.
fn survives(attack: impl Fn(&TempDir) + Sync) {
    let memory = 4 * 256 * 4096;
    let (dir, mut producer) = region(&format!("pages=256 versions=6 memory={memory}"));
    let mut honest = observer(&dir);
    producer.ok("publish 1");
    honest.ok("latest");
    let pid = producer.child.pid();
    let before = procfs::descriptors(pid).len();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            attack(&dir);
            over.store(true, Ordering::SeqCst);
        });
        let mut rounds = 0;
        while !over.load(Ordering::SeqCst) || rounds < 20 {
            assert!(producer.number("publish 5", "held") <= memory);
            assert!(procfs::plane_bytes(pid) <= memory);
            honest.ok("latest");
            honest.ok("view");
            honest.ok("check");
            honest.ok("release");
            rounds += 1;
        }
    });
    poll_until("every connection but the honest one is gone", || {
        (procfs::descriptors(pid).len() == before).then_some(())
    });
    assert_eq!(producer.number("stats", "observers"), 1);
    assert_eq!(producer.number("publish 10", "skipped"), 0);
    honest.ok("latest");
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| mix(seed, i, 0) as u8).collect()
}

#[test]
fn invalid_messages_of_every_size_end_only_their_connection() {
    survives(|dir| {
        for len in (1..64).chain([500, 4096, 100_000]) {
            for greeted in [false, true] {
                let client = HostileClient::connect(dir.path(), "x");
                let attached = greeted.then(|| client.attach());
                // Noise is neither a hello nor a request.
                assert!(client.send(&noise(len as u64, len), &[]));
                assert!(client.is_hung_up_on(), "{len} bytes, greeted: {greeted}");
                drop(attached);
            }
        }
    });
}

#[test]
fn unrequested_descriptors_are_closed() {
    survives(|dir| {
        let file = File::open("/dev/null").unwrap();
        for (round, count) in [1, 64, 66, 67, 100, 253]
            .into_iter()
            .cycle()
            .take(60)
            .enumerate()
        {
            let many = vec![file.as_raw_fd(); count];
            let client = HostileClient::connect(dir.path(), "x");
            if round % 2 == 0 {
                client.attach();
            }
            assert!(
                client.say_anyhow(&noise(3, 8), &many),
                "{count} descriptors"
            );
            assert!(client.is_hung_up_on(), "{count} descriptors");
        }
    });
}

#[test]
fn flood_of_requests_without_reading_replies_does_no_harm() {
    survives(|dir| {
        let clients: Vec<HostileClient> = (0..8)
            .map(|_| HostileClient::connect(dir.path(), "x"))
            .collect();
        let attached: Vec<Attachment> = clients.iter().map(HostileClient::attach).collect();
        let request = Request::Observers.encode();
        for client in clients.iter().cycle().take(200_000) {
            client.send(&request, &[]);
        }
        drop(clients);
        drop(attached);
    });
}

#[test]
fn short_connections_leak_nothing() {
    survives(|dir| {
        for round in 0..2000 {
            let client = HostileClient::connect(dir.path(), "x");
            match round % 4 {
                0 => drop(client),
                1 => drop(client.send(&wire::hello(), &[])),
                2 => drop(client.send(&wire::hello()[..12], &[])),
                _ => nix::sys::socket::shutdown(
                    client.socket.as_raw_fd(),
                    nix::sys::socket::Shutdown::Write,
                )
                .unwrap(),
            }
        }
    });
}

#[test]
fn lease_full_of_random_pins_wastes_no_more_than_the_bound() {
    survives(|dir| {
        let client = HostileClient::connect(dir.path(), "x");
        let attached = client.attach();
        for descriptor in &attached.objects {
            assert!(
                nix::unistd::ftruncate(descriptor, 0).is_err(),
                "sizes are sealed"
            );
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
        let mut n = 0;
        while std::time::Instant::now() < end {
            for pin in attached.lease.pins() {
                n += 1;
                // Versions that exist or will exist, versions that never existed, and 0 (no pin).
                let word = mix(n, 1, 2);
                let pinned = if n.is_multiple_of(3) {
                    word
                } else {
                    word % 400
                };
                pin.store(pinned, Ordering::Relaxed);
            }
        }
    });
}

#[test]
fn versions_pinned_by_a_hostile_lease_are_free_when_its_connection_ends() {
    let (dir, mut producer) = region("pages=64 versions=4");
    producer.ok("publish 3");
    let client = HostileClient::connect(dir.path(), "x");
    let attached = client.attach();
    for (pin, version) in attached.lease.pins().iter().zip(1..) {
        pin.store(version, Ordering::SeqCst);
    }
    let answer = producer.ok("publish 20");
    assert!(
        number(&answer, "skipped") > Some(15),
        "{answer}: every version is pinned"
    );
    drop(client); // the lease stays mapped here, but its pins count no more
    poll_until("a version is published", || {
        (producer.number("publish 1", "published") == 1).then_some(())
    });
    assert_eq!(producer.number("publish 20", "skipped"), 0);
    drop(attached);
}

#[test]
fn silent_connections_do_not_keep_observers_out_forever() {
    let (dir, mut producer) = region("pages=16 versions=3 observers=16");
    producer.ok("publish 1");
    let mut subscriber = observer(&dir);
    subscriber.ok("subscribe");
    let silent: Vec<HostileClient> = (0..40)
        .map(|_| HostileClient::connect(dir.path(), "x"))
        .collect();
    let mut honest = Puppet::start(PUPPET, dir.path());
    // The service thread always has something to do.
    let start = std::time::Instant::now();
    while !honest.ask("attach x").unwrap().starts_with("ok") {
        producer.ok("publish 10");
        assert!(
            start.elapsed() < DEADLINE / 2,
            "silent connections block the region"
        );
    }
    drop(silent);
    assert!(honest.ok("latest").starts_with("version="));
}
