//! Selects what a file stores of a version: some of its fields, a part of each, or rounded values.
//!
//! The field table of a file names the fields that the file lacks or has only a part of, and those
//! whose values are rounded, so that no simulation restarts from it by mistake. The writer of the
//! file rounds the values, block by block. The geometry of a mesh is stored with the fields on it,
//! and is never rounded. Checkpoints for restarts have all meshes. If only a part of each field is
//! stored, so is a part of the meshes ([`Cut`]). The fields of other meshes are arrays without one.

use crate::failure::{Code, Failure};
use crate::files::args::{CheckpointArgs, Part};
use crate::files::cut::Cut;
use crate::files::held::Held;
use crate::files::planned::{Planned, is_on};
use crate::gathered;
use std::collections::{BTreeMap, BTreeSet};
use tcasm_analytics::Extract;
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_checkpoint::Snapshot;
use tcasm_core::field::{FieldDesc, FieldTable, Mesh, MeshDesc};
use tcasm_core::sys::room;
use tcasm_observer::{GroupVersion, Version, View, ViewError};

/// The number of bytes up to which it is not checked whether there is memory for them.
const SMALL: u64 = 16 << 20;

/// The choice of the fields, and of their parts, that files store of each version.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The names of the fields, or none for all of them.
    fields: Vec<String>,
    /// True if fields that are not for checkpoints are left out, unless they are named.
    for_restarts: bool,
    extract: Extract,
    /// The bound of the relative error of floats, or none if they are stored exactly.
    relative_error: Option<f64>,
}

/// The chosen fields and parts of one version. The version is pinned until this is dropped.
pub struct Stored {
    held: Held,
    table: FieldTable,
    /// The values of the fields that are not stored as they are.
    made: BTreeMap<String, Vec<u8>>,
    /// The names of the meshes that are not stored, and why.
    cut: Vec<(String, &'static str)>,
    /// The names of arrays of a group of which other hosts have a part, and what is stored.
    notes: Vec<(String, String)>,
}

impl From<&Part> for Choice {
    fn from(part: &Part) -> Self {
        Choice {
            fields: part.fields.fields.clone(),
            for_restarts: false,
            extract: part.extract(),
            relative_error: part.relative_error,
        }
    }
}

impl From<&CheckpointArgs> for Choice {
    fn from(args: &CheckpointArgs) -> Self {
        Choice {
            fields: args.fields.fields.clone(),
            for_restarts: true,
            extract: Extract::default(),
            relative_error: args.lossy_relative_error,
        }
    }
}

impl Choice {
    /// Returns the choice of all fields, as they are.
    pub fn whole() -> Self {
        Choice {
            fields: Vec::new(),
            for_restarts: false,
            extract: Extract::default(),
            relative_error: None,
        }
    }

    /// Maps the fields of `version` that are stored, and makes the values of their parts.
    pub fn of(&self, version: &Version) -> Result<Stored, Failure> {
        self.stored(&version.table().without_lost(), |fields| {
            Ok(Held::Mapped(view(version, fields)?))
        })
    }

    /// Gathers the fields of all ranks of a group that are stored, and makes the values of their
    /// parts.
    pub fn of_group(&self, version: &GroupVersion) -> Result<Stored, Failure> {
        // A part is selected by the indices of the whole arrays.
        let gathered = gathered::describe(version, self.cuts())?;
        let mut refused = gathered.refused.into_iter();
        if let Some((_, error)) = refused.find(|(name, _)| self.fields.contains(name)) {
            return Err(error.into());
        }
        let table = gathered.table.without_lost();
        let mut stored = self.stored(&table, |fields| Held::gather(version, fields))?;
        let is_chosen = |name: &String| self.fields.is_empty() || self.fields.contains(name);
        for (text, mut fields) in gathered.notes {
            fields.retain(is_chosen);
            if !fields.is_empty() {
                stored.notes.push((fields.join(", "), text));
            }
        }
        Ok(stored)
    }

    /// Takes what is stored of the fields of `table`. `hold` returns the values of fields.
    fn stored(
        &self,
        table: &FieldTable,
        hold: impl FnOnce(&[&FieldDesc]) -> Result<Held, Failure>,
    ) -> Result<Stored, Failure> {
        let planned = self.plan(table)?;
        let held = hold(&planned.fields)?;
        let parts = self.parts(table, &planned)?;
        let made = self.values(&held, &planned, &parts)?;
        let rounded = |part: FieldDesc| FieldDesc {
            relative_error: self.bound(table, &part),
            ..part
        };
        Ok(Stored {
            cut: planned.cut_meshes(table),
            table: FieldTable {
                lacking: [self.lacking(table, &planned.fields), table.lacking.clone()].concat(),
                fields: parts.into_iter().map(rounded).collect(),
                attrs: table.attrs.clone(),
                meshes: self.meshes(table, &planned),
            },
            held,
            made,
            notes: Vec::new(),
        })
    }

