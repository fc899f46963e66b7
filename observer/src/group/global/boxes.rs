//! Boxes of indices: one range for each axis.

use std::ops::Range;

pub(super) type Ranges = Vec<Range<usize>>;

/// Returns the common part of two boxes, or `None` if they have none.
pub(super) fn common(one: &[Range<usize>], other: &[Range<usize>]) -> Option<Ranges> {
    let axes = one.iter().zip(other);
    let common: Ranges = axes
        .map(|(a, b)| a.start.max(b.start)..a.end.min(b.end))
        .collect();
    (!is_empty(&common)).then_some(common)
}

pub(super) fn is_empty(ranges: &[Range<usize>]) -> bool {
    ranges.iter().any(Range::is_empty)
}

/// Returns the parts of `all` that are in none of `boxes`. No two of them overlap.
pub(super) fn uncovered<'b>(
    all: &[Range<usize>],
    boxes: impl Iterator<Item = &'b [Range<usize>]>,
) -> Vec<Ranges> {
    let mut left = match is_empty(all) {
        true => Vec::new(),
        false => vec![all.to_vec()],
    };
    for taken in boxes {
        left = left.into_iter().flat_map(|b| without(b, taken)).collect();
        if left.is_empty() {
            break;
        }
    }
    left
}

/// Returns the parts of `from` that are not in `taken`: at most two for each axis.
fn without(mut from: Ranges, taken: &[Range<usize>]) -> Vec<Ranges> {
    let Some(common) = common(&from, taken) else {
        return vec![from];
    };
    let mut parts = Vec::new();
    for (axis, inner) in common.into_iter().enumerate() {
        let outer = from[axis].clone();
        for side in [outer.start..inner.start, inner.end..outer.end] {
            if !side.is_empty() {
                let mut part = from.clone();
                part[axis] = side;
                parts.push(part);
            }
        }
        from[axis] = inner;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number below `n`, from a sequence that is the same in each run.
    fn next(state: &mut u64, n: usize) -> usize {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) as usize % n
    }

    fn any_box(state: &mut u64, sides: [usize; 3]) -> Ranges {
        let range = |n: usize| {
            let (a, b) = (next(state, n + 1), next(state, n + 1));
            a.min(b)..a.max(b)
        };
        sides.into_iter().map(range).collect()
    }

    fn has(ranges: &[Range<usize>], point: [usize; 3]) -> bool {
        ranges
            .iter()
            .zip(point)
            .all(|(range, i)| range.contains(&i))
    }

    #[test]
    fn each_index_is_in_a_box_or_in_one_part_that_is_left() {
        let state = &mut 1;
        for round in 0..300 {
            let sides = [5, 4, 6];
            let all = any_box(state, sides);
            let boxes: Vec<Ranges> = (0..round % 7).map(|_| any_box(state, sides)).collect();
            let left = uncovered(&all, boxes.iter().map(Vec::as_slice));
            for number in 0..sides.iter().product() {
                let point = [number / 24, number / 6 % 4, number % 6];
                let free = has(&all, point) && !boxes.iter().any(|b| has(b, point));
                let parts = left.iter().filter(|part| has(part, point)).count();
                assert_eq!(parts, usize::from(free), "{all:?} {boxes:?} {point:?}");
            }
        }
    }

    #[test]
    fn array_without_dimensions_is_one_value() {
        assert_eq!(uncovered(&[], [].into_iter()), [Ranges::new()]);
        let scalar: &[Range<usize>] = &[];
        assert!(uncovered(&[], [scalar].into_iter()).is_empty());
    }
}
