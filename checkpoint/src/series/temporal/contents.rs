//! The contents of a time series: its fields, its versions, and the file of rows that holds each
//! field of each version. A file of rows has the fields that changed in one version.

mod alike;
mod formats;

pub use formats::blocks;

use crate::error::{ReadError, WriteError};
use crate::file::{regular, seal};
use crate::format::contained;
use formats::{FORMAT, PLAIN, WITHOUT_BLOCKS, format_of};
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::{Block, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

/// The largest size of the encoded contents in bytes. Each version takes less than 100 bytes, and
/// up to 18 more for each field, 28 for each array that was made (most meshes have four), and 50
/// for each block.
const MOST_CONTENTS: u64 = 4 << 30;

/// The contents of the file of a time series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    /// The format of these contents.
    pub format: u64,
    /// The name of the region.
    pub region: String,
    /// The fields, as the first version describes them, with the lengths and the meshes of the
    /// newest one.
    pub table: FieldTable,
    /// The versions, in ascending order of steps.
    pub versions: Vec<Row>,
    /// The checksum of each field of the newest version, as two words. Empty if they are not known.
    pub newest: Vec<[u64; 2]>,
    /// True if a uniform mesh has moved before, so that no version shows an image.
    #[serde(skip)]
    moved: bool,
}

/// One version of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// For each field, the number of the file of rows that holds it.
    pub files: Vec<u64>,
    /// The position of the version in a chapter, if it is in one.
    pub chapter: Option<Chapter>,
    /// The extent of the slowest axis of each field in the version (1: no axis). Empty in a series
    /// of format 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lens: Vec<u64>,
    /// The arrays that were made for VTK, in the order of [`super::arrays::made`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeRow>,
    /// The places of the meshes that are blocks, see [`blocks`]. They are encoded beside the rows,
    /// because members that an encoding leaves out can only be the last ones.
    #[serde(skip)]
    pub blocks: Vec<Block>,
}

/// One version of an array that was made for VTK.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeRow {
    /// The number of the file of rows that holds it.
    pub file: u64,
    /// The number of rows that the file holds.
    pub stored: u64,
    /// The number of these rows that belong to the version.
    pub count: u64,
}

/// The position of a version in a chapter. A chapter is a file that holds several versions as
/// references to their files of rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    /// The number of the file of the chapter.
    pub file: u64,
    /// The index of the version in the chapter.
    pub at: u64,
    /// The number of versions in the chapter.
    pub rows: u64,
}

impl Contents {
    /// Returns a series of `region` with the fields of `table` and no versions. A series is for
    /// viewing, so it holds nothing that only restarts need. (These members have no place in its
    /// encoding, which has no names.)
    pub fn new(region: &str, table: &FieldTable) -> Self {
        let shown = |field: &FieldDesc| FieldDesc {
            not_in_checkpoints: false,
            ..field.clone()
        };
        Contents {
            format: format_of(table),
            region: region.to_owned(),
            table: FieldTable {
                fields: table.fields.iter().map(shown).collect(),
                attrs: table.attrs.clone(),
                meshes: table.meshes.clone(),
                ..FieldTable::default()
            },
            versions: Vec::new(),
            newest: Vec::new(),
            moved: false,
        }
    }

    /// Returns the stamp of the newest version.
    pub fn last(&self) -> Option<Stamp> {
        self.versions.last().map(|row| row.stamp)
    }

    /// Returns true if the length of a field, or an array for VTK, is stored for each version.
    pub fn has_lengths(&self) -> bool {
        self.format != PLAIN
    }

    /// Removes the versions of `step` and of later steps.
    pub fn cut(&mut self, step: u64) {
        self.versions.retain(|row| row.stamp.step < step);
        self.newest.clear();
    }

    /// Removes all but the newest `n` versions.
    pub fn keep(&mut self, n: usize) {
        let old = self.versions.len().saturating_sub(n);
        self.versions.drain(..old);
    }

    /// Returns the numbers of all files of rows and chapters that the versions refer to.
    pub fn files(&self) -> BTreeSet<u64> {
        let rows = self.versions.iter().flat_map(|row| &row.files).copied();
        let made = self.versions.iter().flat_map(|row| &row.made);
        let chapters = self.versions.iter().filter_map(|row| row.chapter);
        rows.chain(made.map(|made| made.file))
            .chain(chapters.map(|chapter| chapter.file))
            .collect()
    }

    /// Returns the versions that are in no chapter.
    pub fn loose(&self) -> Range<usize> {
        let in_chapters = self.versions.partition_point(|row| row.chapter.is_some());
        in_chapters..self.versions.len()
    }

    /// Returns the time of each version. Readers search versions by time, so the times must ascend.
    /// If they do not, or if one is not finite, the steps are returned instead.
    pub fn times(&self) -> Vec<f64> {
        let times: Vec<f64> = self.versions.iter().map(|row| row.stamp.time).collect();
        let finite = times.iter().all(|t| t.is_finite());
        if finite && times.windows(2).all(|pair| pair[0] < pair[1]) {
            return times;
        }
        let steps = self.versions.iter().map(|row| row.stamp.step as f64);
        steps.collect()
    }

