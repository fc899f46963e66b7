//! System calls for the files of checkpoints.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Begins to write the data of `file` to the disk, and does not wait for it. This covers everything
/// that was written so far, through any descriptor. It is only a hint: if it fails, the next
/// `fsync` does all the work and reports the error.
pub fn begin_writeback(file: &File) {
    // SAFETY: the call has no preconditions. A length of 0 from offset 0 stands for the whole file.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}
