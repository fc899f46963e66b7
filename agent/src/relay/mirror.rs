//! A mirror region: the region of a rank on another node, with the steps that were relayed.

use super::layout::same_layout;
use super::wire::{Head, Piece};
use tcasm_core::field::{Attr, FieldTable};
use tcasm_producer::{
    CaptureMode, CreateError, DefineError, Group, Producer, PublishError, ViewError,
};
use thiserror::Error;

/// The versions of a mirror. It keeps three besides the newest, and the rest is for observers.
const VERSIONS: usize = 12;
const HISTORY: usize = 3;

/// Why a mirror region cannot show a step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The region cannot be created.
    #[error("cannot create the mirror region of rank {rank}: {source}")]
    Create {
        /// The rank.
        rank: u32,
        /// The error.
        source: CreateError,
    },
    /// A field or a mesh cannot be added.
    #[error("the mirror region of rank {rank}: {source}")]
    Define {
        /// The rank.
        rank: u32,
        /// The error.
        source: DefineError,
    },
    /// A field cannot be written.
    #[error("the mirror region: {0}")]
    View(#[from] ViewError),
    /// A step cannot be published.
    #[error("the mirror region: {0}")]
    Publish(#[from] PublishError),
    /// A part does not lie in its field.
    #[error("rank {rank}: {length} bytes from byte {start} are not in field {field}")]
    Outside {
        /// The rank.
        rank: u32,
        /// The number of the field.
        field: u32,
        /// The first byte.
        start: u64,
        /// The number of bytes.
        length: usize,
    },
}

/// The mirror of one rank.
pub(super) struct Mirror {
    producer: Producer,
    head: Head,
    table: FieldTable,
    /// All parts of the step have come.
    pub(super) complete: bool,
    /// The step is published.
    pub(super) published: bool,
}

impl Mirror {
    /// Creates the region for this version. `local` mirrors of the group are on this node.
    pub(super) fn create(head: Head, table: FieldTable, local: u32) -> Result<Mirror, MirrorError> {
        let rank = head.rank;
        let group = Group::new(rank, head.ranks)
            .local_ranks(local)
            .run(&head.run);
        let capacity = usize::try_from(head.region).unwrap_or(usize::MAX);
        let mut builder = Producer::builder(&head.group)
            .group(group)
            .capacity(capacity)
            .versions(VERSIONS)
            .history(HISTORY)
            .capture(CaptureMode::Inline);
        for (name, value) in free(&table) {
            builder = builder.attr(name, value.clone());
        }
        let created = builder.create();
        let mut producer = created.map_err(|source| MirrorError::Create { rank, source })?;
        let define = |source| MirrorError::Define { rank, source };
        let mut fields: Vec<_> = table.fields.iter().collect();
        fields.sort_by_key(|field| field.offset);
        for field in fields {
            producer.define(field).map_err(define)?;
        }
        for mesh in &table.meshes {
            producer.define_mesh(mesh).map_err(define)?;
        }
        Ok(Mirror {
            producer,
            head,
            table,
            complete: false,
            published: false,
        })
    }

    /// Begins another step of the same region. Returns false if the region cannot show it.
    pub(super) fn begin(&mut self, head: &Head, table: &FieldTable) -> Result<bool, MirrorError> {
        let same = self.head.run == head.run && self.head.ranks == head.ranks;
        if !same || !same_layout(&self.table, table) {
            return Ok(false);
        }
        let variable = table.fields.iter().filter(|field| field.capacity.is_some());
        let lengths: Vec<_> = variable
            .map(|field| (field.name.as_str(), field.length()))
            .collect();
        let rank = head.rank;
        let set = self.producer.set_lens(&lengths);
        set.map_err(|source| MirrorError::Define { rank, source })?;
        for (name, value) in free(table) {
            self.producer.set_attr(name, value.clone());
        }
        self.head = head.clone();
        self.table = table.clone();
        (self.complete, self.published) = (false, false);
        Ok(true)
    }

    /// Stores a part of a field.
    pub(super) fn store(&mut self, piece: &Piece<'_>) -> Result<(), MirrorError> {
        let outside = || MirrorError::Outside {
            rank: self.head.rank,
            field: piece.field,
            start: piece.start,
            length: piece.bytes.len(),
        };
        let field = self.table.fields.get(piece.field as usize);
        let field = field.ok_or_else(outside)?;
        let own = self.producer.field_bytes_mut(&field.name)?;
        let start = usize::try_from(piece.start).ok();
        let end = start.and_then(|start| start.checked_add(piece.bytes.len()));
        let part = start
            .zip(end)
            .and_then(|(start, end)| own.get_mut(start..end));
        part.ok_or_else(outside)?.copy_from_slice(piece.bytes);
        Ok(())
    }

    /// Publishes the step. Returns false if observers of the mirror leave no room for it.
    pub(super) fn publish(&mut self) -> Result<bool, MirrorError> {
        if !self.published {
            let receipt = self.producer.publish(self.head.step, self.head.time)?;
            self.published = receipt.version().is_some();
        }
        Ok(self.published)
    }
}

/// Returns the attributes of a table that do not describe the place in the group.
fn free(table: &FieldTable) -> impl Iterator<Item = (&str, &Attr)> {
    let of_group = ["group", "rank", "ranks", "local_ranks", "run"];
    let all = table
        .attrs
        .iter()
        .map(|(name, value)| (name.as_str(), value));
    all.filter(move |(name, _)| !of_group.contains(name))
}
