//! The means of blocks of points.

/// The means of the blocks of a row. Lines of points are added one by one.
pub struct Mean<'o> {
    sums: &'o mut [f64],
    /// The number of finite values of each block.
    counts: Vec<u64>,
    block: usize,
    /// The number of lines, and of points in each.
    size: [usize; 2],
    /// True if each sample is a single point. Its value is copied then, NaN or not.
    single: bool,
}

impl<'o> Mean<'o> {
    /// Returns the means of the row `sums`, whose blocks have `block` points. `size` is the number
    /// of lines, and of points in each.
    pub fn new(sums: &'o mut [f64], block: usize, size: [usize; 2]) -> Self {
        sums.fill(0.0);
        Mean {
            counts: vec![0; sums.len()],
            single: block == 1 && size[0] == 1,
            sums,
            block,
            size,
        }
    }

    /// Adds the values of a line of points.
    pub fn add(&mut self, values: &[f64]) {
        if self.single {
            return self.sums.copy_from_slice(values);
        }
        let samples = self.sums.iter_mut().zip(&mut self.counts);
        for ((sum, count), block) in samples.zip(values.chunks(self.block)) {
            for value in block.iter().filter(|value| value.is_finite()) {
                *sum += value;
                *count += 1;
            }
        }
    }

    /// Makes means of the sums, and NaN of those that lack a value. Returns the number of values
    /// that are not finite.
    pub fn finish(self) -> u64 {
        if self.single {
            let not_finite = self.sums.iter().filter(|value| !value.is_finite());
            return not_finite.count() as u64;
        }
        let [lines, length] = self.size;
        let samples = self.sums.iter_mut().zip(self.counts).enumerate();
        let finished = samples.map(|(i, (sum, finite))| {
            let across = self.block.min(length - i * self.block);
            let lacking = (lines * across) as u64 - finite;
            *sum = match lacking {
                // The sum of huge values may overflow; their mean is finite.
                0 => (*sum / finite as f64).clamp(f64::MIN, f64::MAX),
                _ => f64::NAN,
            };
            lacking
        });
        finished.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_can_have_more_points_than_32_bits_count() {
        let mut sums = [0.0];
        let mut mean = Mean::new(&mut sums, 1, [1 << 32, 1]);
        // As if all lines but one were added.
        (mean.sums[0], mean.counts[0]) = (3.0 * f64::from(u32::MAX), u32::MAX.into());
        mean.add(&[3.0]);
        assert_eq!((mean.finish(), sums), (0, [3.0]));
    }
}