    /// Returns true if what is chosen exists of the fields of `table`.
    pub fn fits(&self, table: &FieldTable) -> bool {
        let table = &*table.without_lost();
        let parts = |planned: Planned<'_>| self.parts(table, &planned);
        self.plan(table).and_then(parts).is_ok()
    }

    /// Returns the meshes of `table` that are stored, or their parts. Without all fields, meshes
    /// that none of them needs are left out. But a restart needs all of them, because the program
    /// puts fields on them that are not in checkpoints.
    fn meshes(&self, table: &FieldTable, planned: &Planned<'_>) -> Vec<MeshDesc> {
        if let Some(cut) = &planned.cut {
            return cut.meshes(table);
        }
        let fields = &planned.fields;
        let has = |name: &str| fields.iter().any(|field| field.name == name);
        let all = self.for_restarts || fields.len() == table.fields.len();
        let is_stored = |mesh: &&MeshDesc| {
            let is_used = all || fields.iter().any(|field| is_of(mesh, field));
            is_used && mesh.geometry().into_iter().all(has)
        };
        table.meshes.iter().filter(is_stored).cloned().collect()
    }

    /// Returns true if only a part of each field is stored.
    fn cuts(&self) -> bool {
        !self.extract.selection.is_all() || self.extract.stride > 1
    }

    /// Returns the descriptions of what is stored of the fields of `table`, in their order. If no
    /// field has a place, all get the mesh of their indices.
    fn parts(&self, table: &FieldTable, planned: &Planned<'_>) -> Result<Vec<FieldDesc>, Failure> {
        let placed = planned.fields.iter().map(|f| planned.placed(table, f));
        let placed: Vec<FieldDesc> = placed.collect();
        let has_place = |field: &FieldDesc| field.on.is_some() || field.usable_mesh().is_some();
        let is_placed = planned.has_cut_meshes() || placed.iter().any(has_place);
        let default = (!is_placed).then(Mesh::default);
        let extract = |field: &FieldDesc| planned.extract(field, &self.extract);
        let part = |field: &FieldDesc| extract(field).part(field, default);
        let parts: Result<_, _> = placed.iter().map(part).collect();
        parts.map_err(unfit)
    }

    /// Returns true if all that a restart needs of `version` is stored, with exact values. Fields
    /// that are lost do not count: nobody has chosen to leave them out.
    pub fn is_complete(&self, version: &Version) -> Result<bool, Failure> {
        let table = &*version.table().without_lost();
        if self.cuts() {
            return self.chosen(table).map(|_| false);
        }
        let fields = self.plan(table)?.fields;
        let is_exact = |field: &&FieldDesc| self.bound(table, field).is_none();
        let lacking = self.lacking(table, &fields);
        let has_all = lacking.iter().all(|field| field.not_in_checkpoints);
        Ok(has_all && fields.iter().all(is_exact))
    }

    /// Returns the fields of `table` that are left out, or of which only a part is stored, if
    /// `stored` are stored. A restart can do without those that are not for checkpoints, unless
    /// they are the geometry of a mesh: without it there is no mesh.
    fn lacking(&self, table: &FieldTable, stored: &[&FieldDesc]) -> Vec<FieldDesc> {
        let lacks = |field: &FieldDesc| {
            let is_stored = stored.iter().any(|stored| stored.name == field.name);
            let is_part = is_stored && !self.extract.is_whole(field);
            let is_geometry = || table.geometry_of(&field.name).is_some();
            (!is_stored || is_part).then(|| FieldDesc {
                // A part of a field is no state to restart from.
                not_in_checkpoints: field.not_in_checkpoints && !is_part && !is_geometry(),
                ..field.clone()
            })
        };
        table.fields.iter().filter_map(lacks).collect()
    }

    /// Returns the values of those of `parts` that are not the fields as they are.
    fn values(
        &self,
        held: &Held,
        planned: &Planned<'_>,
        parts: &[FieldDesc],
    ) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let changed = planned.fields.iter().copied().zip(parts);
        let changed: Vec<_> = changed
            .filter(|(field, _)| !self.extract.is_whole(field))
            .collect();
        check_memory(changed.iter().map(|(_, part)| part.bytes()).sum())?;
        let values = changed.into_iter().map(|(field, _)| {
            let extract = planned.extract(field, &self.extract);
            let values = extract.values(field, held.bytes_of(field)?)?;
            Ok::<_, Failure>((field.name.clone(), values))
        });
        values.collect()
    }

    /// Returns the bound of the error of `part`, if its values are rounded. Those that are the
    /// geometry of a mesh of `table` stay exact, because rounding could make cells degenerate far
    /// from the origin.
    fn bound(&self, table: &FieldTable, part: &FieldDesc) -> Option<f64> {
        let bound = self.relative_error?;
        let rounds = part.dtype.significant_bits(bound).is_some();
        (rounds && table.geometry_of(&part.name).is_none()).then_some(bound)
    }

