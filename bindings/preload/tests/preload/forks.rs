//! Forked children do not publish their parent's regions.

use crate::common::*;
use tcasm_tests::name;

const LEN: u64 = 4 * 4096;

#[test]
fn forked_child_does_not_publish_and_its_parent_goes_on() {
    let (name, mut puppet) = (name("fork"), Puppet::new());
    let at = puppet.region(&name, LEN);
    puppet.fill(at, LEN, 1);
    puppet.publish(at, LEN);
    // The child does not have the mapping, so the kernel refuses its msync. Its munmap is harmless.
    let answer = puppet.ask(&format!("forksync {at} {LEN}"));
    assert_eq!(answer, [1, i64::from(libc::ENOMEM)]);
    let mut observer = observe(&name);
    version(&mut observer, 1);
    assert_eq!(
        puppet.ask("forkexit"),
        [1, 9],
        "the end of a child ends no region"
    );
    puppet.fill(at, LEN, 2);
    puppet.publish(at, LEN);
    assert!(
        bytes(&version(&mut observer, 2), "bytes")
            .iter()
            .all(|byte| *byte == 2)
    );
    assert_eq!(puppet.errors(), "");
}

#[test]
fn forked_child_can_publish_a_region_of_its_own() {
    let (own, of_child) = (name("parent"), name("child"));
    let mut puppet = Puppet::new();
    let at = puppet.region(&own, LEN);
    puppet.publish(at, LEN);
    assert_eq!(puppet.ask(&format!("forkpublish tcasm:{of_child}")), [1, 0]);
    // The parent's name is taken also for its child.
    assert_eq!(
        puppet.ask(&format!("forkpublish tcasm:{own}")),
        [1, 0],
        "it works unpublished"
    );
    assert!(
        puppet.errors().contains("is in use by"),
        "{}",
        puppet.errors()
    );
    puppet.publish(at, LEN);
    version(&mut observe(&own), 2);
}

#[test]
fn child_that_forks_while_a_thread_publishes_does_not_hang() {
    let (name, mut puppet) = (name("busy"), Puppet::new());
    let at = puppet.region(&name, LEN);
    assert_eq!(puppet.ask(&format!("forkbusy {at} {LEN} 200")), [0, 0]);
    puppet.publish(at, LEN);
    assert!(observe(&name).latest().is_ok());
}
