//! Parts that are resolved once and read many times.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Status,
    TransferError, Transport,
};

const LEN: usize = 1000;

/// Returns an owner of 1000 bytes, in pieces of 10 from the last to the first.
fn owner() -> (Owner, Arc<SharedMemory>, Cookie) {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(LEN).unwrap();
    let bytes: Vec<u8> = (0..LEN).map(|i| (i % 251) as u8).collect();
    memory.write(0, &bytes);
    let pieces = (0..LEN / 10).rev().map(|i| Segment {
        addr: memory.addr() + 10 * i,
        len: 10,
    });
    let layout = Layout::new(pieces).unwrap();
    let declared = Declaration::shared(&memory, layout, Access::Read).unwrap();
    let cookie = owner.declare(declared).unwrap();
    (owner, memory, cookie)
}

#[test]
fn held_bytes_are_those_of_single_reads_and_follow_the_memory() {
    let (owner, memory, cookie) = owner();
    let mut peer = Peer::connect(owner.address()).unwrap();
    for transport in [Transport::Direct, Transport::Mapped] {
        peer.use_only(Some(transport));
        let mut wanted = [0; 600];
        peer.read(cookie, 205, &mut wanted).unwrap().may_be_torn();
        let mut hold = peer.hold(cookie, 205, 600).unwrap();
        assert_eq!((hold.len(), hold.version()), (600, None));
        for (at, len) in [(0, 600), (3, 1), (7, 40), (599, 1)] {
            let mut bytes = vec![0; len];
            let read = hold.read(at as u64, &mut bytes).unwrap().may_be_torn();
            assert!(*read == wanted[at..at + len], "{transport:?} at {at}");
        }
        let out = [(600, 1), (0, 601), (u64::MAX, 2), (3, 0)];
        for (at, len) in out {
            let read = hold.read(at, &mut vec![0; len]).map(|_| ());
            let refused = TransferError::Refused(Status::OutOfRange);
            assert_eq!(read.unwrap_err().to_string(), refused.to_string());
        }
        // Byte 5 of the piece that begins at 790 is byte 0 of what is held.
        memory.write(795, &[77]);
        assert_eq!(hold.read(0, &mut [0]).unwrap().may_be_torn(), &[77]);
        drop(hold);
        peer.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
    }
    peer.use_only(Some(Transport::Ring));
    let ring = peer.hold(cookie, 0, 10).map(|_| ());
    assert!(matches!(ring, Err(TransferError::NotDirect(_))));
}

#[test]
fn revocation_waits_for_what_is_held() {
    let (owner, _memory, cookie) = owner();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let mut hold = peer.hold(cookie, 0, 10).unwrap();
    assert!(!owner.revoke(cookie, Duration::from_millis(20)));
    hold.read(0, &mut [0; 10]).unwrap().may_be_torn();
    drop(hold);
    assert!(owner.revoke(cookie, Duration::from_secs(20)));
    let again = peer.hold(cookie, 0, 10).map(|_| ());
    assert!(matches!(
        again,
        Err(TransferError::Refused(Status::Revoked))
    ));
}

#[test]
fn held_version_stays_the_same_when_others_are_set() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let version = |number: u64| {
        let number = NonZeroU64::new(number).unwrap();
        Declaration::version(number, Arc::new(vec![number.get() as u8; LEN])).unwrap()
    };
    let cookie = owner.declare(version(1)).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let mut hold = peer.hold(cookie, 0, LEN as u64).unwrap();
    for number in 2..50 {
        owner.set_version(cookie, version(number)).unwrap();
        let mut bytes = [0; LEN];
        hold.read(0, &mut bytes).unwrap().may_be_torn();
        assert_eq!(bytes, [1; LEN]);
    }
    assert_eq!(hold.version(), NonZeroU64::new(1));
    drop(hold);
    let newest = peer.hold(cookie, 0, 1).unwrap().version();
    assert_eq!(newest, NonZeroU64::new(49));
}

#[test]
fn owner_that_is_dropped_keeps_the_memory_that_a_peer_holds() {
    for transport in [Transport::Direct, Transport::Mapped] {
        let (owner, memory, cookie) = owner();
        let still = Arc::downgrade(&memory);
        let mut peer = Peer::connect(owner.address()).unwrap();
        peer.use_only(Some(transport));
        let mut hold = peer.hold(cookie, 990, 10).unwrap();
        drop((owner, memory));
        assert!(
            still.upgrade().is_some(),
            "the addresses are free while a peer may write there"
        );
        // The memory may be used for something else, so nothing is read any more.
        let read = hold.read(0, &mut [9; 10]).map(|_| ());
        assert!(matches!(read, Err(TransferError::OwnerGone)), "{read:?}");
    }
}
