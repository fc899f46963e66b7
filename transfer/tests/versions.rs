//! Versions: peers read one, whole, while the owner sets others.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_transfer::{
    Access, Allowed, Declaration, DeclareError, Layout, Owner, Peer, Segment, SharedMemory, Status,
    TransferError, Transport,
};

/// More than the ring has, and more than the blocks that are asked for at once.
const LEN: usize = 5 << 20;

/// Returns version `number`: its bytes are all the same, and tell the number.
fn version(number: u64) -> Declaration {
    let bytes = Arc::new(vec![number as u8; LEN]);
    Declaration::version(NonZeroU64::new(number).unwrap(), bytes).unwrap()
}

/// Stops the other thread, also if this one panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn each_read_has_one_version_while_others_are_set() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let cookie = owner.declare(version(1)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| {
            let mut number = 1;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                owner.set_version(cookie, version(number)).unwrap();
            }
        });
        let mut peer = Peer::connect(owner.address()).unwrap();
        let (mut bytes, mut seen) = (vec![0; LEN], 0);
        for round in 0..60 {
            let transports = [Transport::Direct, Transport::Ring];
            peer.use_only(Some(transports[round % 2]));
            let number = peer.read_version(cookie, 0, &mut bytes).unwrap().get();
            let wanted = number as u8;
            let other = bytes.iter().position(|byte| *byte != wanted);
            assert_eq!(
                other, None,
                "round {round}: version {number} has other bytes"
            );
            assert!(number >= seen, "version {number} after {seen}");
            seen = number;
        }
        assert!(seen > 1, "no version was set in the meantime");
    });
    let described = peer_of(&owner).describe(cookie).unwrap();
    assert_eq!(
        (described.len, described.access),
        (LEN as u64, Access::Read)
    );
    assert!(described.version.is_some() && !described.mapped);
}

fn peer_of(owner: &Owner) -> Peer {
    Peer::connect(owner.address()).unwrap()
}

/// Bytes, and a share of what counts how many of them are alive.
struct Counted {
    bytes: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[test]
fn old_versions_are_dropped_when_nobody_reads_them() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let alive = Arc::new(());
    let make = |number: u64| {
        let bytes = Arc::new(Counted {
            bytes: vec![0; LEN],
            _alive: alive.clone(),
        });
        Declaration::version(NonZeroU64::new(number).unwrap(), bytes).unwrap()
    };
    let cookie = owner.declare(make(1)).unwrap();
    let mut peer = peer_of(&owner);
    peer.use_only(Some(Transport::Ring));
    for number in 2..20 {
        peer.read_version(cookie, 0, &mut vec![0; LEN]).unwrap();
        owner.set_version(cookie, make(number)).unwrap();
        assert_eq!(Arc::strong_count(&alive), 2, "one version, and this count");
    }
    drop(owner);
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// Bytes that use their owner when they are dropped.
struct Attached(Vec<u8>, Arc<Owner>);

impl AsRef<[u8]> for Attached {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.1.declarations();
    }
}

#[test]
fn bytes_that_use_their_owner_when_they_are_dropped_block_nobody() {
    let owner = Arc::new(Owner::create(Allowed::SameUser).unwrap());
    let make = || {
        let bytes = Arc::new(Attached(vec![1; 10], owner.clone()));
        Declaration::version(NonZeroU64::MIN, bytes).unwrap()
    };
    let (replaced, once) = (make(), make().once());
    let replaced = owner.declare(replaced).unwrap();
    owner.set_version(replaced, make()).unwrap();
    assert!(owner.revoke(replaced, std::time::Duration::ZERO));
    let once = owner.declare(once).unwrap();
    let mut peer = peer_of(&owner);
    peer.read_version(once, 0, &mut [0; 10]).unwrap();
    let held = owner.declare(make()).unwrap();
    let hold = peer.hold(held, 0, 10).unwrap();
    owner.set_version(held, make()).unwrap();
    assert!(!owner.revoke(held, std::time::Duration::ZERO));
    drop(hold);
    assert!(owner.revoke(held, std::time::Duration::from_secs(20)));
    assert_eq!(owner.declarations(), 0);
}

#[test]
fn versions_and_live_memory_are_not_mistaken_for_each_other() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(100).unwrap();
    let whole = Segment {
        addr: memory.addr(),
        len: 100,
    };
    let layout = Layout::new([whole]).unwrap();
    let live = || Declaration::shared(&memory, layout.clone(), Access::ReadWrite).unwrap();
    let (of_live, of_version) = (live(), version(3));
    let of_live = owner.declare(of_live).unwrap();
    let of_version = owner.declare(of_version).unwrap();
    let mut peer = peer_of(&owner);
    let read = peer.read_version(of_live, 0, &mut [0; 10]);
    assert!(matches!(read, Err(TransferError::Refused(Status::Live))));
    let write = peer.write(of_version, 0, &[1]);
    assert!(matches!(
        write,
        Err(TransferError::Refused(Status::NotPermitted))
    ));
    for (cookie, with) in [
        (of_live, version(4)),
        (of_version, live()),
        (of_version, version(4).once()),
    ] {
        let set = owner.set_version(cookie, with);
        assert!(matches!(set, Err(DeclareError::NoVersion)), "{set:?}");
    }
    let nothing = Declaration::version(NonZeroU64::MIN, Arc::new(Vec::new()));
    assert!(matches!(nothing, Err(DeclareError::Layout(_))));
    assert!(owner.revoke(of_version, std::time::Duration::ZERO));
    let set = owner.set_version(of_version, version(4));
    assert!(
        matches!(set, Err(DeclareError::Cookie(Status::Revoked))),
        "{set:?}"
    );
}
