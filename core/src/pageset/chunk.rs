//! The size of a chunk, and its bitmap.

/// The number of pages of one chunk, the unit of page maps, changed sets and capture (2 MiB with
/// pages of 4 KiB).
pub const CHUNK_PAGES: usize = 512;
/// The number of 64-bit words of the bitmap of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_PAGES / 64;

/// The bitmap of one chunk.
pub type ChunkBits = [u64; CHUNK_WORDS];
