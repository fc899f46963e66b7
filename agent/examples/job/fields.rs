//! The fields of a rank, and their values at each step.

use crate::Failure;
use tcasm_observer::GroupVersion;
use tcasm_producer::ndarray::Ix1;
use tcasm_producer::{Field, Group, Producer};
use tcasm_tests::ranks::value;

/// The values that each rank has of the global array `u`. All change in each step.
const LENGTH: usize = 20_000;
/// The values of the local field `part`. One of [`STRIPES`] parts changes in each step.
const PART: usize = 16 * 8192;
const STRIPES: usize = 16;

/// Returns value `i` of `part` at `step`: that of the last step that has written it.
fn part_value(rank: u32, step: u64, i: usize) -> u64 {
    let stripe = (i / (PART / STRIPES)) as u64;
    let behind = (step + STRIPES as u64 - stripe) % STRIPES as u64;
    match step.checked_sub(behind) {
        None | Some(0) => 0,
        Some(written) => value(rank, written, i),
    }
}

/// The region of a rank.
pub struct Region {
    pub producer: Producer,
    rank: u32,
    u: Field<u64, Ix1>,
    part: Field<u64, Ix1>,
}

impl Region {
    /// Creates the region of a rank with the values of `step`.
    pub fn create(group: &str, place: Group, step: u64) -> Result<Region, Failure> {
        let (rank, ranks) = (place.rank(), place.ranks());
        let mut producer = Producer::builder(group)
            .group(place)
            .capacity(8 << 20)
            .history(3)
            .versions(12)
            .create()?;
        let u = producer.field::<u64, _>("u", [LENGTH]);
        let u = u
            .global([LENGTH * ranks as usize])
            .at([LENGTH * rank as usize])
            .add()?;
        let part = producer.field::<u64, _>("part", [PART]).add()?;
        for (i, v) in producer.view_mut(part)?.iter_mut().enumerate() {
            *v = part_value(rank, step, i);
        }
        Ok(Region {
            producer,
            rank,
            u,
            part,
        })
    }

    /// Computes a step in place, from the one before.
    pub fn compute(&mut self, step: u64) -> Result<(), Failure> {
        for (i, v) in self.producer.view_mut(self.u)?.iter_mut().enumerate() {
            *v = value(self.rank, step, i);
        }
        let first = (step as usize % STRIPES) * (PART / STRIPES);
        let mut view = self.producer.view_mut(self.part)?;
        for (i, v) in view.iter_mut().enumerate().skip(first).take(PART / STRIPES) {
            *v = value(self.rank, step, i);
        }
        Ok(())
    }
}

/// Returns the number of blocks of both fields, and of values that are wrong.
pub fn check(version: &GroupVersion) -> Result<(usize, usize), Failure> {
    let (mut blocks, mut wrong) = (0, 0);
    let step = version.step();
    for (rank, member) in version.members() {
        let view = member.view()?;
        let u = view.array::<u64>("u")?;
        wrong += (0..LENGTH)
            .filter(|&i| u[[i]] != value(rank, step, i))
            .count();
        let part = view.array::<u64>("part")?;
        wrong += (0..PART)
            .filter(|&i| part[[i]] != part_value(rank, step, i))
            .count();
        blocks += 2;
    }
    Ok((blocks, wrong))
}
