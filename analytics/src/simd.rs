//! Loops with the vector instructions of this processor.

/// Runs `work`, which is compiled twice: for AVX2 and for any processor. Both give the same result,
/// because the compiler neither reorders floating-point operations nor fuses them.
///
/// Functions that `work` calls must be inlined into it to use AVX2. `work` itself is not inlined
/// into the caller. So loops over independent accumulators keep the simple form that becomes vector
/// instructions, independent of the use of their results.
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: `with_avx2` only requires that the processor has AVX2, which was checked above.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn squares(blocks: &[[f64; 8]]) -> [f64; 8] {
        let mut sums = [0.0; 8];
        for block in blocks {
            for (sum, v) in sums.iter_mut().zip(block) {
                *sum += (v - 0.1) * v;
            }
        }
        sums
    }

    #[test]
    fn every_processor_computes_the_same_bits() {
        let blocks: Vec<[f64; 8]> = (0..1000)
            .map(|i| std::array::from_fn(|j| (i * 8 + j) as f64 * 0.37))
            .collect();
        let wide = vectorised(
            #[inline(always)]
            || squares(&blocks),
        );
        let narrow = portable(
            #[inline(always)]
            || squares(&blocks),
        );
        assert_eq!(wide, narrow);
    }
}
