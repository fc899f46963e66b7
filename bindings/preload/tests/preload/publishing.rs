//! Each msync publishes, and observers see the bytes of that moment.

use crate::common::*;
use tcasm_observer::Status;
use tcasm_tests::name;

const LEN: u64 = 5 * 4096 + 100;

#[test]
fn each_msync_publishes_the_bytes_of_that_moment() {
    let (name, mut puppet) = (name("each"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    assert!(
        observer.latest().is_err(),
        "nothing is published before the first call"
    );

    puppet.fill(at, LEN, 1);
    puppet.publish(at, LEN);
    let first = version(&mut observer, 1);
    let held = first.view().unwrap();
    puppet.fill(at, 4096, 2);
    assert!(held.bytes("bytes").unwrap().iter().all(|byte| *byte == 1));
    puppet.publish(at, LEN);

    let second = version(&mut observer, 2);
    assert_eq!((second.step(), second.time()), (2, 2.0));
    assert_eq!(second.field("bytes").unwrap().shape, [LEN as usize]);
    let now = bytes(&second, "bytes");
    assert!(now[..4096].iter().all(|byte| *byte == 2));
    assert!(now[4096..].iter().all(|byte| *byte == 1));
    assert!(held.bytes("bytes").unwrap().iter().all(|byte| *byte == 1));
    assert_eq!(puppet.errors(), "");
}

#[test]
fn every_kind_of_call_publishes_except_for_one_that_only_invalidates() {
    let (name, mut puppet) = (name("kinds"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    for (number, flags) in [SYNC, ASYNC, 0, ASYNC | INVALIDATE].into_iter().enumerate() {
        assert_eq!(puppet.sync(at, LEN, flags), (0, 77));
        version(&mut observer, number as u64 + 1);
    }
    assert_eq!(puppet.sync(at, LEN, INVALIDATE), (0, 77));
    version(&mut observer, 4);
    // A part of the mapping stands for all of it.
    puppet.fill(at, LEN, 9);
    assert_eq!(puppet.sync(at + 4096, 1, SYNC), (0, 77));
    assert!(
        bytes(&version(&mut observer, 5), "bytes")
            .iter()
            .all(|byte| *byte == 9)
    );
}

#[test]
fn calls_that_the_kernel_refuses_are_refused_and_publish_nothing() {
    let (name, mut puppet) = (name("refused"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    puppet.publish(at, LEN);
    let einval = (-1, i64::from(libc::EINVAL));
    assert_eq!(puppet.sync(at, LEN, SYNC | ASYNC), einval);
    assert_eq!(puppet.sync(at, LEN, 64), einval);
    assert_eq!(puppet.sync(at + 1, 100, SYNC), einval, "not at a page");
    assert_eq!(puppet.sync(at, 0, SYNC), (0, 77), "no bytes");
    version(&mut observer, 1);
}

#[test]
fn msync_outside_of_a_region_is_the_call_of_the_kernel() {
    let (name, mut puppet) = (name("outside"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let other = puppet.ask("anonymous 8192")[0];
    let mut observer = observe(&name);
    puppet.publish(at, LEN);
    let enomem = (-1, i64::from(libc::ENOMEM));
    assert_eq!(puppet.sync(other, 8192, SYNC), (0, 77));
    assert_eq!(
        puppet.sync(4096, 4096, SYNC),
        enomem,
        "nothing is mapped there"
    );
    version(&mut observer, 1);
    // A call for the region and what lies before it, which is not mapped, publishes and fails.
    assert_eq!(puppet.sync(at - 4096, 8192, SYNC), enomem);
    version(&mut observer, 2);
}

#[test]
fn threads_that_call_at_once_publish_one_version_each() {
    let (name, mut puppet) = (name("threads"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    assert_eq!(puppet.ask(&format!("threads {at} {LEN} 8 50")), [0, 0]);
    assert_eq!(version(&mut observer, 400).step(), 400);
}

#[test]
fn handler_that_interrupts_a_call_does_not_wait_for_it() {
    let (name, mut puppet) = (name("handler"), Puppet::new());
    let at = puppet.region(&name, LEN);
    assert_eq!(puppet.ask(&format!("handler {at} {LEN} 3000")), [0, 0]);
    assert!(observe(&name).latest().unwrap().number() >= 3000);
}

#[test]
fn version_outlives_a_program_that_is_killed() {
    let (name, mut puppet) = (name("killed"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    puppet.fill(at, LEN, 7);
    puppet.publish(at, LEN);
    let held = version(&mut observer, 1);
    puppet.fill(at, LEN, 8);
    puppet.kill();
    assert!(bytes(&held, "bytes").iter().all(|byte| *byte == 7));
    assert!(
        matches!(observer.status().unwrap(), Status::ProducerLost),
        "{:?}",
        observer.status()
    );
    // Another program can use the name.
    let mut next = Puppet::new();
    let at = next.region(&name, LEN);
    next.publish(at, LEN);
    version(&mut observe(&name), 1);
}

#[test]
fn region_ends_with_the_program() {
    let (name, mut puppet) = (name("ends"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    puppet.publish(at, LEN);
    let held = version(&mut observer, 1);
    puppet.tell("exit 3");
    assert_eq!(puppet.wait().code(), Some(3));
    assert!(
        matches!(observer.status().unwrap(), Status::EndOfStream),
        "{:?}",
        observer.status()
    );
    assert!(is_gone(&name));
    assert_eq!(bytes(&held, "bytes").len(), LEN as usize);
    let socket = tcasm_core::place::socket_path(&name);
    assert!(!socket.exists(), "{socket:?} was removed");
}

#[test]
fn observer_that_holds_every_version_makes_calls_skip_and_not_fail() {
    let (name, mut puppet) = (name("skips"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    let mut held = Vec::new();
    for round in 1..20 {
        puppet.fill(at, LEN, round);
        puppet.publish(at, LEN);
        held.push(observer.latest().unwrap());
    }
    assert_eq!(held.last().unwrap().number(), 8, "the bound on versions");
    held.clear();
    puppet.publish(at, LEN);
    let last = version(&mut observer, 9);
    assert!(bytes(&last, "bytes").iter().all(|byte| *byte == 19));
    assert_eq!(last.step(), 20, "skipped calls count as steps");
}
