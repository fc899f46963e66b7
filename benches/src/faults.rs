//! Page faults of this process.

/// Faults so far that needed no disk.
pub fn minor_faults() -> i64 {
    // SAFETY: all zeros is a value of this plain struct, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_minflt
}
