//! The choice of points that a screen shows, if there are more than it can show.
//!
//! Half of them are chosen by their numbers alone: those whose pseudo-random rank is below a
//! threshold. The other half stands for regions of space: of each box of a grid, the point with the
//! least rank. So each region with points is represented, dense regions have more points, and from
//! one version to the next almost the same points are chosen, however they move and however many
//! there are.

use super::points::{Places, is_usable};
use super::{Bounds, extend};

/// The points that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Their numbers, in ascending order.
    pub numbers: Vec<u32>,
    /// Number of points that cannot be drawn, because of their coordinates.
    pub invalid_points: usize,
    /// Number of all points.
    pub all: usize,
}

/// Chooses at most `most` of the points. Points beyond the first 2^32 are not chosen.
pub fn select(points: &impl Places, most: usize) -> Selection {
    let (all, count) = (points.count(), points.count().min(u32::MAX as usize));
    let mut bounds: Option<Bounds> = None;
    let usable = (0..count)
        .map(|number| points.get(number))
        .filter(|p| is_usable(*p));
    let usable = usable.fold(0, |usable, point| {
        extend(&mut bounds, point);
        usable + 1
    });
    let numbers = match bounds {
        None => Vec::new(),
        Some(_) if usable <= most => {
            let numbers = 0..count as u32;
            numbers
                .filter(|number| is_usable(points.get(*number as usize)))
                .collect()
        }
        Some(bounds) => some(points, count, &bounds, most),
    };
    Selection {
        numbers,
        invalid_points: all - usable,
        all,
    }
}

fn some(points: &impl Places, count: usize, bounds: &Bounds, most: usize) -> Vec<u32> {
    let boxes = Boxes::new(bounds, most / 2);
    let threshold = (u64::MAX / count as u64).saturating_mul(most as u64 / 2);
    // The least rank of the points in each box, with the number of that point.
    let mut least: Vec<Option<(u64, u32)>> = vec![None; boxes.count()];
    let mut random = Vec::new();
    for number in 0..count as u32 {
        let point = points.get(number as usize);
        if !is_usable(point) {
            continue;
        }
        let ranked = (rank(number), number);
        if ranked.0 <= threshold {
            random.push(number);
        }
        let least = &mut least[boxes.of(point)];
        *least = Some(least.map_or(ranked, |other| other.min(ranked)));
    }
    let others = least
        .into_iter()
        .flatten()
        .filter(|(rank, _)| *rank > threshold);
    let mut chosen: Vec<u32> = others.map(|(_, number)| number).take(most).collect();
    chosen.extend(random.into_iter().take(most - chosen.len()));
    chosen.sort_unstable();
    chosen
}