    /// Returns the contents encoded as MessagePack. From format 2 on the table has its own
    /// encoding, which has names, because some of its members may be absent.
    pub fn encode(&self) -> Result<Vec<u8>, WriteError> {
        let (format, region) = (self.format, &self.region);
        let (versions, newest) = (&self.versions, &self.newest);
        let encoded = match format {
            PLAIN => rmp_serde::to_vec(self),
            WITHOUT_BLOCKS => {
                let table = self.table.encode()?;
                rmp_serde::to_vec(&(format, region, table, versions, newest))
            }
            _ => {
                let table = self.table.encode()?;
                let blocks: Vec<&[Block]> = versions.iter().map(|row| &row.blocks[..]).collect();
                rmp_serde::to_vec(&(format, region, table, versions, newest, blocks))
            }
        };
        encoded.map_err(|e| WriteError::Table(e.into()))
    }

    /// Reads the contents of the series at `path`.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let (checked, _) = seal::check(path)?; // before HDF5 sees it
        let bytes = || {
            let options = hdf5::File::with_options()
                .with_fapl(|p| p.file_locking(false))
                .open(regular::path_of(&checked))?;
            contained::read_small::<u8>(&options.dataset("tcasm/series")?, MOST_CONTENTS)
        };
        let bytes = bytes().map_err(|_| ReadError::NotSeries(path.to_owned()))?;
        Self::decode(&bytes, path)
    }

    /// Decodes the contents of the series at `path`. The format is read first, because other
    /// formats may have other members.
    fn decode(bytes: &[u8], path: &Path) -> Result<Self, ReadError> {
        let damaged = |why: String| ReadError::Damaged {
            path: path.to_owned(),
            why,
        };
        let invalid = |e: rmp_serde::decode::Error| damaged(e.to_string());
        let FormatOnly(found) = rmp_serde::from_slice(bytes).map_err(invalid)?;
        if found > FORMAT {
            return Err(ReadError::TooNew {
                path: path.to_owned(),
                found,
                known: FORMAT,
            });
        }
        let contents: Contents = match found {
            PLAIN => rmp_serde::from_slice(bytes).map_err(invalid)?,
            WITHOUT_BLOCKS => {
                let members: Encoded = rmp_serde::from_slice(bytes).map_err(invalid)?;
                Self::of(members, Vec::new()).map_err(damaged)?
            }
            _ => {
                let (format, region, table, versions, newest, blocks): EncodedWithBlocks =
                    rmp_serde::from_slice(bytes).map_err(invalid)?;
                let members = (format, region, table, versions, newest);
                Self::of(members, blocks).map_err(damaged)?
            }
        };
        contents.checked(path)
    }

    /// Returns the contents with these members, and with the blocks of each version. An error says
    /// what is wrong with the table.
    fn of(
        (format, region, table, mut versions, newest): Encoded,
        blocks: Vec<Vec<Block>>,
    ) -> Result<Self, String> {
        let table = FieldTable::decode(&table, u64::MAX, 1).map_err(|e| e.to_string())?;
        for (row, blocks) in versions.iter_mut().zip(blocks) {
            row.blocks = blocks;
        }
        Ok(Contents {
            format,
            region,
            table,
            versions,
            newest,
            moved: false,
        })
    }

    /// Returns these contents of the series at `path`, unless a version does not fit the table.
    fn checked(self, path: &Path) -> Result<Self, ReadError> {
        match self.versions.iter().find(|row| !self.fits(row)) {
            None => Ok(self),
            Some(row) => Err(ReadError::Damaged {
                path: path.to_owned(),
                why: format!(
                    "the row of step {} does not fit the fields and meshes of the series",
                    row.stamp.step
                ),
            }),
        }
    }

    /// Returns true if `row` has a value for each field and each block, and a place in its chapter.
    fn fits(&self, row: &Row) -> bool {
        let fields = self.table.fields.len();
        let meshes = self.table.meshes.iter();
        let blocks = meshes.filter(|mesh| mesh.block.is_some()).count();
        let has = |values: usize, all: usize| values == 0 || values == all;
        let most = u64::from(u32::MAX);
        let in_chapter = |place: Chapter| place.at < place.rows && place.rows <= most;
        row.files.len() == fields
            && has(row.lens.len(), fields)
            && has(row.blocks.len(), blocks)
            && row.chapter.is_none_or(in_chapter)
    }
}

/// The members of contents of format 2 as they are encoded.
type Encoded = (u64, String, Vec<u8>, Vec<Row>, Vec<[u64; 2]>);

/// The members of contents of format 3: also the blocks of each version.
type EncodedWithBlocks = (
    u64,
    String,
    Vec<u8>,
    Vec<Row>,
    Vec<[u64; 2]>,
    Vec<Vec<Block>>,
);

/// The first member of encoded contents, whatever follows it.
struct FormatOnly(u64);

impl<'de> Deserialize<'de> for FormatOnly {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct First;
        impl<'de> Visitor<'de> for First {
            type Value = FormatOnly;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the contents of a time series")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<FormatOnly, A::Error> {
                let first = members.next_element()?;
                while members.next_element::<IgnoredAny>()?.is_some() {}
                first
                    .map(FormatOnly)
                    .ok_or_else(|| A::Error::invalid_length(0, &self))
            }
        }
        from.deserialize_seq(First)
    }
}

#[cfg(test)]
mod tests;
