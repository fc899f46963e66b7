//! How many registrations cover each address.

use std::collections::BTreeMap;
use std::ops::Range;

/// Counts how many ranges cover each address. Ranges may overlap.
///
/// What belongs to a page as a whole, such as its lock in memory, must end with the last range
/// that covers the page, and not with the first.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// The number of ranges that cover the addresses from a boundary to the next one. Neighbours
    /// have different numbers, and the last one is 0.
    from: BTreeMap<usize, usize>,
}

impl Coverage {
    /// Adds a range.
    pub fn add(&mut self, range: &Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.split(range);
        for count in self.from.range_mut(range.clone()).map(|(_, n)| n) {
            *count += 1;
        }
        self.join(range);
    }

    /// Removes a range that was added, and returns the parts of it that no range covers any more.
    pub fn remove(&mut self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut bare: Vec<Range<usize>> = Vec::new();
        if range.is_empty() {
            return bare;
        }
        self.split(range);
        let starts: Vec<usize> = self.from.range(range.clone()).map(|(at, _)| *at).collect();
        let ends = starts.iter().copied().skip(1).chain([range.end]);
        for (start, end) in starts.iter().copied().zip(ends) {
            let count = self.from.entry(start).or_default();
            let had = *count;
            *count = had.saturating_sub(1);
            if had == 1 {
                match bare.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => bare.push(start..end),
                }
            }
        }
        self.join(range);
        bare
    }

    /// Returns the number of ranges that cover the address.
    pub fn at(&self, address: usize) -> usize {
        self.from
            .range(..=address)
            .next_back()
            .map_or(0, |(_, n)| *n)
    }

    /// Makes both ends of the range boundaries.
    fn split(&mut self, range: &Range<usize>) {
        for at in [range.start, range.end] {
            let count = self.at(at);
            self.from.entry(at).or_insert(count);
        }
    }

    /// Removes boundaries at and in the range between equal numbers.
    fn join(&mut self, range: &Range<usize>) {
        let mut last = range
            .start
            .checked_sub(1)
            .map_or(0, |before| self.at(before));
        let inside = self.from.range(range.start..=range.end);
        let mut equal = Vec::new();
        for (at, count) in inside {
            if *count == last {
                equal.push(*at);
            }
            last = *count;
        }
        for at in equal {
            self.from.remove(&at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_counts_as_one_number_per_address_does(
            ranges in prop::collection::vec((0usize..40, 0usize..12), 1..20),
            removed in prop::collection::vec(any::<bool>(), 20),
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(at, len)| at..at + len).collect();
            let (mut coverage, mut counts) = (Coverage::default(), [0usize; 64]);
            for range in &ranges {
                coverage.add(range);
                range.clone().for_each(|at| counts[at] += 1);
            }
            for (range, _) in ranges.iter().zip(removed).filter(|(_, removed)| *removed) {
                let bare: Vec<usize> = coverage.remove(range).into_iter().flatten().collect();
                range.clone().for_each(|at| counts[at] -= 1);
                let expected: Vec<usize> = range.clone().filter(|at| counts[*at] == 0).collect();
                prop_assert_eq!(bare, expected);
            }
            for (at, count) in counts.iter().enumerate() {
                prop_assert_eq!(coverage.at(at), *count);
            }
        }
    }

    #[test]
    fn nothing_remains_of_ranges_that_are_removed() {
        let mut coverage = Coverage::default();
        coverage.add(&(0..10));
        coverage.add(&(5..20));
        assert_eq!(coverage.remove(&(0..10)).pop(), Some(0..5));
        assert_eq!(coverage.remove(&(5..20)).pop(), Some(5..20));
        assert!(coverage.from.is_empty(), "{coverage:?}");
    }
}
