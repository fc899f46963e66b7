//! The file of a node: all blocks of its ranks in one file, in the format of a checkpoint of a
//! single region.
//!
//! ```text
//! region, version, step, time     the group, and the stamp of the lowest rank
//! attributes                      group, run, ranks, node
//! fields/<name>-<rank>            the field of a rank, ghost layers included
//! fields/<rank>-table             bytes: what the region of the rank was (MessagePack)
//! ```

use super::record::Block;
use crate::error::{ReadError, WriteError};
use crate::file::{Fault, memory};
use crate::format::description::Base;
use crate::format::increment;
use crate::options::Options;
use crate::read::Checkpoint;
use crate::snapshot::Snapshot;
use crate::write::Unsealed;
use crate::write::begin_with;
use crate::write::layouts::vtkhdf::defects;
use crate::write::store::{FileLayout, Store};
use hdf5::Dataset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::{Attr, Centering, DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

/// The step of a run, of the ranks of one node.
#[derive(Debug)]
pub struct NodeSnapshot<'a> {
    /// The name of the run, which may be empty.
    pub run: &'a str,
    /// The number of ranks of the whole job.
    pub ranks: u32,
    /// The step.
    pub step: u64,
    /// The local ranks, in ascending order, and the version of each. All have the same step.
    pub members: Vec<(u32, Snapshot<'a>)>,
}

/// Returns the name that a field of a rank has in the file.
pub fn name_of(field: &str, rank: u32) -> String {
    format!("{field}-{rank}")
}

/// What the region of a rank was.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredRank {
    region: String,
    version: u64,
    time: f64,
    extent: Option<(u64, u64)>,
    table: Vec<u8>,
    /// The meshes whose cells VTK cannot have, each with its defect.
    #[serde(default)]
    defects: Vec<(String, String)>,
}

/// The region of a rank, as a file describes it.
#[derive(Clone, Debug)]
pub struct Rank {
    /// The name of the region.
    pub region: String,
    /// Number, step and time of its version.
    pub stamp: Stamp,
    /// Where it lay, if that is known.
    pub extent: Option<Extent>,
    /// Its fields.
    pub table: FieldTable,
    /// The meshes whose cells VTK cannot have, each with its defect.
    pub defects: Vec<(String, String)>,
}

/// The blocks of a node as one table of fields, and their bytes.
pub struct Merged<'a> {
    pub stamp: Stamp,
    pub table: FieldTable,
    bytes: BTreeMap<String, &'a [u8]>,
    own: BTreeMap<String, Vec<u8>>,
}

impl<'a> Merged<'a> {
    /// Merges the ranks of a node of `group`.
    pub fn new(group: &str, node: usize, of: &NodeSnapshot<'a>) -> Result<Self, WriteError> {
        let first = of.members.first().map(|(_, snapshot)| snapshot.stamp);
        let mut merged = Merged {
            stamp: Stamp {
                step: of.step,
                ..first.unwrap_or_default()
            },
            table: FieldTable::default(),
            bytes: BTreeMap::new(),
            own: BTreeMap::new(),
        };
        let attrs = &mut merged.table.attrs;
        attrs.insert("group".to_owned(), group.into());
        attrs.insert("run".to_owned(), of.run.into());
        attrs.insert("ranks".to_owned(), Attr::Int(of.ranks.into()));
        attrs.insert("node".to_owned(), Attr::Int(node as i64));
        for (rank, snapshot) in &of.members {
            merged.add(*rank, snapshot)?;
        }
        Ok(merged)
    }

    fn add(&mut self, rank: u32, of: &Snapshot<'a>) -> Result<(), WriteError> {
        for field in &of.table.fields {
            let plain = plain(field, rank);
            self.bytes.insert(plain.name.clone(), of.bytes(field)?);
            self.table.fields.push(plain);
        }
        let bytes = describe(of)?;
        let mut desc = FieldDesc::new(&table_name(rank), DType::U8, &[bytes.len()]);
        // Attributes may change from step to step, so that the description gets longer.
        desc.capacity = Some((bytes.len() + 1).next_multiple_of(1 << 16));
        self.table.fields.push(desc);
        self.own.insert(table_name(rank), bytes);
        Ok(())
    }

    fn bytes(&self, field: &FieldDesc) -> &[u8] {
        let own = || self.own.get(&field.name).map(Vec::as_slice);
        let found = self.bytes.get(&field.name).copied();
        found.or_else(own).unwrap_or_default()
    }

