//! Checked access to shared memory as atomic words.
//!
//! All shared control memory (index and leases) is read and written only through `AtomicU64` at
//! checked offsets. Two processes may use a word at the same time, and the other process may be
//! wrong or hostile. An offset out of range is an error (I9).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thiserror::Error;

/// An access outside a shared object.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[error(
    "{len} bytes at offset {at} do not lie in a shared object of {size} bytes: it is damaged or \
     from another program"
)]
pub struct OutOfRange {
    /// The offset in bytes.
    pub at: usize,
    /// The number of bytes asked for.
    pub len: usize,
    /// The size of the object in bytes.
    pub size: usize,
}

/// Checked access to shared words.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(&'a [AtomicU64]);

impl<'a> Words<'a> {
    /// Returns checked access to `words`.
    pub fn new(words: &'a [AtomicU64]) -> Self {
        Words(words)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.0.len() * 8
    }

    /// Returns `count` words from byte offset `at`, which must be a multiple of 8.
    pub fn slice(&self, at: usize, count: usize) -> Result<&'a [AtomicU64], OutOfRange> {
        let error = OutOfRange {
            at,
            len: count.saturating_mul(8),
            size: self.size(),
        };
        let end = (at / 8).checked_add(count);
        match end {
            Some(end) if at.is_multiple_of(8) => self.0.get(at / 8..end).ok_or(error),
            _ => Err(error),
        }
    }

    /// Returns the word at byte offset `at`.
    pub fn word(&self, at: usize) -> Result<&'a AtomicU64, OutOfRange> {
        self.slice(at, 1).map(|s| &s[0])
    }

    /// Loads the word at byte offset `at`, with relaxed ordering.
    pub fn get(&self, at: usize) -> Result<u64, OutOfRange> {
        self.word(at).map(|w| w.load(Relaxed))
    }

    /// Returns a copy of `len` bytes from byte offset `at`.
    pub fn bytes(&self, at: usize, len: usize) -> Result<Vec<u8>, OutOfRange> {
        let words = self.slice(at, len.div_ceil(8))?;
        let mut out: Vec<u8> = words
            .iter()
            .flat_map(|w| w.load(Relaxed).to_le_bytes())
            .collect();
        out.truncate(len);
        Ok(out)
    }

    /// Stores `bytes` from byte offset `at`. A last word that is not full is filled up with zeros.
    pub fn put_bytes(&self, at: usize, bytes: &[u8]) -> Result<(), OutOfRange> {
        let words = self.slice(at, bytes.len().div_ceil(8))?;
        for (word, part) in words.iter().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..part.len()].copy_from_slice(part);
            word.store(u64::from_le_bytes(value), Relaxed);
        }
        Ok(())
    }
}
