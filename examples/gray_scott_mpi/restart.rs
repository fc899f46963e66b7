//! Reads the planes of a rank from a checkpoint of the job. A host needs to reach its own folder
//! only: the first rank of each host brings what the ranks of its host need, by messages.

use crate::messages::Letters;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use ndarray::{ArrayViewMut3, Ix3};
use std::fs::DirBuilder;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{Block, JobCheckpoint, JobError, Places};
use tcasm_examples::{Failure, Planes};

/// Reads the planes of fields of `group` from the newest checkpoint of which every block is in some
/// folder, and returns its step. `folders` are those that this host reaches.
pub fn read(
    world: &SimpleCommunicator,
    group: &str,
    (slow, folders): (&Path, &[PathBuf]),
    planes: Planes,
    fields: [(&str, ArrayViewMut3<'_, f64>); 2],
) -> Result<u64, Failure> {
    let host = ranks_of_host(world, folders);
    // The files that the host gets come into this folder.
    let mut process = std::process::id();
    host.process_at_rank(0).broadcast_into(&mut process);
    let dir = std::env::temp_dir().join(format!("{group}-{process}"));
    let places = Places::new(slow, folders).rebuild_in(&dir).only_own();
    let is_first = host.rank() == 0;
    if is_first {
        // Nobody else may put files there.
        DirBuilder::new().mode(0o700).create(&dir)?;
    }
    let read = find(world, &host, (group, &places), planes)
        .and_then(|job| read_from(&job, planes, fields));
    host.barrier();
    if is_first {
        std::fs::remove_dir_all(&dir)?;
    }
    read
}

/// Returns the ranks of this host that were given the same folders.
fn ranks_of_host(world: &SimpleCommunicator, folders: &[PathBuf]) -> SimpleCommunicator {
    let mut hasher = DefaultHasher::new();
    folders.hash(&mut hasher);
    let color = Color::with_value((hasher.finish() >> 33) as i32);
    let host = world.split_shared(world.rank());
    // There is none only for an undefined color.
    host.split_by_color(color).unwrap_or(host)
}

/// Opens the same checkpoint on all ranks: the first ranks of hosts find it, and the others learn
/// its step.
fn find(
    world: &SimpleCommunicator,
    host: &SimpleCommunicator,
    (group, places): (&str, &Places),
    planes: Planes,
) -> Result<JobCheckpoint, Failure> {
    let parts = parts_of_host(host, planes);
    let [_, ny, nx] = planes.grid;
    let needs = |block: &Block| {
        let mut parts = parts.iter();
        parts.any(|part| block.overlaps(&[part.clone(), 0..ny, 0..nx]))
    };
    let color = match host.rank() {
        0 => Color::with_value(0),
        _ => Color::undefined(),
    };
    let first = world.split_by_color(color).map(|first| {
        let found = JobCheckpoint::find_with(&mut Letters(first), (group, None), places, needs)?;
        let (group, dir) = (group.to_owned(), places.slow.clone());
        found.ok_or(JobError::NoneCommitted { group, dir })
    });
    // The number of steps that were found, and the step.
    let mut told = match &first {
        Some(Ok(job)) => [1, job.step()],
        _ => [0, 0],
    };
    host.process_at_rank(0).broadcast_into(&mut told);
    match (first, told) {
        (Some(found), _) => Ok(found?),
        (None, [0, _]) => {
            let why = "the first rank of this host can read no checkpoint; its error says why";
            Err(io::Error::other(why).into())
        }
        (None, [_, step]) => Ok(JobCheckpoint::find_at(group, places, step)?),
    }
}

/// Returns the planes of all ranks of a host.
fn parts_of_host(host: &SimpleCommunicator, planes: Planes) -> Vec<Range<usize>> {
    let own = planes.range();
    let mut all = vec![0; 2 * host.size() as usize];
    host.all_gather_into(&[own.start as u64, own.end as u64], &mut all);
    let part = |ends: &[u64]| ends[0] as usize..ends[1] as usize;
    all.chunks_exact(2).map(part).collect()
}

fn read_from(
    job: &JobCheckpoint,
    planes: Planes,
    fields: [(&str, ArrayViewMut3<'_, f64>); 2],
) -> Result<u64, Failure> {
    let [_, ny, nx] = planes.grid;
    for (name, mut cells) in fields {
        let part = job.read::<f64>(name, &[planes.range(), 0..ny, 0..nx])?;
        cells.assign(&part.into_dimensionality::<Ix3>()?);
    }
    Ok(job.step())
}
