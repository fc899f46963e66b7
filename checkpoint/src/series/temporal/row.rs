//! The next row of a time series: what of a version is new, and what earlier files hold already.

use super::arrays::{self, MadeArray};
use super::contents::{self, MadeRow, Row};
use super::part::Part;
use crate::error::WriteError;
use crate::snapshot::Snapshot;
use crate::write::layouts::vtkhdf::{Made, Plan, defect};
use tcasm_core::field::{FieldDesc, MeshDesc, MeshKind};
use xxhash_rust::xxh3::xxh3_128;

/// The row of a version. Values that are new are to be written to the next file of rows.
pub struct NewRow<'t> {
    /// The row.
    pub row: Row,
    /// The checksums of the fields.
    pub hashes: Vec<[u64; 2]>,
    /// The arrays that are to be made, with their numbers.
    pub made: Vec<(usize, Made<'t>)>,
}

impl<'t> NewRow<'t> {
    /// Returns the row of `snapshot`, which has the meshes of `plan`, after the versions of `part`.
    /// `changed` may return false for fields that have not changed. Fails if the cells of a mesh
    /// cannot be used.
    pub fn of(
        part: &Part,
        snapshot: &Snapshot<'t>,
        plan: &Plan<'t>,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<Self, WriteError> {
        let fields = snapshot.table.fields.iter().enumerate();
        let all = fields.map(|(at, field)| file_of(part, snapshot, (at, field), &changed));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let (files, hashes) = all.into_iter().unzip();
        let mut new = NewRow {
            row: Row {
                stamp: snapshot.stamp,
                files,
                chapter: None,
                lens: Vec::new(),
                made: Vec::new(),
                blocks: contents::blocks(snapshot.table),
            },
            hashes,
            made: Vec::new(),
        };
        if part.contents.has_lengths() {
            new.check_cells(part, snapshot)?;
            let fields = snapshot.table.fields.iter();
            new.row.lens = fields.map(|field| field.length() as u64).collect();
            new.make(part, snapshot, plan);
        }
        Ok(new)
    }

    /// Checks the cells of each mesh of which any geometry is new.
    fn check_cells(&self, part: &Part, snapshot: &Snapshot<'_>) -> Result<(), WriteError> {
        for mesh in &snapshot.table.meshes {
            if !self.has_new(part, snapshot, mesh) {
                continue;
            }
            if let Some(why) = defect(snapshot, mesh)? {
                let mesh = mesh.name.clone();
                return Err(WriteError::Cells { mesh, why });
            }
        }
        Ok(())
    }

    /// Returns true if any geometry of `mesh` is to be written.
    fn has_new(&self, part: &Part, snapshot: &Snapshot<'_>, mesh: &MeshDesc) -> bool {
        let geometry = mesh.geometry();
        let mut fields = snapshot.table.fields.iter().zip(&self.row.files);
        fields.any(|(field, file)| *file == part.next && geometry.contains(&field.name.as_str()))
    }

    /// Finds the arrays that are made for VTK in earlier files, or lists them to be made.
    fn make(&mut self, part: &Part, snapshot: &Snapshot<'t>, plan: &Plan<'t>) {
        let table = arrays::at_capacity(snapshot.table);
        let most = Plan::of_series(&table, part.contents.moves());
        let most = arrays::made(&most);
        for (number, array) in arrays::made(plan).into_iter().enumerate() {
            let count = array.made.shape()[0] as u64;
            let before = newest(part).and_then(|row| Some((row, *row.made.get(number)?)));
            let stays = || has_stayed(part, &array);
            let same = before.filter(|(row, _)| stays() && self.is_same(snapshot, row, &array));
            let longer = before.filter(|(_, made)| is_beginning(&array, made, count));
            if let Some((_, made)) = same.or(longer) {
                self.row.made.push(MadeRow { count, ..made });
                continue;
            }
            let largest = most.get(number).map(|array| array.made.shape()[0]);
            let new = grown(array.made, largest.unwrap_or_default());
            self.row.made.push(MadeRow {
                file: part.next,
                stored: new.shape()[0] as u64,
                count,
            });
            self.made.push((number, new));
        }
    }

