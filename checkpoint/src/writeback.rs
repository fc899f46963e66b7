//! A file on its way to the disk while it is still being written: else the disk would rest until the last byte is there.

use std::cell::Cell;
use std::fs::File;
use tcasm_core::sys::file::begin_writeback;

/// So many bytes are worth another call.
const PIECE: usize = 8 << 20;

/// Brings what was written of a file to the disk, now and then.
pub struct Writeback {
    /// None without another descriptor: then fsync does it all.
    file: Option<File>,
    /// Bytes that were written since.
    waiting: Cell<usize>,
}

impl Writeback {
    /// Of `file`, by whatever descriptor it is written.
    pub fn of(file: &File) -> Self {
        Writeback {
            file: file.try_clone().ok(),
            waiting: Cell::new(0),
        }
    }

    /// So many more bytes were written.
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