/// Returns a pseudo-random number for the number of a point, always the same one (splitmix64).
fn rank(number: u32) -> u64 {
    let mut x = u64::from(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A grid of cubes that covers some points.
struct Boxes {
    corner: [f64; 3],
    side: f64,
    counts: [usize; 3],
}

impl Boxes {
    /// Returns at most `most` boxes (but at least 8). Their sides are a power of two, and their
    /// corners multiples of it, so that the boxes stay where they are when the points move a bit.
    fn new([low, high]: &Bounds, most: usize) -> Self {
        let most = most.max(8);
        let longest = (0..3)
            .map(|axis| high[axis] - low[axis])
            .fold(0.0, f64::max);
        let side = (longest / most as f64).log2().floor().exp2();
        let mut boxes = Boxes::of_side(low, high, side.max(f64::MIN_POSITIVE));
        while boxes.count() > most {
            boxes = Boxes::of_side(low, high, boxes.side * 2.0);
        }
        boxes
    }

    fn of_side(low: &[f64; 3], high: &[f64; 3], side: f64) -> Self {
        let first = [0, 1, 2].map(|axis| (low[axis] / side).floor());
        // A number that is too large, or NaN, is converted to the nearest number or to 0.
        let count = |axis: usize| ((high[axis] / side).floor() - first[axis]) as usize;
        Boxes {
            corner: first.map(|first| first * side),
            side,
            counts: [0, 1, 2].map(|axis| count(axis).saturating_add(1)),
        }
    }

    fn count(&self) -> usize {
        self.counts.into_iter().fold(1, usize::saturating_mul)
    }

    /// Returns the number of the box that has the point.
    fn of(&self, point: [f64; 3]) -> usize {
        (0..3).fold(0, |number, axis| {
            let at = ((point[axis] - self.corner[axis]) / self.side) as usize;
            number * self.counts[axis] + at.min(self.counts[axis] - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    impl Places for Vec<[f64; 3]> {
        fn count(&self) -> usize {
            self.len()
        }
        fn get(&self, number: usize) -> [f64; 3] {
            self[number]
        }
    }

    /// Returns `count` points in a dense cube, and one far away in each direction.
    fn cube_and_outliers(count: usize, shift: f64) -> Vec<[f64; 3]> {
        let share = |i: usize| (i as f64 * 0.618_034).fract() + shift;
        let mut points: Vec<[f64; 3]> = (0..count)
            .map(|i| [share(i), share(7 * i + 1), share(13 * i + 5)])
            .collect();
        for axis in 0..3 {
            for far in [-50.0, 50.0] {
                let mut point = [0.5; 3];
                point[axis] = far;
                points.push(point);
            }
        }
        points
    }

    #[test]
    fn few_points_are_all_chosen_without_those_that_cannot_be_drawn() {
        let mut points = vec![[0.0; 3]; 5];
        points[1][0] = f64::NAN;
        points[2][1] = f64::NEG_INFINITY;
        points[3][2] = 1e31;
        let chosen = select(&points, 5);
        assert_eq!(
            (chosen.numbers, chosen.invalid_points, chosen.all),
            (vec![0, 4], 3, 5)
        );
    }

    #[test]
    fn each_region_with_points_is_represented() {
        let points = cube_and_outliers(100_000, 0.0);
        let chosen = select(&points, 1000).numbers;
        assert!((400..=1000).contains(&chosen.len()), "{}", chosen.len());
        for outlier in 100_000..100_006 {
            assert!(chosen.contains(&outlier), "{outlier}");
        }
        assert!(chosen.is_sorted());
    }

    #[test]
    fn almost_the_same_points_are_chosen_when_they_move_and_others_are_added() {
        let of = |points: &Vec<[f64; 3]>| -> HashSet<u32> {
            select(points, 2000).numbers.into_iter().collect()
        };
        let before = of(&cube_and_outliers(100_000, 0.0));
        let moved = of(&cube_and_outliers(100_000, 0.001));
        let mut more = cube_and_outliers(100_000, 0.0);
        more.extend(vec![[0.25; 3]; 2000]);
        for (what, after) in [("moved", moved), ("more", of(&more))] {
            let common = before.intersection(&after).count();
            assert!(
                common * 10 > before.len() * 9,
                "{what}: {common} of {}",
                before.len()
            );
        }
    }

    #[test]
    fn boxes_are_few_for_any_extent() {
        for (low, high) in [
            ([0.0; 3], [0.0; 3]),
            ([-1e30; 3], [1e30; 3]),
            ([-1.0, -1e-300, 0.0], [1.0, 1e-300, 5e-324]),
            ([1e30, 0.0, 0.0], [1e30, 1e-300, 0.0]),
            ([-5e-324; 3], [5e-324; 3]),
        ] {
            for most in [0, 1, 8, 1000] {
                let boxes = Boxes::new(&[low, high], most);
                assert!(
                    (1..=most.max(8)).contains(&boxes.count()),
                    "{low:?} {high:?} {most}"
                );
                for point in [low, high] {
                    assert!(boxes.of(point) < boxes.count(), "{point:?}");
                }
            }
        }
    }
}
