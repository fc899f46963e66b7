//! Starts the writeback of a file while it is still being written. Otherwise the disk would be idle
//! until the last byte is written.

use std::cell::Cell;
use std::fs::File;
use tcasm_core::sys::file::begin_writeback;

/// The number of bytes after which writeback is started again.
const PIECE: usize = 8 << 20;

/// Starts the writeback of a file at intervals.
pub struct Writeback {
    /// A second descriptor of the file. If it could not be made, the final fsync writes everything.
    file: Option<File>,
    /// The bytes that were written since writeback was started last.
    waiting: Cell<usize>,
}

impl Writeback {
    /// Returns a writeback of `file`, which may be written through any descriptor.
    pub fn of(file: &File) -> Self {
        Writeback {
            file: file.try_clone().ok(),
            waiting: Cell::new(0),
        }
    }

    /// Notes that `bytes` more bytes were written, and starts writeback if there are enough.
    pub fn wrote(&self, bytes: usize) {
        self.waiting.set(self.waiting.get() + bytes);
        if self.waiting.get() >= PIECE
            && let Some(file) = &self.file
        {
            begin_writeback(file);
            self.waiting.set(0);
        }
    }
}
