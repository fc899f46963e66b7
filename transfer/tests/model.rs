//! Every transport against a model: the bytes of a declaration, one after another.

use proptest::prelude::*;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Status,
    TransferError, Transport,
};

const TRANSPORTS: [Transport; 3] = [Transport::Direct, Transport::Mapped, Transport::Ring];

/// Returns memory of `len` bytes that differ from their neighbours.
fn memory(len: usize) -> Arc<SharedMemory> {
    let memory = SharedMemory::create(len).unwrap();
    let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
    memory.write(0, &bytes);
    memory
}

fn content(memory: &SharedMemory) -> Vec<u8> {
    let bytes = memory.bytes().iter();
    bytes.map(|byte| byte.load(Ordering::Relaxed)).collect()
}

/// Returns the offsets in the memory of the bytes of a layout.
fn places(memory: &SharedMemory, layout: &Layout) -> Vec<usize> {
    let start = |segment: &Segment| segment.addr - memory.addr();
    let segments = layout.segments().iter();
    let ranges = segments.map(|segment| start(segment)..start(segment) + segment.len);
    ranges.flatten().collect()
}

/// Returns a layout with segments of these lengths and gaps, in an order that `keys` choose.
fn layout(memory: &SharedMemory, pieces: &[(usize, usize, u32)]) -> Layout {
    let mut at = memory.addr();
    let mut list: Vec<(u32, Segment)> = Vec::new();
    for (gap, len, key) in pieces {
        let segment = Segment {
            addr: at + gap,
            len: *len,
        };
        list.push((*key, segment));
        at = segment.addr + segment.len;
    }
    list.sort_by_key(|(key, _)| *key);
    Layout::new(list.into_iter().map(|(_, segment)| segment)).unwrap()
}

/// Cuts a buffer into pieces, some of them empty.
fn cut(mut bytes: &mut [u8], lens: &[usize]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for len in lens {
        let (piece, rest) = bytes.split_at_mut((*len).min(bytes.len()));
        pieces.push(piece.to_vec());
        bytes = rest;
    }
    pieces.push(bytes.to_vec());
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_transport_reads_and_writes_the_bytes_of_the_layout(
        pieces in proptest::collection::vec((0usize..50, 1usize..3000, any::<u32>()), 1..60),
        (from, to) in (0.0..1.0f64, 0.0..1.0f64),
        lens in proptest::collection::vec(0usize..4000, 0..6),
        value in any::<u8>(),
    ) {
        let owner = Owner::create(Allowed::SameUser).unwrap();
        let memory = memory(60 * 3050);
        let layout = layout(&memory, &pieces);
        let places = places(&memory, &layout);
        let declared = Declaration::shared(&memory, layout, Access::ReadWrite).unwrap();
        let cookie = owner.declare(declared).unwrap();
        let mut peer = Peer::connect(owner.address()).unwrap();
        let offset = (from * (places.len() - 1) as f64) as usize;
        let len = 1 + (to * (places.len() - offset - 1) as f64) as usize;
        let part = &places[offset..offset + len];
        for (i, transport) in TRANSPORTS.into_iter().enumerate() {
            peer.use_only(Some(transport));
            let before = content(&memory);
            let wanted: Vec<u8> = part.iter().map(|at| before[*at]).collect();
            let mut buffers = cut(&mut vec![0; len], &lens);
            let mut vectors: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let read = peer.read_vectored(cookie, offset as u64, &mut vectors).unwrap();
            let read = read.may_be_torn().iter();
            let read: Vec<u8> = read.flat_map(|buffer| buffer.iter().copied()).collect();
            prop_assert!(read == wanted, "{transport:?} read other bytes");

            let byte = |k: usize| value.wrapping_add((k * 3 + i) as u8);
            let mut bytes: Vec<u8> = (0..len).map(byte).collect();
            let buffers = cut(&mut bytes, &lens);
            let vectors: Vec<_> = buffers.iter().map(|b| IoSlice::new(b)).collect();
            peer.write_vectored(cookie, offset as u64, &vectors).unwrap();
            let mut model = before;
            for (at, byte) in part.iter().zip(&bytes) {
                model[*at] = *byte;
            }
            prop_assert!(content(&memory) == model, "{transport:?} wrote other bytes");
        }
        let mapped = peer.map(cookie).unwrap();
        let now = content(&memory);
        prop_assert_eq!(mapped.len(), places.len());
        prop_assert_eq!(mapped.load::<1>(offset), Some([now[places[offset]]]));
        // SAFETY: nobody writes the memory from here on.
        let parts: Vec<u8> = unsafe { mapped.parts() }.flatten().copied().collect();
        let wanted: Vec<u8> = places.iter().map(|at| now[*at]).collect();
        prop_assert!(parts == wanted, "the mapping has other bytes");
    }
}

#[test]
fn bytes_beyond_four_gigabytes_are_transferred_from_sparse_memory() {
    const FAR: usize = (4 << 30) + 12_345;
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(FAR + 100_000).unwrap();
    memory.write(FAR, &[5; 100_000]);
    let whole = Segment {
        addr: memory.addr(),
        len: memory.len(),
    };
    let layout = Layout::new([whole]).unwrap();
    let declared = Declaration::shared(&memory, layout, Access::ReadWrite).unwrap();
    let cookie = owner.declare(declared).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    for (i, transport) in TRANSPORTS.into_iter().enumerate() {
        peer.use_only(Some(transport));
        let mut bytes = vec![1; 100_001];
        let read = peer.read(cookie, FAR as u64 - 1, &mut bytes).unwrap();
        let read = read.may_be_torn();
        assert!(
            read[0] == 0 && read[1..].iter().all(|byte| *byte == 5),
            "{transport:?}"
        );
        let at = FAR - 2 - i;
        peer.write(cookie, at as u64, &[9]).unwrap();
        assert_eq!(
            memory.bytes()[at].load(Ordering::Relaxed),
            9,
            "{transport:?}"
        );
    }
}

