//! States in checkpoints of jobs: what one rank continues from.

use crate::error::RestoreError;
use crate::restore::{Restored, rebuild};
use crate::start::Start;
use crate::state::State;
use std::ops::Range;
use tcasm_checkpoint::job::{JobCheckpoint, JobError, Places};
use tcasm_core::field::{self, Element, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;
use tcasm_core::with_dtype;
use tcasm_producer::ndarray::{ArrayD, Axis, Slice};
use tcasm_producer::{Builder, Group, Producer};

/// The attributes that say which part of a group a region is. Those of the new start count.
const OF_GROUP: [&str; 5] = ["group", "rank", "ranks", "local_ranks", "run"];

/// The state of one rank in a checkpoint of a job.
#[derive(Debug)]
pub struct RankState<'j> {
    job: &'j JobCheckpoint,
    rank: u32,
    region: String,
    stamp: Stamp,
    extent: Option<Extent>,
    table: FieldTable,
    /// The fields of the rank as they were, if there are as many ranks as were.
    stored: FieldTable,
}

impl<'j> RankState<'j> {
    /// Returns what a rank had, to be continued by the same rank of as many.
    pub fn of(job: &'j JobCheckpoint, rank: u32) -> Result<Self, RestoreError> {
        let mut own = job.rank(rank)?;
        for name in OF_GROUP {
            own.table.attrs.remove(name);
        }
        Ok(RankState {
            job,
            rank,
            region: own.region,
            stamp: own.stamp,
            extent: own.extent,
            stored: own.table.clone(),
            table: own.table,
        })
    }

    /// Returns what the fields of `producer` are to have, which is rank `group` of any number of
    /// ranks. The values of a global array come from the blocks that overlap the new one, ghost
    /// layers inside the array among them; other ghost layers keep their values. Fields that are
    /// local to their rank need the same number of ranks, or this fails.
    ///
    /// The producer must have all fields of the checkpoint that its rank had.
    pub fn for_blocks(
        job: &'j JobCheckpoint,
        group: &Group,
        producer: &Producer,
    ) -> Result<Self, RestoreError> {
        for name in job.fields() {
            job.check_ranks(name, group.ranks())?;
        }
        Self::chosen(job, group, producer, |_| Ok(true))
    }

    /// Does the same with the global arrays only. The program makes its local fields itself.
    pub fn of_global(
        job: &'j JobCheckpoint,
        group: &Group,
        producer: &Producer,
    ) -> Result<Self, RestoreError> {
        Self::chosen(job, group, producer, |name| Ok(job.is_global(name)?))
    }

    fn chosen(
        job: &'j JobCheckpoint,
        group: &Group,
        producer: &Producer,
        chosen: impl Fn(&str) -> Result<bool, RestoreError>,
    ) -> Result<Self, RestoreError> {
        let same = group.ranks() == job.ranks();
        let any = match same {
            true => group.rank(),
            false => job.lowest_here().unwrap_or(0),
        };
        let any = job.rank(any)?;
        let mut fields = Vec::new();
        for name in job.fields() {
            let here = producer.description(name);
            // A field may be one of other ranks only.
            let is_own = here.is_some() || !same || any.table.get(name).is_some();
            if !is_own || !chosen(name)? {
                continue;
            }
            let here = here.ok_or_else(|| RestoreError::NoField {
                region: job.group().to_owned(),
                name: name.to_owned(),
            })?;
            check_global(job, here)?;
            fields.push(here.clone());
        }
        let table = FieldTable {
            fields,
            ..FieldTable::default()
        };
        Ok(RankState {
            job,
            rank: group.rank(),
            region: producer.name().to_owned(),
            stamp: any.stamp,
            extent: None,
            table,
            stored: if same {
                any.table
            } else {
                FieldTable::default()
            },
        })
    }

    /// Reads a block of a global array, and the ghost layers that are inside the array.
    fn read_block<T: Element>(
        &self,
        here: &FieldDesc,
        bytes: &mut [u8],
    ) -> Result<(), RestoreError> {
        let Some(place) = &here.global else {
            return Ok(self.job.read_block(self.rank, &here.name, bytes)?);
        };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut inside: Vec<Range<usize>> = Vec::new();
        for (axis, n) in here.shape.iter().enumerate() {
            let before = here.ghosts[axis][0];
            // The global index of the first value in memory may be negative.
            let skip = before.saturating_sub(place.offset[axis]);
            let start = place.offset[axis] + skip - before;
            let end = (start + n - skip).min(place.shape[axis]);
            inside.push(skip..skip + (end - start));
            ranges.push(start..end);
        }
        let values: ArrayD<T> = self.job.read(&here.name, &ranges)?;
        let mut view = field::view_mut::<T>(here, bytes).map_err(JobError::from)?;
        for (axis, range) in inside.into_iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::from(range));
        }
        view.assign(&values);
        Ok(())
    }
}

