//! Transfers of more bytes than one call of the kernel copies (`MAX_RW_COUNT`, 0x7ffff000).

use tcasm_transfer::{
    Access, Allowed, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Transport,
};

/// The most bytes that one call of the kernel copies.
const MOST: usize = 0x7fff_f000;
const LEN: usize = MOST + (5 << 20) + 777;
/// The distance of the bytes that are not 0. It divides neither pages nor windows.
const STEP: usize = (1 << 20) + 7;
/// More such bytes, around the places where a count of 31 bits ends.
const BORDERS: [usize; 6] = [MOST - 1, MOST, MOST + 1, (1 << 31) - 1, 1 << 31, LEN - 1];

/// Returns the places of the bytes that are not 0, in order, with their values in this round.
fn marks(round: usize) -> impl Iterator<Item = (usize, u8)> {
    let mut places: Vec<usize> = (0..LEN).step_by(STEP).chain(BORDERS).collect();
    places.sort_unstable();
    let value = move |(n, at): (usize, usize)| (at, ((n * 13 + round * 31) % 255) as u8 + 1);
    places.into_iter().enumerate().map(value)
}

/// Returns the first byte that is wrong.
fn wrong(bytes: &[u8], round: usize) -> Option<usize> {
    let zeros = vec![0; STEP];
    let mut after = 0;
    for (at, value) in marks(round) {
        let between = &bytes[after..at];
        if between != &zeros[..between.len()] {
            return (after..at).find(|i| bytes[*i] != 0);
        }
        if bytes[at] != value {
            return Some(at);
        }
        after = at + 1;
    }
    None
}

#[test]
fn more_than_two_gigabytes_are_read_and_written_by_one_call() {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(LEN).unwrap();
    let segment = |at: usize, len: usize| Segment {
        addr: memory.addr() + at,
        len,
    };
    // The first segment alone has more than a call copies. The others come in another order.
    let parts = [
        segment(4096, MOST + 9),
        segment(0, 4096),
        segment(4096 + MOST + 9, LEN - MOST - 9 - 4096),
    ];
    let declare = |layout| Declaration::shared(&memory, layout, Access::ReadWrite).unwrap();
    let parts = owner.declare(declare(Layout::new(parts).unwrap())).unwrap();
    let all = Layout::new([segment(0, LEN)]).unwrap();
    let all = owner.declare(declare(all)).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    let mut bytes = vec![9u8; LEN];
    // Writing to the file makes pages faster than the faults of a direct copy do.
    let transports = [Transport::Mapped, Transport::Direct, Transport::Ring];
    for (round, transport) in transports.into_iter().enumerate() {
        marks(round).for_each(|(at, value)| memory.write(at, &[value]));
        peer.use_only(Some(transport));
        bytes.fill(9);
        peer.read(parts, 0, &mut bytes).unwrap().may_be_torn();
        bytes[..MOST + 9 + 4096].rotate_right(4096);
        assert_eq!(wrong(&bytes, round), None, "{transport:?}");
        marks(round + 1).for_each(|(at, value)| bytes[at] = value);
        peer.write(all, 0, &bytes).unwrap();
        bytes.fill(9);
        peer.use_only(Some(Transport::Mapped));
        peer.read(all, 0, &mut bytes).unwrap().may_be_torn();
        assert_eq!(wrong(&bytes, round + 1), None, "{transport:?}");
    }
}
