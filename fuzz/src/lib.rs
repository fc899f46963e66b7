//! Functions that give arbitrary bytes to the code that reads bytes from untrusted sources. That
//! code must not panic, and must terminate.
//!
//! The targets of the fuzzer call these functions. A test of the workspace also calls them; it
//! includes this file by its path, and needs no fuzzer.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use tcasm_core::field::{DType, FieldDesc, FieldTable, interior, view};
use tcasm_core::format::index::{HeaderInfo, Index, IndexError, IndexWriter};
use tcasm_core::format::layout::{HEADER_BYTES, LAYOUT_VERSION, Layout, MAGIC, MAX_NAME, header};
use tcasm_core::format::pagemap::{Entry, PageMap, Run};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::format::stats::{Counter, Stats};
use tcasm_core::format::wire;
use tcasm_core::pageset::{ChunkSet, PageSet};
use tcasm_transfer::wire as transfer;

/// Reads an index made of `data`.
///
/// The first byte selects how `data` is used: as it is, with correct first words, or as damage to a
/// valid index. Each damage takes six bytes: four for the position, and two for the value. If all
/// data were used as it is, nearly all of it would fail at the first check.
pub fn read_index(data: &[u8]) {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let words = match how % 4 {
        0 => words_of(data),
        1 => with_magic(data),
        _ => damaged(data),
    };
    // Damage must give an error. Which error it is does not matter here.
    let _ = black_box(read_all(&words));
    let _ =
        black_box(FieldTable::decode(data, 1 << 20, 4096).map(|table| use_table(&table, 1 << 20)));
}

/// Decodes `data` as each kind of message.
pub fn decode_messages(data: &[u8]) {
    black_box((
        wire::Request::decode(data),
        wire::hello_version(data),
        wire::decode_answer(data),
    ));
    if let Some(rows) = wire::decode_rows(data) {
        let again = wire::encode_rows(&rows);
        assert!(
            again.len() <= data.len(),
            "the encoded list is longer than the message"
        );
    }
}

/// Decodes `data` as each kind of message of transfers.
pub fn decode_transfers(data: &[u8]) {
    if let Some(request) = transfer::Request::decode(data) {
        assert_eq!(request.encode(), *data, "another request");
    }
    if let Some(reply) = transfer::Reply::decode(data) {
        assert_eq!(reply.encode(), data, "another reply");
        let inside = |s: &tcasm_transfer::Segment| s.len > 0 && s.addr.checked_add(s.len).is_some();
        assert!(
            reply.segments.iter().all(inside),
            "a segment that wraps around"
        );
    }
}

fn words_of(data: &[u8]) -> Vec<AtomicU64> {
    let word = |eight: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..eight.len()].copy_from_slice(eight);
        AtomicU64::new(u64::from_le_bytes(bytes))
    };
    data.chunks(8).map(word).collect()
}

/// Returns an index made of `data` with the correct magic number, version and page size, and with
/// valid numbers of pages and slots. Zeros follow `data`, as many as the layout needs.
fn with_magic(data: &[u8]) -> Vec<AtomicU64> {
    let mut words = words_of(data);
    words.resize_with(words.len().max(1 << 17), AtomicU64::default);
    let set = |at: usize, value: u64| words[at / 8].store(value, Ordering::Relaxed);
    let some = |at: usize, range: std::ops::Range<u64>| {
        set(
            at,
            range.start + words[at / 8].load(Ordering::Relaxed) % (range.end - range.start),
        );
    };
    set(header::MAGIC, MAGIC);
    set(header::LAYOUT_VERSION, LAYOUT_VERSION);
    set(header::PAGE_SIZE, 4096);
    some(header::PAGES, 1..4096);
    some(header::SLOTS, 2..4);
    words
}

/// Returns a valid index in which some words are changed.
fn damaged(data: &[u8]) -> Vec<AtomicU64> {
    let words = sound_index();
    for part in data.chunks_exact(6) {
        let at = u32::from_le_bytes([part[0], part[1], part[2], part[3]]) as usize;
        let value = u64::from(u16::from_le_bytes([part[4], part[5]]));
        // Half of the damage goes to the header, heads and maps, which are a small part of all
        // words.
        let most = if at & 1 == 0 {
            HEADER_BYTES / 8 + 400
        } else {
            words.len()
        };
        let word = &words[(at >> 1) % most];
        // A low value, a high value, one byte repeated, a value with inverted bits, or one bit that
        // is flipped.
        let value = match part[3] % 5 {
            0 => value,
            1 => value << 48,
            2 => (value & 0xff) * 0x0101_0101_0101_0101,
            3 => !value,
            _ => word.load(Ordering::Relaxed) ^ 1 << (value % 64),
        };
        word.store(value, Ordering::Relaxed);
    }
    words
}

/// The pages of the valid index: two chunks and a part of a third.
const PAGES: usize = 1100;
const SLOTS: usize = 3;

/// Returns a valid index with three versions, whose maps have whole chunks and leaves.
pub fn sound_index() -> Vec<AtomicU64> {
    let layout = Layout::new(PAGES, 4096, SLOTS).expect("a small region has a layout");
    let words: Vec<AtomicU64> = (0..layout.total / 8).map(|_| AtomicU64::new(0)).collect();
    write_sound(&words, layout).expect("a sound index can be written");
    words
}

