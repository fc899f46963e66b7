//! What of a version is stored: some of its fields, or a part of each, or rounded values.
//!
//! The field table of a file names the fields that the file lacks or has only a part of, and those
//! whose values are rounded, so that no simulation restarts from it by mistake. The writer of the
//! file rounds the values, block by block.

use crate::failure::{Code, Failure};
use crate::files::args::{CheckpointArgs, Part};
use std::collections::BTreeMap;
use tcasm_analytics::Extract;
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_checkpoint::Snapshot;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::sys::room;
use tcasm_observer::{Version, View, ViewError};

/// The number of bytes up to which it is not checked whether there is memory for them.
const SMALL: u64 = 16 << 20;

/// The choice of what is stored of each version.
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

/// What is stored of a version. The version is pinned until this is dropped.
pub struct Stored {
    view: View,
    table: FieldTable,
    /// The values of the fields that are not stored as they are.
    made: BTreeMap<String, Vec<u8>>,
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
    /// Maps the fields of `version` that are stored, and makes the values of their parts.
    pub fn of(&self, version: &Version) -> Result<Stored, Failure> {
        let fields = self.fields(version)?;
        let view = view(version, &fields)?;
        let parts = self.extract.describe(fields.iter().copied());
        let parts = parts.map_err(unfit)?;
        let made = self.values(&view, &fields, &parts)?;
        let lacks = |field: &FieldDesc| {
            let is_chosen = fields.iter().any(|chosen| chosen.name == field.name);
            let is_made = made.contains_key(&field.name);
            (!is_chosen || is_made).then(|| FieldDesc {
                // A part of a field is no state to restart from.
                not_in_checkpoints: field.not_in_checkpoints && !is_made,
                ..field.clone()
            })
        };
        let table = version.table();
        Ok(Stored {
            table: FieldTable {
                lacking: table.fields.iter().filter_map(lacks).collect(),
                fields: parts.into_iter().map(|part| self.rounded(part)).collect(),
                attrs: table.attrs.clone(),
            },
            view,
            made,
        })
    }

    /// Returns the values of those of `parts` that are not `fields` as they are.
    fn values(
        &self,
        view: &View,
        fields: &[&FieldDesc],
        parts: &[FieldDesc],
    ) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let changed = fields.iter().copied().zip(parts);
        let changed: Vec<_> = changed
            .filter(|(field, _)| !self.extract.is_whole(field))
            .collect();
        check_memory(changed.iter().map(|(_, part)| part.bytes()).sum())?;
        let values = changed.into_iter().map(|(field, _)| {
            let values = self.extract.values(field, view.bytes_of(field)?)?;
            Ok::<_, Failure>((field.name.clone(), values))
        });
        values.collect()
    }

    /// Returns the description of `part` with the bound of its error, if its values are rounded.
    fn rounded(&self, part: FieldDesc) -> FieldDesc {
        let rounds = |bound: &f64| part.dtype.significant_bits(*bound).is_some();
        FieldDesc {
            relative_error: self.relative_error.filter(rounds),
            ..part
        }
    }

    /// Returns the fields of `version` that are stored, in the order of its table.
    fn fields<'v>(&self, version: &'v Version) -> Result<Vec<&'v FieldDesc>, Failure> {
        let table = version.table();
        if let Some(name) = self.fields.iter().find(|name| table.get(name).is_none()) {
            let available = table.fields.iter().map(|f| f.name.clone()).collect();
            let name = name.clone();
            return Err(ViewError::NoField { name, available }.into());
        }
        let is_stored = |field: &&FieldDesc| match self.fields.is_empty() {
            true => !(self.for_restarts && field.not_in_checkpoints),
            false => self.fields.contains(&field.name),
        };
        Ok(table.fields.iter().filter(is_stored).collect())
    }
}

impl Stored {
    /// Returns the fields that are stored, and those that are lacking.
    pub fn table(&self) -> &FieldTable {
        &self.table
    }

    /// Returns the view of the version.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns what the writer of files needs to know.
    pub fn snapshot<'s>(&'s self, name: &'s str) -> Snapshot<'s> {
        Snapshot::new(name, self.view.stamp(), &self.table, |field| {
            match self.made.get(&field.name) {
                Some(values) => values.as_slice(),
                // If the bytes cannot be read, the writer gets an empty slice and refuses the
                // field.
                None => self.view.bytes_of(field).unwrap_or_default(),
            }
        })
        .at(self.view.version().extent())
    }
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
