//! The choice of points that a screen shows, if there are more than it can show.
//!
//! Almost half of them are chosen by their numbers alone: those whose pseudo-random rank is below a
//! threshold. As many stand for regions of space: of each box of a grid, the point with the least
//! rank. So each region with points is represented, dense regions have more points, and from one
//! version to the next almost the same points are chosen, however they move and however many there
//! are.
//!
//! The rest, an eighth, is kept for points that must be seen: those whose value is not finite. They
//! differ from field to field and from version to version, so they are added to the choice.

use super::points::{Places, is_usable};
use super::{Bounds, extend};
use std::collections::BinaryHeap;

/// The part of the points that is kept for those that must be seen: one of so many.
const KEPT: usize = 8;

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

impl Selection {
    /// Returns the numbers of these points and of `others`, at most `most`, in ascending order.
    pub fn with(&self, others: Vec<u32>, most: usize) -> Vec<u32> {
        let mut numbers = others;
        numbers.extend(&self.numbers);
        numbers.sort_unstable();
        numbers.dedup();
        // The choice may be older than the others.
        numbers.truncate(most);
        numbers
    }
}

/// Returns how many of `most` points are kept for those that must be seen.
pub fn kept(most: usize) -> usize {
    most / KEPT
}

/// Some of the points that must be seen: those with the least ranks. So they are almost the same
/// ones from version to version.
pub struct Least {
    most: usize,
    points: BinaryHeap<(u64, u32)>,
}

impl Least {
    /// Returns a list for at most `most` points.
    pub fn new(most: usize) -> Self {
        let points = BinaryHeap::new();
        Least { most, points }
    }

    pub fn add(&mut self, number: u32) {
        let ranked = (rank(number), number);
        if self.points.len() < self.most {
            self.points.push(ranked);
        } else if let Some(mut worst) = self.points.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// Returns the numbers of the points.
    pub fn into_numbers(self) -> Vec<u32> {
        self.points.into_iter().map(|(_, number)| number).collect()
    }
}

/// Chooses at most `most` of the points: all that can be drawn, or as many as leave room for those
/// that must be seen. Points beyond the first 2^32 are not chosen.
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
        Some(bounds) => some(points, count, &bounds, most - kept(most)),
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
pub struct Boxes {
    corner: [f64; 3],
    side: f64,
    counts: [usize; 3],
}

impl Boxes {
    /// Returns at most `most` boxes (but at least 8). Their sides are a power of two, and their
    /// corners multiples of it, so that the boxes stay where they are when the points move a bit.
    pub fn new([low, high]: &Bounds, most: usize) -> Self {
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

    /// Returns boxes with sides that are twice as long, for the same points.
    pub fn coarser(&self, [low, high]: &Bounds) -> Self {
        Boxes::of_side(low, high, self.side * 2.0)
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

    pub fn count(&self) -> usize {
        self.counts.into_iter().fold(1, usize::saturating_mul)
    }

    /// Returns the number of the box that has the point.
    pub fn of(&self, point: [f64; 3]) -> usize {
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
    fn choice_leaves_room_for_points_that_must_be_seen() {
        let chosen = select(&cube_and_outliers(100_000, 0.0), 1000);
        let mut least = Least::new(kept(1000));
        (50_000..100_000).for_each(|number| least.add(number));
        let others = least.into_numbers();
        assert_eq!(others.len(), 125);
        let all = chosen.with(others.clone(), 1000);
        let is_there = |number: &u32| all.binary_search(number).is_ok();
        assert!(others.iter().all(is_there) && chosen.numbers.iter().all(is_there));
        assert!(all.len() <= 1000 && all.is_sorted());
    }

    #[test]
    fn points_with_the_least_ranks_are_kept_in_any_order() {
        let of = |numbers: &mut dyn Iterator<Item = u32>, most: usize| {
            let mut least = Least::new(most);
            numbers.for_each(|number| least.add(number));
            least.into_numbers().into_iter().collect::<HashSet<u32>>()
        };
        let up = of(&mut (0..1000), 10);
        assert_eq!((up.len(), &up), (10, &of(&mut (0..1000).rev(), 10)));
        let least = up.iter().map(|number| rank(*number)).max().unwrap();
        let better = (0..1000).filter(|number| rank(*number) <= least);
        assert_eq!(better.count(), 10);
        assert!(of(&mut (0..5), 0).is_empty());
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
