//! Runs of neighbouring bits in bitmaps.

use std::ops::Range;

/// Returns the maximal runs of set bits in a bitmap.
pub fn runs_of(words: &[u64]) -> Runs<'_> {
    Runs { words, at: 0 }
}

/// An iterator over maximal runs: see [`runs_of`].
#[derive(Clone)]
pub struct Runs<'a> {
    words: &'a [u64],
    at: usize,
}

impl Runs<'_> {
    /// Moves `self.at` to the first position from there whose bit equals `bit`, or to the end.
    fn seek(&mut self, bit: bool) {
        while self.at < self.words.len() * 64 {
            let word = self.words[self.at / 64];
            let rest = (if bit { word } else { !word }) >> (self.at % 64);
            if rest != 0 {
                self.at += rest.trailing_zeros() as usize;
                return;
            }
            self.at = (self.at / 64 + 1) * 64;
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        self.seek(true);
        let start = self.at;
        self.seek(false);
        (start < self.at).then_some(start..self.at)
    }
}

/// Merges neighbouring runs. `runs` must be in ascending order.
pub(super) fn merged<R>(runs: R) -> impl Iterator<Item = Range<usize>> + Clone
where
    R: Iterator<Item = Range<usize>> + Clone,
{
    let mut runs = runs.peekable();
    std::iter::from_fn(move || {
        let mut run = runs.next()?;
        while let Some(next) = runs.next_if(|next| next.start == run.end) {
            run.end = next.end;
        }
        Some(run)
    })
}
