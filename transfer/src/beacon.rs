//! Random bytes at an address that peers are told. A peer that reads them there can copy directly,
//! and reaches this process and no other one.

use std::io;

/// The bytes.
#[derive(Debug)]
pub(crate) struct Beacon(Box<[u8; 16]>);

impl Beacon {
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = Box::new([0; 16]);
        getrandom::fill(&mut bytes[..]).map_err(io::Error::other)?;
        Ok(Beacon(bytes))
    }

    /// Returns the address and the bytes as words of a reply.
    pub(crate) fn words(&self) -> [u64; 4] {
        let (low, high) = self.0.split_at(8);
        let word = |half: &[u8]| {
            half.iter()
                .rev()
                .fold(0u64, |n, byte| (n << 8) | u64::from(*byte))
        };
        // The address is used by another process, through the kernel.
        let addr = self.0.as_ptr().expose_provenance() as u64;
        [addr, word(low), word(high), 0]
    }
}

/// Returns the bytes that a peer expects at the address.
pub(crate) fn expected(words: [u64; 4]) -> [u8; 16] {
    let (low, high) = (words[1].to_le_bytes(), words[2].to_le_bytes());
    std::array::from_fn(|i| if i < 8 { low[i] } else { high[i - 8] })
}
