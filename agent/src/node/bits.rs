//! The wishes by which nodes tell each other where they are. Bit 0 is the agreement's
//! ([`APPOINT`](crate::agreement::APPOINT)).

/// A node wants all agents to end.
pub(super) const STOP: u64 = 1 << 1;
/// A node has ranks that run, or ranks that died and may be started again.
pub(super) const RUNNING: u64 = 1 << 2;
/// A node has ranks that have all closed their regions.
pub(super) const CLOSED: u64 = 1 << 3;
/// A node has ranks that died. It has RUNNING too.
pub(super) const LOST: u64 = 1 << 4;
/// The first bit of uses.
const USES: u32 = 8;
/// The most uses of a node.
pub(super) const MOST_USES: usize = ((u64::BITS - USES) / 2) as usize;

/// Use `i` of a node has not finished.
pub(super) fn busy(i: usize) -> u64 {
    1 << (USES + 2 * i as u32)
}

/// Use `i` of a node calls all others.
pub(super) fn call(i: usize) -> u64 {
    1 << (USES + 2 * i as u32 + 1)
}

/// Any use of a node has not finished.
pub(super) const ANY_BUSY: u64 = 0x5555_5555_5555_5555 << USES;
/// Any use of a node has not finished, or calls.
pub(super) const ANY_USE: u64 = u64::MAX << USES;