    /// Returns true if an increment with these fields can build on `older`.
    pub fn can_build_on(&self, older: &FieldTable) -> bool {
        increment::alike(&self.table, older)
    }

    /// Writes all blocks to a file that is going to be called `path`.
    pub fn fill(
        &self,
        group: &str,
        path: &Path,
        id: &str,
        options: &Options,
    ) -> Result<Unsealed, WriteError> {
        let snapshot = Snapshot::new(group, self.stamp, &self.table, |field| self.bytes(field));
        begin_with(path, &snapshot, id, options, |_| Ok(Box::new(Plain)))
    }

    /// Writes what has changed since `base`, whose fields are `older`.
    pub fn fill_increment(
        &self,
        (group, path, id): (&str, &Path, &str),
        (base, older): (&Base, &FieldTable),
        changed: &dyn Fn(u32, &str) -> Vec<Range<u64>>,
        options: &Options,
    ) -> Result<Unsealed, WriteError> {
        let snapshot = Snapshot::new(group, self.stamp, &self.table, |field| self.bytes(field));
        let changed = |field: &FieldDesc| {
            let whole = || std::iter::once(0..field.bytes()).collect();
            let runs = match field.name.rsplit_once('-') {
                Some((name, rank)) if !self.own.contains_key(&field.name) => rank
                    .parse()
                    .map_or_else(|_| whole(), |rank| changed(rank, name)),
                _ => whole(),
            };
            crate::changed::with_growth(runs, field, older)
        };
        crate::write::increment::begin(path, &snapshot, id, base, changed, options)
    }
}

/// The layout of a file that has its fields under `/tcasm` only.
struct Plain;

impl FileLayout for Plain {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        Ok(vec![to.own(field, bytes)?])
    }
}

/// Returns the description of a field in the file of its node. Its mesh and its place in a global
/// array are in the table of its rank.
fn plain(field: &FieldDesc, rank: u32) -> FieldDesc {
    FieldDesc {
        name: name_of(&field.name, rank),
        centering: Centering::Point,
        mesh: None,
        attrs: BTreeMap::new(),
        offset: 0,
        not_in_checkpoints: false,
        on: None,
        quantity: None,
        global: None,
        ..field.clone()
    }
}

fn table_name(rank: u32) -> String {
    format!("{rank}-table")
}

fn describe(of: &Snapshot<'_>) -> Result<Vec<u8>, WriteError> {
    let stored = StoredRank {
        region: of.region.to_owned(),
        version: of.stamp.version,
        time: of.stamp.time,
        extent: of.extent.map(|extent| (extent.base, extent.bytes)),
        table: of.table.encode()?,
        defects: defects(of)?,
    };
    Ok(rmp_serde::to_vec_named(&stored).map_err(tcasm_core::field::TableError::from)?)
}

/// Returns the block table of the local ranks.
pub fn blocks(of: &NodeSnapshot<'_>) -> Vec<Block> {
    let all = of.members.iter().flat_map(|(rank, snapshot)| {
        let fields = snapshot.table.fields.iter();
        fields.map(|field| Block {
            rank: *rank,
            field: field.name.clone(),
            offset: field.global.as_ref().map(|place| place.offset.clone()),
            count: field.interior_shape(),
        })
    });
    all.collect()
}

/// Reads what the region of a rank was.
pub fn rank(file: &Checkpoint, rank: u32) -> Result<Rank, ReadError> {
    let name = table_name(rank);
    let damaged = |why: String| ReadError::DamagedField {
        path: file.path().to_owned(),
        field: name.clone(),
        why,
    };
    let bytes = file.table().get(&name).map_or(0, FieldDesc::bytes);
    memory::check(bytes).map_err(|why| file.too_large(why))?;
    let mut buffer = vec![0; bytes as usize];
    file.read_bytes(&name, &mut buffer)?;
    let stored: StoredRank = rmp_serde::from_slice(&buffer).map_err(|e| damaged(e.to_string()))?;
    let table = FieldTable::decode(&stored.table, u64::MAX, 1);
    let extent = stored.extent.map(|(base, bytes)| Extent { base, bytes });
    Ok(Rank {
        region: stored.region,
        stamp: Stamp {
            version: stored.version,
            step: file.stamp().step,
            time: stored.time,
        },
        extent,
        table: table.map_err(|e| damaged(e.to_string()))?,
        defects: stored.defects,
    })
}
