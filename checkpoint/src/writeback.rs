//! A file on its way to the disk while it is still being written: else the disk would rest until the last byte is there.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use tcasm_core::sys::file::begin_writeback;

/// So many bytes are worth another call.
const PIECE: usize = 8 << 20;

/// Brings what was written of a file to the disk, now and then.
pub struct Writeback {
    /// None where it cannot be opened: then fsync does it all.
    file: Option<File>,
    /// Bytes that were written since.
    waiting: Cell<usize>,
}

impl Writeback {
    /// Of the file at `path`, whoever writes it.
    pub fn of(path: &Path) -> Self {
        Writeback {
            file: File::options().write(true).open(path).ok(),
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
