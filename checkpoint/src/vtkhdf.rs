//! One version as one static VTKHDF image file, which ParaView, VisIt and h5py open without a plugin.
//!
//! ```text
//! /VTKHDF                     the image: Version, Type, WholeExtent, Origin, Spacing, Direction
//!   PointData/ CellData/      the fields that lie on the file's grid, without ghost layers
//!   FieldData/                TimeValue, step, version
//! /tcasm                      format, region, version, step, time, free attributes (attr_*)
//!   table                     the field table as the index holds it (MessagePack)
//!   fields/<name>             every field, ghost layers included, its bytes as they lie in memory
//! ```
//!
//! An F-order field of shape (nx, ny, nz) has, as its bytes lie, the C-order shape (nz, ny, nx), which is what VTK
//! wants too: nothing is ever transposed. A field without ghost layers is stored once, under two names.

use crate::error::{Fault, WriteError};
use crate::grid::{Grid, memory_shape};
use crate::{Snapshot, atomic, attributes, data, seal};
use hdf5::file::LibraryVersion;
use hdf5::{Dataset, File, Group};
use std::path::Path;
use tcasm_core::field::{Centering, FieldDesc, FieldTable};
use xxhash_rust::xxh3::xxh3_64;

/// The newest layout of `/tcasm` that this program writes and reads.
pub(crate) const FORMAT: u64 = 1;

/// How the fields' bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are: the fastest to write.
    None,
    /// Shuffled and deflated at a level of 1 to 9: every HDF5 reader has these filters.
    Deflate(u8),
}

/// How to write.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the fields' bytes are stored.
    pub compression: Compression,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            compression: Compression::Deflate(1),
        }
    }
}

/// Write `snapshot` to `path` and return the size of the file. It appears whole or not at all: when this fails, what
/// was at `path` before is untouched and nothing else is left behind.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<u64, WriteError> {
    let table = snapshot.table.encode()?;
    FieldTable::decode(&table, u64::MAX, 1)?; // what could not be read must not be written
    atomic::write(path.as_ref(), |temp| {
        let ranges = fill(temp, snapshot, &table, options)?;
        Ok(seal::apply(temp, ranges)?)
    })
}

/// Write everything but the seal; returns where the fields' bytes are stored.
fn fill(
    path: &Path,
    snapshot: &Snapshot<'_>,
    table: &[u8],
    options: &Options,
) -> Result<Vec<seal::Range>, Fault> {
    let grid = Grid::of(snapshot.table);
    let file = File::with_options()
        .with_fapl(|p| {
            // Old readers open it; the newest format would shut out HDF5 1.10.
            p.libver_bounds(LibraryVersion::V18, LibraryVersion::V110)
                // Nobody else knows the file yet. A lock would outlive our closing it in every process
                // started meanwhile (they inherit HDF5's descriptors), and shut out all readers.
                .file_locking(false)
        })
        .create_excl(path)?;
    let groups = Groups::create(&file)?;
    groups.describe(snapshot, &grid, table)?;
    let mut stored = Vec::new();
    for field in &snapshot.table.fields {
        stored.extend(groups.store(&file, field, snapshot.bytes(field)?, &grid, options)?);
    }
    // Errors must come out here: they are lost when handles are dropped.
    file.flush()?;
    let ranges: Result<Vec<_>, _> = stored.iter().map(data::stored_at).collect();
    drop((stored, groups));
    file.close()?;
    Ok(ranges?.concat())
}

struct Groups {
    image: Group,
    points: Group,
    cells: Group,
    global: Group,
    own: Group,
    fields: Group,
}

impl Groups {
    fn create(file: &File) -> Result<Self, Fault> {
        let image = file.create_group("VTKHDF")?;
        let own = file.create_group("tcasm")?;
        Ok(Groups {
            points: image.create_group("PointData")?,
            cells: image.create_group("CellData")?,
            global: image.create_group("FieldData")?,
            fields: own.create_group("fields")?,
            image,
            own,
        })
    }

    fn describe(&self, snapshot: &Snapshot<'_>, grid: &Grid, table: &[u8]) -> Result<(), Fault> {
        describe_image(&self.image, grid)?;
        let stamp = snapshot.stamp;
        let one = |name, value: u64| {
            self.global
                .new_dataset_builder()
                .with_data(&[value])
                .create(name)
        };
        one("step", stamp.step)?;
        one("version", stamp.version)?;
        let time = self.global.new_dataset_builder();
        time.with_data(&[stamp.time]).create("TimeValue")?;

        attributes::number(&self.own, "format", FORMAT)?;
        attributes::text(&self.own, "region", snapshot.region)?;
        attributes::number(&self.own, "version", stamp.version)?;
        attributes::number(&self.own, "step", stamp.step)?;
        attributes::number(&self.own, "time", stamp.time)?;
        attributes::free(&self.own, &snapshot.table.attrs)?;
        self.own
            .new_dataset_builder()
            .with_data(table)
            .create("table")?;
        Ok(())
    }

    /// Store `field`: once when its bytes are what VTK wants, else all of it and its interior.
    fn store(
        &self,
        file: &File,
        field: &FieldDesc,
        bytes: &[u8],
        grid: &Grid,
        options: &Options,
    ) -> Result<Vec<Dataset>, Fault> {
        let (group, group_name) = match field.centering {
            Centering::Point => (&self.points, "PointData"),
            Centering::Cell => (&self.cells, "CellData"),
        };
        let name = &field.name;
        let stored = match grid.shape_of(field) {
            Some(shape) if !field.has_ghosts() => {
                let whole = data::write_whole(group, field, bytes, &shape, options)?;
                let (from, to) = (
                    format!("/VTKHDF/{group_name}/{name}"),
                    format!("/tcasm/fields/{name}"),
                );
                file.link_hard(&from, &to)?;
                vec![whole]
            }
            on_grid => {
                let shape = memory_shape(field);
                let mut all = vec![data::write_whole(
                    &self.fields,
                    field,
                    bytes,
                    &shape,
                    options,
                )?];
                if let Some(shape) = on_grid {
                    all.push(data::write_interior(group, field, bytes, &shape, options)?);
                }
                all
            }
        };
        attributes::describe(&stored[0], field)?;
        attributes::number(&stored[0], "xxh3", xxh3_64(bytes))?;
        Ok(stored)
    }
}

/// Extents start at 0 and name points, x first; `Direction` is required. Older readers fail otherwise.
fn describe_image(image: &Group, grid: &Grid) -> Result<(), Fault> {
    let [z, y, x] = grid.points.map(|n| n as i64 - 1);
    attributes::numbers(image, "Version", &[2_i64, 0])?;
    attributes::ascii::<9>(image, "Type", "ImageData")?;
    attributes::numbers(image, "WholeExtent", &[0, x, 0, y, 0, z])?;
    attributes::numbers(image, "Origin", &grid.mesh.origin)?;
    attributes::numbers(image, "Spacing", &grid.mesh.spacing)?;
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0_f64];
    attributes::numbers(image, "Direction", &identity)?;
    Ok(())
}
