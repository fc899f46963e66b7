//! The addresses of a region that the program still has mapped. It may map the same part several
//! times: all of these mappings have the same addresses here, so they are counted.

use std::ops::Range;

/// Mapped ranges of addresses, which may overlap.
#[derive(Debug, Default)]
pub struct Spans(Vec<Range<usize>>);

impl Spans {
    /// Adds a mapping.
    pub fn map(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    /// Takes each address of `range` out of one of the mappings that have it.
    pub fn unmap(&mut self, range: Range<usize>) {
        let mut to_take = vec![range];
        let mut kept = Vec::new();
        for span in self.0.drain(..) {
            let mut pieces = vec![span];
            let mut not_taken = Vec::new();
            for gone in to_take {
                let parts = pieces.iter().map(|piece| common(piece, &gone));
                let taken: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
                pieces = without_all(pieces, &taken);
                not_taken.extend(without_all(vec![gone], &taken));
            }
            kept.extend(pieces);
            to_take = not_taken;
        }
        self.0 = kept;
    }

    /// Returns true if nothing is mapped any more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the addresses that are in both ranges.
pub fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Returns the parts of `ranges` that are in none of `holes`.
pub fn without_all(ranges: Vec<Range<usize>>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    holes.iter().fold(ranges, |ranges, hole| {
        let around = |range: Range<usize>| {
            let cut = common(&range, hole);
            match cut.is_empty() {
                true => vec![range],
                false => vec![range.start..cut.start, cut.end..range.end],
            }
        };
        let parts = ranges.into_iter().flat_map(around);
        parts.filter(|part| !part.is_empty()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAST: usize = 24;

    fn ranges() -> impl Strategy<Value = Vec<(bool, Range<usize>)>> {
        let range = (0..LAST, 0..LAST).prop_map(|(a, b)| a.min(b)..a.max(b));
        proptest::collection::vec((any::<bool>(), range), 0..20)
    }

    proptest! {
        #[test]
        fn each_address_is_mapped_as_often_as_it_was_mapped_and_not_unmapped(steps in ranges()) {
            let (mut spans, mut counts) = (Spans::default(), [0usize; LAST]);
            for (maps, range) in steps {
                for at in range.clone() {
                    counts[at] = if maps { counts[at] + 1 } else { counts[at].saturating_sub(1) };
                }
                match maps {
                    true => spans.map(range),
                    false => spans.unmap(range),
                }
                for (at, count) in counts.iter().enumerate() {
                    let found = spans.0.iter().filter(|span| span.contains(&at)).count();
                    prop_assert_eq!(found, *count, "address {}", at);
                }
                prop_assert_eq!(spans.is_empty(), counts.iter().all(|count| *count == 0));
            }
        }
    }
}
