//! Every transport against a model: the bytes of a declaration, one after another.

use proptest::prelude::*;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tcasm_transfer::{
    Access, Allowed, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Transport,
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
    let now = content(&memory);
    let wanted: Vec<u8> = places.iter().map(|at| now[*at]).collect();
    for transport in [Transport::Direct, Transport::Ring] {
        peer.use_only(Some(transport));
        let mut bytes = vec![0; len];
        let read = peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        assert!(read == wanted, "{transport:?}");
    }
}