#[test]
fn more_bytes_than_a_window_has_are_transferred_in_order() {
    const WINDOW: usize = 64 << 20;
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(WINDOW + 5000).unwrap();
    let marks = [0, 1 << 22, WINDOW - 1, WINDOW, WINDOW + 4998];
    let segment = |at: usize, len: usize| Segment {
        addr: memory.addr() + at,
        len,
    };
    // The last 1000 bytes come first.
    let parts = [segment(WINDOW + 4000, 1000), segment(0, WINDOW + 4000)];
    let declared = Layout::new(parts).unwrap();
    let declared = Declaration::shared(&memory, declared, Access::ReadWrite).unwrap();
    let cookie = owner.declare(declared).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let mut bytes = vec![0; WINDOW + 5000];
    for (i, transport) in TRANSPORTS.into_iter().enumerate() {
        peer.use_only(Some(transport));
        marks
            .iter()
            .for_each(|at| memory.write(*at, &[i as u8 + 1]));
        bytes.fill(9);
        peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        bytes.rotate_left(1000);
        let read = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
        let read: Vec<_> = read.map(|(at, byte)| (at, *byte)).collect();
        assert_eq!(read, marks.map(|at| (at, i as u8 + 1)), "{transport:?}");
        marks.iter().for_each(|at| bytes[*at] += 100);
        bytes.rotate_right(1000);
        peer.write(cookie, 0, &bytes).unwrap();
        let written = marks.map(|at| memory.bytes()[at].load(Ordering::Relaxed));
        assert_eq!(written, [i as u8 + 101; 5], "{transport:?}");
    }
}

#[test]
fn eight_peers_read_the_same_bytes_and_add_operands_up_in_place() {
    const LEN: usize = 300_000;
    let owners: Vec<(Owner, Cookie)> = (0..8u8)
        .map(|i| {
            let owner = Owner::create(Allowed::SameUser).unwrap();
            let memory = SharedMemory::create(LEN).unwrap();
            memory.write(0, &(0..LEN).map(|k| i ^ k as u8).collect::<Vec<u8>>());
            // Two halves, in the other order.
            let half = |at: usize| Segment {
                addr: memory.addr() + at,
                len: LEN / 2,
            };
            let layout = Layout::new([half(LEN / 2), half(0)]).unwrap();
            let declared = Declaration::shared(&memory, layout, Access::Read).unwrap();
            let cookie = owner.declare(declared).unwrap();
            (owner, cookie)
        })
        .collect();
    let value = |i: u8, k: usize| i ^ ((k + LEN / 2) % LEN) as u8;
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let owners = &owners;
            scope.spawn(move || {
                let (owner, cookie) = &owners[3];
                let mut peer = Peer::connect(owner.address()).unwrap();
                peer.use_only(Some(TRANSPORTS[reader % 3]));
                let mut bytes = vec![0; LEN];
                let read = peer.read(*cookie, 0, &mut bytes).unwrap().may_be_torn();
                assert!(
                    read.iter()
                        .enumerate()
                        .all(|(k, byte)| *byte == value(3, k))
                );
            });
        }
    });
    let mut sums = vec![0u32; LEN];
    for (owner, cookie) in &owners {
        let mapped = Peer::connect(owner.address())
            .unwrap()
            .map(*cookie)
            .unwrap();
        // SAFETY: nobody writes the memory from here on.
        let operand = unsafe { mapped.parts() }.flatten();
        sums.iter_mut()
            .zip(operand)
            .for_each(|(sum, byte)| *sum += u32::from(*byte));
    }
    let wanted = |k: usize| (0..8).map(|i| u32::from(value(i, k))).sum::<u32>();
    assert!(sums.iter().enumerate().all(|(k, sum)| *sum == wanted(k)));
}

#[test]
fn more_segments_and_bytes_than_one_window_takes_are_transferred() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = memory(3 << 20);
    // 10,000 segments of one byte, then two megabytes in one.
    let tiny = (0..10_000).map(|i| Segment {
        addr: memory.addr() + 2 * i,
        len: 1,
    });
    let large = Segment {
        addr: memory.addr() + (1 << 20),
        len: 2 << 20,
    };
    let layout = Layout::new(tiny.chain([large])).unwrap();
    let (places, len) = (places(&memory, &layout), layout.len() as usize);
    let declared = Declaration::shared(&memory, layout, Access::Read).unwrap();
    let cookie = owner.declare(declared).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let mapped = peer.map(cookie).map(|_| ());
    assert!(matches!(
        mapped,
        Err(TransferError::Refused(Status::TooManyParts))
    ));
    let now = content(&memory);
    let wanted: Vec<u8> = places.iter().map(|at| now[*at]).collect();
    for transport in TRANSPORTS {
        peer.use_only(Some(transport));
        let mut bytes = vec![0; len];
        let read = peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        assert!(read == wanted, "{transport:?}");
        // Many buffers: one call of the kernel ends inside of a segment.
        let mut bytes = vec![0; len];
        let mut buffers: Vec<_> = bytes.chunks_mut(333).map(IoSliceMut::new).collect();
        let read = peer.read_vectored(cookie, 0, &mut buffers).unwrap();
        read.may_be_torn();
        assert!(bytes == wanted, "{transport:?}, many buffers");
    }
}
