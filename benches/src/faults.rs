//! Page faults of this process.

/// Returns the number of page faults of this process so far that needed no disk.
pub fn minor_faults() -> i64 {
    // SAFETY: zeros are a valid value of this plain struct. The call fills it through a valid
    // pointer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_minflt
}