fn write_sound(words: &[AtomicU64], layout: Layout) -> Result<(), IndexError> {
    let info = HeaderInfo {
        name: "sound".to_owned(),
        base: 1 << 44,
        pid: 1,
        created: 1,
        tracker: "compare".to_owned(),
        first_version: 1,
    };
    let index = IndexWriter::create(words, layout, &info)?;
    let table = FieldTable {
        fields: vec![
            field("a", 0, &[600 * 4096]),
            field("b", 600 * 4096, &[10, 512]),
        ],
        ..FieldTable::default()
    };
    let table = table.encode()?;
    let mut all = ChunkSet::new(layout.chunks);
    all.insert_range(0..layout.chunks);
    for slot in 0..layout.slots {
        index.set_changed_chunks(slot, &ChunkSet::new(layout.chunks), &all)?;
        for chunk in 0..layout.chunks {
            let entry = if chunk == slot {
                Entry::Leaf(slot)
            } else {
                Entry::Whole(slot as u8 + 1)
            };
            index.roots(slot, &(chunk..chunk + 1))?[0].store(entry.encode(), Ordering::Relaxed);
            for (i, word) in index.leaf(chunk, slot)?.iter().enumerate() {
                word.store([0x0102_0301_0203_0102, 0][i % 2], Ordering::Relaxed);
            }
            index.changed_bits(slot, chunk)?[slot].store(!0, Ordering::Relaxed);
        }
        index.set_table(slot, &table)?;
        let stamp = Stamp {
            version: 0,
            step: slot as u64,
            time: 0.5,
        };
        index.set_head(slot, &stamp, 64, 1)?;
        index.make_visible(slot, slot as u64 + 1)?;
    }
    Ok(())
}

fn field(name: &str, offset: u64, shape: &[usize]) -> FieldDesc {
    let mut desc = FieldDesc::new(name, DType::U8, shape);
    desc.offset = offset;
    desc
}

/// Reads everything that an observer reads in an index. An error in one part does not prevent the
/// other parts from being read.
fn read_all(words: &[AtomicU64]) -> Result<(), IndexError> {
    let index = Index::open(words)?;
    black_box((index.closed()?, index.latest()?, index.versions()?));
    if let Ok(header) = index.header() {
        assert!(
            header.name.len() <= 3 * MAX_NAME,
            "a name of {} bytes",
            header.name.len()
        );
        assert!(
            header.first_version <= u64::MAX >> 1,
            "a first version {:#x}",
            header.first_version
        );
    }
    let stats = Stats::new(index.stats()?);
    for counter in Counter::ALL {
        black_box(stats.get(*counter)?);
    }
    black_box((
        stats.publish_quantile_ns(0.5)?,
        stats.publish_quantile_ns(0.99)?,
    ));
    black_box(index.slot_of(index.latest()?)?);
    for slot in 0..index.layout().slots {
        let _ = black_box(read_slot(&index, slot));
    }
    Ok(())
}

fn read_slot(index: &Index<'_>, slot: usize) -> Result<(), IndexError> {
    black_box((index.stamp(slot)?, index.published(slot)?));
    let layout = *index.layout();
    let changed = index.changed(slot)?;
    assert!(
        changed.iter().all(|page| page < layout.pages),
        "a page outside the region"
    );
    let map = PageMap::new(*index, slot);
    if let Ok(table) = index.table(slot) {
        use_table(&table, layout.region_bytes());
        for field in &table.fields {
            let pages =
                field.range().start as usize / 4096..field.range().end.div_ceil(4096) as usize;
            let _ = map.runs(pages).map(|runs| check_runs(&runs, &layout));
        }
    }
    let _ = map
        .runs(0..usize::MAX / 2)
        .map(|runs| check_runs(&runs, &layout));
    let _ = black_box((map.code(0).is_ok(), map.code(layout.pages - 1).is_ok()));
    for other in 0..layout.slots {
        let differing = map.differing(&PageMap::new(*index, other));
        let inside = |set: PageSet| assert!(set.iter().all(|page| page < layout.pages));
        let _ = differing.map(inside);
    }
    Ok(())
}

/// Checks runs, because the code that maps runs does not check them again.
fn check_runs(runs: &[Run], layout: &Layout) {
    for run in runs {
        assert!(
            !run.pages.is_empty() && run.pages.end <= layout.pages,
            "a run outside: {run:?}"
        );
        assert!(
            run.plane().is_none_or(|plane| plane < layout.slots),
            "no such plane: {run:?}"
        );
    }
}

/// Uses the bytes, shapes and strides of a table, because the code that gets a decoded table does
/// not check it again.
fn use_table(table: &FieldTable, region: usize) {
    for field in &table.fields {
        assert!(
            field.range().end <= region as u64,
            "a field outside: {field:?}"
        );
        black_box((
            field.range(),
            field.interior_shape(),
            field.array_strides(),
            interior(field),
        ));
        if field.bytes() <= 1 << 16 {
            let bytes = vec![0; field.bytes() as usize];
            black_box((
                view::<u8>(field, &bytes).is_ok(),
                view::<f64>(field, &bytes).is_ok(),
            ));
        }
    }
}
