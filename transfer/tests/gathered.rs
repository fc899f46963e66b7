//! Versions of memory in pieces.
#![cfg(feature = "versions")]

use std::sync::Arc;
use tcasm_observer::Observer;
use tcasm_transfer::{
    Allowed, Gathered, Layout, LayoutError, Owner, Peer, Segment, Status, TransferError, Transport,
};

const ROWS: usize = 300;
const COLUMNS: usize = 5000;
/// The first column and the number of columns that are published.
const PART: (usize, usize) = (17, 4001);

/// An array of which some columns are published.
struct Array(Vec<u8>);

impl Array {
    fn new() -> Array {
        Array(vec![1; ROWS * COLUMNS])
    }

    fn layout(&self) -> Result<Layout, LayoutError> {
        let first = Segment::of(&self.0).addr + PART.0;
        Layout::strided(first, 1, &[ROWS, PART.1], &[COLUMNS as isize, 1])
    }

    /// Returns the bytes that are published.
    fn part(&self) -> Vec<u8> {
        let rows = self.0.chunks(COLUMNS);
        rows.flat_map(|row| &row[PART.0..PART.0 + PART.1])
            .copied()
            .collect()
    }
}

fn name(what: &str) -> String {
    format!("gathered-{what}-{}", std::process::id())
}

#[test]
fn cookies_and_observers_read_the_versions_of_an_array_in_pieces() {
    let mut array = Array::new();
    let owner = Arc::new(Owner::create(Allowed::SameUser).unwrap());
    let name = name("array");
    // SAFETY: the array lives longer, and only this thread writes it.
    let gathered = unsafe { Gathered::create(&owner, &name, array.layout().unwrap()) };
    let mut gathered = gathered.unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let cookie = gathered.cookie();
    let mut bytes = vec![0; ROWS * PART.1];
    for step in 1..20u64 {
        let before = array.part();
        for row in (0..ROWS).filter(|row| row % 7 == step as usize % 7) {
            array.0[row * COLUMNS..][..COLUMNS].fill(step as u8);
        }
        // The array has changed, the newest version has not.
        let transports = [Transport::Direct, Transport::Ring];
        peer.use_only(Some(transports[step as usize % 2]));
        let number = peer.read_version(cookie, 0, &mut bytes).unwrap();
        assert!(
            number.get() == step && bytes == before,
            "version {step} has changed"
        );

        let receipt = gathered.publish(step, 0.0).unwrap();
        assert_eq!(receipt.version(), Some(step + 1));
        peer.read_version(cookie, 0, &mut bytes).unwrap();
        assert!(
            bytes == array.part(),
            "version {} has other bytes",
            step + 1
        );
        let seen = observer.latest().unwrap();
        let view = seen.view().unwrap();
        assert!(
            view.bytes("bytes").unwrap() == bytes,
            "an observer sees others"
        );
    }
    drop(gathered);
    let read = peer.read_version(cookie, 0, &mut bytes);
    assert!(matches!(read, Err(TransferError::Refused(Status::Revoked))));
}

#[test]
fn pages_that_have_not_changed_are_not_captured() {
    let mut array = Array::new();
    let owner = Arc::new(Owner::create(Allowed::SameUser).unwrap());
    // SAFETY: the array lives longer, and only this thread writes it.
    let gathered = unsafe { Gathered::create(&owner, &name("pages"), array.layout().unwrap()) };
    let mut gathered = gathered.unwrap();
    let mut observer = Observer::attach(&name("pages")).unwrap();
    array.0[150 * COLUMNS + PART.0] += 1;
    gathered.publish(1, 0.0).unwrap();
    assert_eq!(observer.latest().unwrap().changed_pages(), 1);
    gathered.publish(2, 0.0).unwrap();
    assert_eq!(observer.latest().unwrap().changed_pages(), 0);
}
