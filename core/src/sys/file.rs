//! Files of checkpoints.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Begin to bring to the disk what was written to `file` so far, by whatever descriptor, and do not wait for it. This is a hint: where
/// it cannot be, or goes wrong, the next `fsync` does all the work, and tells.
pub fn begin_writeback(file: &File) {
    // SAFETY: has no preconditions; 0 bytes from 0 on are all.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}
