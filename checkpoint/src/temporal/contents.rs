//! What a time series holds: its fields, its versions, and which file of rows holds each field of each version.

use crate::error::{ReadError, WriteError};
use crate::{contained, regular, seal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::stamp::Stamp;

/// The newest format of a time series that this program writes and reads.
const FORMAT: u64 = 1;
/// Most bytes of what a series says of itself: about 100 for each version and field.
const MOST_CONTENTS: u64 = 4 << 30;

/// All that the file of a time series says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    pub format: u64,
    /// Name of the region.
    pub region: String,
    /// The fields, as in the first version.
    pub table: FieldTable,
    /// The versions, by ascending step.
    pub versions: Vec<Row>,
    /// The checksums of the newest version's fields, two words each; empty when they are not known.
    pub newest: Vec<[u64; 2]>,
}

/// One version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub stamp: Stamp,
    /// The number of the file that holds each field.
    pub files: Vec<u64>,
    /// The chapter that it is in, if it is in one.
    pub chapter: Option<Chapter>,
}

/// A place in a chapter: a file that holds several versions, by references to their files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    /// Its number.
    pub file: u64,
    pub at: u64,
    /// How many versions it holds.
    pub rows: u64,
}

impl Contents {
    /// A series of `region` with the fields of `table`, still without versions.
    pub fn new(region: &str, table: &FieldTable) -> Self {
        Contents {
            format: FORMAT,
            region: region.to_owned(),
            table: table.clone(),
            versions: Vec::new(),
            newest: Vec::new(),
        }
    }

    pub fn last(&self) -> Option<Stamp> {
        self.versions.last().map(|row| row.stamp)
    }

    /// Whether versions with these fields can go on in this series. Where fields lie in the region does not matter, nor do
    /// attributes.
    pub fn takes(&self, table: &FieldTable) -> bool {
        let plain = |field: &FieldDesc| FieldDesc {
            offset: 0,
            attrs: Default::default(),
            ..field.clone()
        };
        let (own, other) = (self.table.fields.iter(), table.fields.iter());
        own.map(plain).eq(other.map(plain))
    }

    /// Forget the versions from `step` on.
    pub fn cut(&mut self, step: u64) {
        self.versions.retain(|row| row.stamp.step < step);
        self.newest.clear();
    }

    /// Forget all but the newest `n` versions.
    pub fn keep(&mut self, n: usize) {
        let old = self.versions.len().saturating_sub(n);
        self.versions.drain(..old);
    }

    /// The numbers of all files that are referred to.
    pub fn files(&self) -> BTreeSet<u64> {
        let rows = self.versions.iter().flat_map(|row| &row.files).copied();
        let chapters = self.versions.iter().filter_map(|row| row.chapter);
        rows.chain(chapters.map(|chapter| chapter.file)).collect()
    }

    /// The versions that no chapter has.
    pub fn loose(&self) -> Range<usize> {
        let in_chapters = self.versions.partition_point(|row| row.chapter.is_some());
        in_chapters..self.versions.len()
    }

    /// The time of each version. Readers find versions by it: where times do not ascend, the steps stand for them.
    pub fn times(&self) -> Vec<f64> {
        let times: Vec<f64> = self.versions.iter().map(|row| row.stamp.time).collect();
        let finite = times.iter().all(|t| t.is_finite());
        if finite && times.windows(2).all(|pair| pair[0] < pair[1]) {
            return times;
        }
        let steps = self.versions.iter().map(|row| row.stamp.step as f64);
        steps.collect()
    }

    pub fn encode(&self) -> Result<Vec<u8>, WriteError> {
        rmp_serde::to_vec(self).map_err(|e| WriteError::Table(e.into()))
    }

    /// Read what the series at `path` says of itself.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let (checked, _) = seal::check(path)?; // before HDF5 sees it
        let damaged = |why: String| ReadError::Damaged {
            path: path.to_owned(),
            why,
        };
        let bytes = || {
            let options = hdf5::File::with_options()
                .with_fapl(|p| p.file_locking(false))
                .open(regular::path_of(&checked))?;
            contained::read_small::<u8>(&options.dataset("tcasm/series")?, MOST_CONTENTS)
        };
        let bytes = bytes().map_err(|_| ReadError::NotSeries(path.to_owned()))?;
        let contents: Contents =
            rmp_serde::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if contents.format > FORMAT {
            return Err(ReadError::TooNew {
                path: path.to_owned(),
                found: contents.format,
                known: FORMAT,
            });
        }
        Ok(contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    fn table(shape: &[usize]) -> FieldTable {
        FieldTable {
            fields: vec![FieldDesc::new("t", DType::F64, shape)],
            ..FieldTable::default()
        }
    }

    fn series(times: &[f64]) -> Contents {
        let mut contents = Contents::new("heat", &table(&[4]));
        for (i, &time) in times.iter().enumerate() {
            let (version, step) = (i as u64 + 1, 10 * i as u64);
            contents.versions.push(Row {
                stamp: Stamp {
                    version,
                    step,
                    time,
                },
                files: vec![version],
                chapter: (version < 3).then_some(Chapter {
                    file: 9,
                    at: version - 1,
                    rows: 2,
                }),
            });
        }
        contents
    }

    #[test]
    fn steps_stand_for_times_that_do_not_ascend() {
        assert_eq!(series(&[0.0, 0.5, 2.0]).times(), [0.0, 0.5, 2.0]);
        for times in [[0.0, 0.0, 1.0], [1.0, 0.5, 2.0], [0.0, f64::NAN, 1.0]] {
            assert_eq!(series(&times).times(), [0.0, 10.0, 20.0], "{times:?}");
        }
    }

    #[test]
    fn what_is_cut_or_not_kept_is_forgotten() {
        let mut contents = series(&[0.0, 1.0, 2.0, 3.0]);
        contents.cut(20);
        assert_eq!(contents.last().unwrap().step, 10);
        contents.keep(1);
        assert_eq!(contents.files(), BTreeSet::from([2, 9]));
        assert_eq!((contents.loose(), series(&[0.0; 4]).loose()), (1..1, 2..4));
        contents.keep(5);
        assert_eq!(contents.versions.len(), 1);
    }

    #[test]
    fn a_series_takes_fields_of_the_same_shape_wherever_they_lie() {
        let contents = series(&[]);
        let mut moved = table(&[4]);
        moved.fields[0].offset = 4096;
        moved.fields[0].attrs.insert("a".to_owned(), 1.into());
        assert!(contents.takes(&moved));
        assert!(!contents.takes(&table(&[5])));
        assert!(!contents.takes(&FieldTable::default()));
    }

    #[test]
    fn contents_are_encoded_whatever_the_times_are() {
        let contents = series(&[f64::INFINITY, -0.0]);
        let bytes = contents.encode().unwrap();
        assert_eq!(rmp_serde::from_slice::<Contents>(&bytes).unwrap(), contents);
    }
}
