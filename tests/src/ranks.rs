//! Facts that the program `rank` and its tests share: the sizes of a group, the values of a step.

/// The ranks of a group, all on this host.
pub const RANKS: u32 = 4;
/// The elements of each field.
pub const ELEMENTS: usize = 20_000;
/// The bytes of fields that a part has room for.
pub const CAPACITY: usize = 4 << 20;
/// The versions that each rank keeps besides the newest.
pub const HISTORY: usize = 4;
/// How many steps the ranks may be apart.
pub const DRIFT: u64 = 2;

/// Returns the name of the field that only one rank has.
pub fn own_field(rank: u32) -> String {
    format!("own{rank}")
}

/// Returns element `i` of the fields of `rank` at `step`.
pub fn value(rank: u32, step: u64, i: usize) -> u64 {
    let mixed = u64::from(rank) << 40 ^ step << 20 ^ i as u64;
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns component `c` of the value that `rank` has at a global index, by its number in C order.
/// Ranks have different values, so that a test sees whose value it was.
pub fn block_value(rank: u32, step: u64, index: usize, c: usize) -> u64 {
    value(rank, step, index * 4 + c)
}

/// The value of all ghosts, which no global array may show.
pub const GHOST: u64 = u64::MAX;
