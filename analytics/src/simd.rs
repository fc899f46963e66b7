//! Runs a loop with the widest vector instructions that this processor has and the compiler may always use.

/// Run `work`, compiled twice: for AVX2 and for any processor. Which one runs changes no result: the compiler neither
/// reorders floating-point operations nor fuses them.
///
/// What `work` calls must be inlined into it to profit. It is not inlined itself, so loops over independent
/// accumulators keep the simple form that becomes vector instructions, whatever is done with their results.
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the only obligation of `with_avx2` is that the processor has AVX2, which was just seen.
        return unsafe { with_avx2(work) };
    }
    portable(work)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline(never)]
fn portable<R>(work: impl FnOnce() -> R) -> R {
    work()
}