    /// Returns true if `array` depends on no field that has changed since the version `before`.
    fn is_same(&self, snapshot: &Snapshot<'_>, before: &Row, array: &MadeArray<'_, '_>) -> bool {
        let geometry = array.shown.mesh.map(MeshDesc::geometry).unwrap_or_default();
        let sources = array.made.fields();
        let is_same = |(at, field): (usize, &FieldDesc)| {
            let is_source = sources.iter().any(|source| source.name == field.name);
            let has_len = before.lens.get(at) == self.row.lens.get(at);
            let is_stored = before.files.get(at) == self.row.files.get(at);
            !geometry.contains(&field.name.as_str()) || has_len && (is_stored || !is_source)
        };
        snapshot.table.fields.iter().enumerate().all(is_same)
    }
}

/// Returns true unless `array` is that of a uniform mesh that has changed since the newest version
/// of `part`. Only points depend on where the mesh is.
fn has_stayed(part: &Part, array: &MadeArray<'_, '_>) -> bool {
    let Some(mesh) = array.shown.mesh else {
        return true;
    };
    let before = part.contents.table.mesh(&mesh.name);
    match (&mesh.kind, before.map(|before| &before.kind)) {
        (MeshKind::Uniform { points, .. }, Some(MeshKind::Uniform { points: then, .. }))
            if !matches!(array.made, Made::Axes(_)) =>
        {
            points == then
        }
        (MeshKind::Uniform { .. }, before) => before == Some(&mesh.kind),
        _ => true,
    }
}

/// Returns the number of the file of rows that holds `field`, which has the index `at`, and its
/// checksum. If it is new, that is the next file.
fn file_of(
    part: &Part,
    snapshot: &Snapshot<'_>,
    (at, field): (usize, &FieldDesc),
    changed: impl Fn(&FieldDesc) -> bool,
) -> Result<(u64, [u64; 2]), WriteError> {
    let before = newest(part).filter(|row| len_before(row, at, field) == field.length() as u64);
    let before = before.map(|row| (row.files[at], part.contents.newest[at]));
    if let Some(unchanged) = before.filter(|_| !changed(field)) {
        return Ok(unchanged);
    }
    let hash = checksum(snapshot.bytes(field)?);
    let same = before.filter(|(_, before)| *before == hash);
    Ok((same.map_or(part.next, |(file, _)| file), hash))
}

/// Returns the newest version of `part`, if the checksums of its fields are known.
fn newest(part: &Part) -> Option<&Row> {
    let newest = part.contents.versions.last();
    newest.filter(|row| part.contents.newest.len() == row.files.len())
}

/// Returns the length of `field`, which has the index `at`, in the version `row`.
fn len_before(row: &Row, at: usize, field: &FieldDesc) -> u64 {
    let len = row.lens.get(at).copied();
    len.unwrap_or_else(|| field.length() as u64)
}

/// Returns true if `array` is the beginning of what a file holds as `made`. On a grid the array may
/// differ: if an axis has a single point, its cells have other types.
fn is_beginning(array: &MadeArray<'_, '_>, made: &MadeRow, count: u64) -> bool {
    let kind = array.shown.mesh.map(|mesh| &mesh.kind);
    let keeps_cells = matches!(
        kind,
        Some(MeshKind::Unstructured { .. } | MeshKind::Particles { .. })
    );
    keeps_cells && array.made.with_count(0).is_some() && count <= made.stored
}

/// Returns `made` with more values, if it can have them, so that the next versions can use them
/// too: up to twice as many, but at most `largest`.
fn grown<'t>(made: &Made<'t>, largest: usize) -> Made<'t> {
    let count = made.shape()[0];
    let more = count.saturating_mul(2).min(largest).max(count);
    made.with_count(more).unwrap_or_else(|| made.clone())
}

/// Returns the xxh3 of `bytes`, as two words.
fn checksum(bytes: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(bytes);
    [(hash >> 64) as u64, hash as u64]
}
