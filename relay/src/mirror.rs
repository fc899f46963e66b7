//! A mirror region: shows the steps of a region that were relayed.

use crate::error::MirrorError;
use crate::layout::{member, same_layout};
use crate::wire::{Head, Piece};
use tcasm_core::field::{Attr, FieldTable};
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CaptureMode, Group, Producer};

/// The versions of a mirror. It keeps three besides the newest, and the rest is for observers.
const VERSIONS: usize = 12;
const HISTORY: usize = 3;

/// The mirror of one region.
pub struct Mirror {
    producer: Producer,
    head: Head,
    /// The table of the region as it was sent, which parts refer to.
    table: FieldTable,
    /// All parts of the step have come.
    pub complete: bool,
    /// The step is published.
    published: bool,
}

impl Mirror {
    /// Creates the region for this version. If it is a rank of a group, `local` mirrors of the
    /// group are on this node.
    pub fn create(head: Head, table: FieldTable, local: u32) -> Result<Mirror, MirrorError> {
        if let Some(other) = member(&table)
            .map(|m| m.region())
            .filter(|r| *r != head.region)
        {
            let (name, found) = (head.region, other);
            return Err(MirrorError::Other { name, found });
        }
        let name = || head.region.clone();
        let (whole, bytes) = placed(&head, &table);
        let mut builder = builder(&head.region, &table, local)
            .capacity(usize::try_from(bytes).unwrap_or(usize::MAX))
            .versions(VERSIONS)
            .history(HISTORY)
            .capture(CaptureMode::Inline);
        for (name, value) in free(&table) {
            builder = builder.attr(name, value.clone());
        }
        let created = builder.create();
        let create = |source| MirrorError::Create {
            name: name(),
            source: Box::new(source),
        };
        let mut producer = created.map_err(create)?;
        let define = |source| MirrorError::Define {
            name: name(),
            source: Box::new(source),
        };
        for field in &whole.fields {
            producer.define(field).map_err(define)?;
        }
        for mesh in &whole.meshes {
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

    /// Returns the name of the region.
    pub fn name(&self) -> &str {
        &self.head.region
    }

    /// Begins another step of the same region.
    pub fn begin(&mut self, head: Head, table: FieldTable) -> Result<(), MirrorError> {
        if head.region != self.head.region || !same_layout(&self.table, &table) {
            let (name, found) = (self.head.region.clone(), head.region);
            return Err(MirrorError::Other { name, found });
        }
        let variable = table
            .fields
            .iter()
            .filter(|f| f.capacity.is_some() && !f.lost);
        let lengths: Vec<_> = variable
            .map(|field| (field.name.as_str(), field.length()))
            .collect();
        let set = self.producer.set_lens(&lengths);
        set.map_err(|source| MirrorError::Define {
            name: head.region.clone(),
            source: Box::new(source),
        })?;
        for (name, value) in free(&table) {
            self.producer.set_attr(name, value.clone());
        }
        (self.head, self.table) = (head, table);
        (self.complete, self.published) = (false, false);
        Ok(())
    }

    /// Stores a part of a field.
    pub fn store(&mut self, piece: &Piece<'_>) -> Result<(), MirrorError> {
        let outside = || MirrorError::Outside {
            name: self.head.region.clone(),
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
    pub fn publish(&mut self) -> Result<bool, MirrorError> {
        if !self.published {
            let receipt = self.producer.publish(self.head.step, self.head.time)?;
            self.published = receipt.version().is_some();
        }
        Ok(self.published)
    }
}

/// Returns the table of a mirror, whose fields are in the order of their places, and the bytes that
/// it needs. Nobody has values of lost fields any more, so it has none of them. If pages have
/// another size here, fields get other places: each begins at a page.
fn placed(head: &Head, table: &FieldTable) -> (FieldTable, u64) {
    let mut table = table.without_lost().into_owned();
    table.fields.sort_by_key(|field| field.offset);
    let page = page_size() as u64;
    if head.page_size == page {
        return (table, head.bytes);
    }
    let mut bytes = 0;
    for field in &mut table.fields {
        field.offset = bytes;
        bytes = (bytes + field.capacity_bytes()).next_multiple_of(page);
    }
    (table, bytes)
}

/// Returns the builder of a region, or of the rank of a group that it is.
fn builder(region: &str, table: &FieldTable, local: u32) -> Builder {
    match member(table) {
        Some(member) => {
            let group = Group::new(member.rank, member.ranks)
                .local_ranks(local)
                .run(&member.run);
            Producer::builder(&member.group).group(group)
        }
        None => Producer::builder(region),
    }
}

/// Returns the attributes of a table that do not describe the place in the group.
fn free(table: &FieldTable) -> impl Iterator<Item = (&str, &Attr)> {
    let place = member(table).map(|member| member.attrs().map(|(name, _)| name));
    let of_group = move |name: &str| place.iter().flatten().any(|other| other == name);
    let all = table.attrs.iter();
    all.map(|(name, value)| (name.as_str(), value))
        .filter(move |(name, _)| !of_group(name))
}