/// Checks that a field is a block of the same global array as in the checkpoint, if it is one
/// there.
fn check_global(job: &JobCheckpoint, here: &FieldDesc) -> Result<(), RestoreError> {
    if !job.is_global(&here.name)? {
        return Ok(());
    }
    let there = job.global(&here.name)?;
    let shape = here.global.as_ref().map(|place| &place.shape);
    let facts = [
        (
            "global shape",
            format!("{shape:?}"),
            format!("{:?}", Some(&there.shape)),
        ),
        ("dtype", here.dtype.to_string(), there.dtype.to_string()),
        (
            "number of components",
            here.components.to_string(),
            there.components.to_string(),
        ),
    ];
    match facts.into_iter().find(|(_, here, there)| here != there) {
        None => Ok(()),
        Some((what, here_is, there)) => Err(RestoreError::OtherField {
            name: here.name.clone(),
            what,
            here: here_is,
            there,
        }),
    }
}

impl State for RankState<'_> {
    fn region(&self) -> &str {
        &self.region
    }

    fn stamp(&self) -> Stamp {
        self.stamp
    }

    fn table(&self) -> &FieldTable {
        &self.table
    }

    fn extent(&self) -> Option<Extent> {
        self.extent
    }

    fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), RestoreError> {
        let here = self.table.get(name).ok_or_else(|| RestoreError::NoField {
            region: self.region.clone(),
            name: name.to_owned(),
        })?;
        // A block that is as it was is read with all of its ghost layers.
        let form = |f: &FieldDesc| (f.shape.clone(), f.ghosts.clone(), f.order, f.global.clone());
        let stored = self.stored.get(name);
        match stored.is_some_and(|stored| form(stored) == form(here)) {
            true => Ok(self.job.read_block(self.rank, name, bytes)?),
            false => with_dtype!(here.dtype, T => self.read_block::<T>(here, bytes)),
        }
    }
}

/// Continues the ranks of a job.
///
/// The region becomes that of the same rank in the checkpoint, with the name and all other settings
/// of the builder, to which `group` was given. With another number of ranks this fails: define the
/// fields, and [load](crate::Load) a [`RankState::for_blocks`].
pub trait ContinueJob: Sized {
    /// Continues this rank from the newest committed checkpoint of its job of which every block can
    /// be read, or begins a new region if none was ever committed. All ranks that are given the
    /// same `places` continue from the same step, or get an error: the first one that comes chooses
    /// it ([`JobCheckpoint::find_together`]). So each start of the job must be a run of another
    /// name, and all ranks must be able to write into the slow folder.
    fn restore_job_or_begin(self, group: &Group, places: &Places) -> Result<Start, RestoreError>;

    /// Continues this rank from the checkpoint of this very step. This is for ranks that can talk
    /// to each other: one of them [finds](JobCheckpoint::find) the step and gives it to the others,
    /// or one of each host [brings](JobCheckpoint::find_with) what its ranks need. So no rank
    /// writes anything beside the manifest.
    fn restore_job_at(
        self,
        group: &Group,
        places: &Places,
        step: u64,
    ) -> Result<Restored, RestoreError>;
}

impl ContinueJob for Builder {
    fn restore_job_or_begin(self, group: &Group, places: &Places) -> Result<Start, RestoreError> {
        let member = group.member(group_of(&self, group));
        match JobCheckpoint::find_together(places, &member)? {
            None => Ok(Start::New(self.create()?)),
            Some(job) => restore(self, group, places, &job).map(Start::Restored),
        }
    }

    fn restore_job_at(
        self,
        group: &Group,
        places: &Places,
        step: u64,
    ) -> Result<Restored, RestoreError> {
        let job = JobCheckpoint::find_at(group_of(&self, group), places, step)?;
        restore(self, group, places, &job)
    }
}

/// Returns the name of the group that the region of a builder belongs to.
fn group_of<'b>(builder: &'b Builder, group: &Group) -> &'b str {
    let suffix = format!(".{}", group.rank());
    builder
        .name()
        .strip_suffix(&suffix)
        .unwrap_or(builder.name())
}

fn restore(
    builder: Builder,
    group: &Group,
    places: &Places,
    job: &JobCheckpoint,
) -> Result<Restored, RestoreError> {
    if job.ranks() != group.ranks() {
        return Err(RestoreError::OtherRanks {
            group: job.group().to_owned(),
            step: job.step(),
            stored: job.ranks(),
            asked: group.ranks(),
        });
    }
    let state = RankState::of(job, group.rank())?;
    let from = job.path_of(group.rank()).unwrap_or(&places.slow).to_owned();
    Ok(Restored {
        producer: rebuild(builder, &state)?,
        stamp: state.stamp,
        from,
        passed_over: Vec::new(),
    })
}
