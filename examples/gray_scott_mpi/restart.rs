//! Reads the planes of a rank from a checkpoint of the job.

use ndarray::{ArrayViewMut3, Ix3};
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobCheckpoint, Places};
use tcasm_examples::{Failure, Planes};

/// Reads the planes of fields of `group` from the newest checkpoint that can be read, and returns
/// its step. All ranks find the same one, because they get the same folders.
pub fn read(
    group: &str,
    (slow, nodes): (&Path, &[PathBuf]),
    planes: Planes,
    fields: [(&str, ArrayViewMut3<'_, f64>); 2],
) -> Result<u64, Failure> {
    // Files of nodes that are lost are rebuilt here.
    let dir = std::env::temp_dir().join(format!("{group}-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let read = read_from(
        group,
        Places::new(slow, nodes).rebuild_in(&dir),
        planes,
        fields,
    );
    std::fs::remove_dir_all(&dir)?;
    read
}

fn read_from(
    group: &str,
    places: Places,
    planes: Planes,
    fields: [(&str, ArrayViewMut3<'_, f64>); 2],
) -> Result<u64, Failure> {
    let job = JobCheckpoint::find(group, &places, None)?;
    let [_, ny, nx] = planes.grid;
    for (name, mut cells) in fields {
        let part = job.read::<f64>(name, &[planes.range(), 0..ny, 0..nx])?;
        cells.assign(&part.into_dimensionality::<Ix3>()?);
    }
    Ok(job.step())
}
