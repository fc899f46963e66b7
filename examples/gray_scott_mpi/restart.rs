//! Reads the planes of a rank from a checkpoint of the job.

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Root};
use ndarray::{ArrayViewMut3, Ix3};
use std::io;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobCheckpoint, Places};
use tcasm_examples::{Failure, Planes};

/// Reads the planes of fields of `group` from the newest checkpoint that rank 0 can read, and
/// returns its step.
pub fn read(
    world: &SimpleCommunicator,
    group: &str,
    (slow, nodes): (&Path, &[PathBuf]),
    planes: Planes,
    fields: [(&str, ArrayViewMut3<'_, f64>); 2],
) -> Result<u64, Failure> {
    // Files of nodes that are lost are rebuilt here.
    let dir = std::env::temp_dir().join(format!("{group}-{}", std::process::id()));
    let places = Places::new(slow, nodes).rebuild_in(&dir);
    std::fs::create_dir_all(&dir)?;
    let read = find(world, group, &places).and_then(|job| read_from(&job, planes, fields));
    std::fs::remove_dir_all(&dir)?;
    read
}

/// Opens the same checkpoint on all ranks. Rank 0 finds it, and tells the others its step: if each
/// looked for itself, a file that vanishes meanwhile could make them continue from different steps.
fn find(
    world: &SimpleCommunicator,
    group: &str,
    places: &Places,
) -> Result<JobCheckpoint, Failure> {
    let first = (world.rank() == 0).then(|| JobCheckpoint::find(group, places, None));
    // The number of steps that were found, and the step.
    let mut told = match &first {
        Some(Ok(job)) => [1, job.step()],
        _ => [0, 0],
    };
    world.process_at_rank(0).broadcast_into(&mut told);
    match (first, told) {
        (Some(found), _) => Ok(found?),
        (None, [0, _]) => {
            let why = "rank 0 can read no checkpoint; its error says why";
            Err(io::Error::other(why).into())
        }
        (None, [_, step]) => Ok(JobCheckpoint::find_at(group, places, step)?),
    }
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