    /// Returns what is stored of the fields of `table`: those that are chosen, and the geometry of
    /// their meshes.
    fn plan<'t>(&self, table: &'t FieldTable) -> Result<Planned<'t>, Failure> {
        let chosen = self.chosen(table)?;
        let cut = match self.cuts() {
            true => Some(Cut::of(table, &chosen, &self.extract).map_err(unfit)?),
            false => None,
        };
        let geometry = match &cut {
            Some(cut) => cut.geometry(),
            None => self.geometry(table, &chosen),
        };
        let is_stored = |f: &&FieldDesc| self.chooses(f) || geometry.contains(f.name.as_str());
        let fields = table.fields.iter().filter(is_stored).collect();
        Ok(Planned { fields, cut })
    }

    /// Returns the fields of `table` that are chosen, in its order. Lost ones are left out, unless
    /// nothing is left then.
    fn chosen<'t>(&self, table: &'t FieldTable) -> Result<Vec<&'t FieldDesc>, Failure> {
        let is_absent = |name: &&String| table.get(name).is_none() && !table.is_lost(name);
        if let Some(name) = self.fields.iter().find(is_absent) {
            let available = table.fields.iter().map(|f| f.name.clone()).collect();
            let name = name.clone();
            return Err(ViewError::NoField { name, available }.into());
        }
        let chosen = table.fields.iter().filter(|field| self.chooses(field));
        let chosen: Vec<&FieldDesc> = chosen.collect();
        match table.lost().find(|field| self.chooses(field)) {
            Some(FieldDesc { name, .. }) if chosen.is_empty() => {
                let name = name.clone();
                Err(ViewError::Lost { name }.into())
            }
            _ => Ok(chosen),
        }
    }

    /// Returns true if `field` is chosen.
    fn chooses(&self, field: &FieldDesc) -> bool {
        match self.fields.is_empty() {
            true => !(self.for_restarts && field.not_in_checkpoints),
            false => self.fields.contains(&field.name),
        }
    }

    /// Returns the names of the fields that are stored because they are the geometry of meshes: of
    /// those that the fields `chosen` are on, or of all if files for restarts have all fields.
    fn geometry<'t>(&self, table: &'t FieldTable, chosen: &[&FieldDesc]) -> BTreeSet<&'t str> {
        let all = self.for_restarts && self.fields.is_empty();
        let is_needed = |mesh: &&MeshDesc| all || chosen.iter().any(|field| is_on(mesh, field));
        let meshes = table.meshes.iter().filter(is_needed);
        meshes.flat_map(MeshDesc::geometry).collect()
    }
}

impl Stored {
    /// Returns the fields that are stored, and those that are lacking.
    pub fn table(&self) -> &FieldTable {
        &self.table
    }

    /// Returns the names of the meshes that are not stored because only a part of each field is,
    /// and why.
    pub fn cut_meshes(&self) -> &[(String, &'static str)] {
        &self.cut
    }

    /// Returns the names of arrays of a group of which other hosts have a part, and what is stored.
    pub fn notes(&self) -> &[(String, String)] {
        &self.notes
    }

    /// Returns the version, if all values are of one.
    pub fn version(&self) -> Option<&Version> {
        self.held.version()
    }

    /// Returns what the writer of files needs to know.
    pub fn snapshot<'s>(&'s self, name: &'s str) -> Snapshot<'s> {
        Snapshot::new(name, self.held.stamp(), &self.table, |field| {
            match self.made.get(&field.name) {
                Some(values) => values.as_slice(),
                // If the bytes cannot be read, the writer gets an empty slice and refuses the
                // field.
                None => self.held.bytes_of(field).unwrap_or_default(),
            }
        })
        .at(self.held.extent())
    }
}

/// Returns true if `field` is on `mesh`, or is a part of its geometry.
fn is_of(mesh: &MeshDesc, field: &FieldDesc) -> bool {
    is_on(mesh, field) || mesh.geometry().contains(&field.name.as_str())
}

/// Says of a file in a line about it that it is lossy, and by how much.
pub fn lossy(relative_error: Option<f64>) -> String {
    relative_error.map_or_else(String::new, |bound| {
        format!("  lossy (relative error up to {bound:e})")
    })
}

/// Maps `fields` of `version`, and no others.
fn view(version: &Version, fields: &[&FieldDesc]) -> Result<View, ViewError> {
    if fields.is_empty() || fields.len() == version.table().fields.len() {
        return version.view();
    }
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    version.view_of(&names)
}

/// Adds to the error of a field that has no such part how to leave it out.
fn unfit(error: AnalyticsError) -> Failure {
    let Failure { code, message } = error.into();
    let text = format!("{message}; choose the fields that have this part with --fields");
    Failure::new(code, text)
}

/// Returns an error if there is no memory for `bytes` bytes of parts of fields.
fn check_memory(bytes: u64) -> Result<(), Failure> {
    if bytes <= SMALL {
        return Ok(());
    }
    match room::refusal(bytes) {
        Some(why) => Err(Failure::new(
            Code::Io,
            format!("there is no memory to make the parts of the fields: {why}"),
        )),
        None => Ok(()),
    }
}
