//! I9: whatever the index holds, a reader gets an error or some bytes. It never crashes or hangs.

use super::common::{PAGES, region, text, touch, within};
use crate::PublishVisible;
use crate::check::Check;
use crate::index::index_of;
use crate::name;
use crate::oracle::ensure;
use crate::pattern::mix;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tcasm_core::format::layout::{HEADER_BYTES, Layout, SLOT_BYTES, header, slot};
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{ObserveError, Observer, Version, ViewError};

/// Damages one word after the other and reads everything each time.
pub fn i9_a_damaged_index_gives_errors() -> Check {
    within(
        Duration::from_secs(50),
        "reading a damaged index",
        damage_all,
    )
}

fn damage_all() -> Check {
    let name = name("i9");
    let (mut producer, field) = region(&name, |b| b)?;
    for step in 1..=3 {
        touch(&mut producer, field, step as usize, 5, step as u8)?;
        producer.publish_visible(step, 0.0).map_err(text)?;
    }
    // SAFETY: the producer lives until the end of this function.
    let index = unsafe { index_of(&name) }?;
    let mut attached = Observer::attach(&name).map_err(text)?;
    let held = attached.latest().map_err(text)?;
    let slots = attached.info().map_err(text)?.max_versions;
    let pages = 2 * PAGES + 64;
    let layout = Layout::new(pages, page_size(), slots).map_err(text)?;
    let mut check = |at: usize, value: u64| {
        let word = &index[at / 8];
        let sound = word.swap(value, Ordering::SeqCst);
        let survived = catch_unwind(AssertUnwindSafe(|| read_all(&name, &mut attached, &held)));
        word.store(sound, Ordering::SeqCst);
        ensure(survived.is_ok(), || {
            format!("a reader panics when the word at {at} is {value:#x}")
        })
    };
    for (at, value) in damages(&layout)
        .into_iter()
        .chain(bytes_of_tables(index, &layout))
    {
        check(at, value)?;
    }
    shape_changes_while_attached(&name, index, &layout)?;
    newest_is_wrong_for_every_version(&name, index)?;
    let version = Observer::attach(&name)
        .map_err(text)?
        .latest()
        .map_err(text)?;
    ensure(version.number() == 3, || {
        "the index was not restored".to_owned()
    })
}

/// Returns damages that flip bits in every byte of the tables in use, with their lengths, offsets
/// and kinds.
fn bytes_of_tables(index: &[AtomicU64], layout: &Layout) -> Vec<(usize, u64)> {
    let get = |at: usize| index[at / 8].load(Ordering::SeqCst);
    let bytes = |slot: usize| {
        (0..get(layout.head(slot) + slot::TABLE_LEN) as usize).map(move |i| layout.table(slot) + i)
    };
    let turned =
        |at: usize| [0xff, 0x40, 1].map(|bits| (at / 8 * 8, get(at) ^ bits << (at % 8 * 8)));
    (0..layout.slots).flat_map(bytes).flat_map(turned).collect()
}

/// Changes the numbers that everything else depends on to other plausible ones and back, under an
/// observer that stays attached.
fn shape_changes_while_attached(name: &str, index: &[AtomicU64], layout: &Layout) -> Check {
    let pages = layout.pages as u64;
    let other_pages = [PAGES as u64, pages - 1, pages + 1, pages * 2].map(|n| (header::PAGES, n));
    let page = layout.page_size as u64;
    let others = [
        (header::PAGE_SIZE, page * 2),
        (header::PAGE_SIZE, page * 8),
        (header::SLOTS, 2),
    ];
    for (at, value) in other_pages.into_iter().chain(others) {
        let mut observer = Observer::attach(name).map_err(text)?;
        let word = &index[at / 8];
        let shape = |o: &Observer| o.info().map(|i| (i.bytes, i.page_size, i.max_versions));
        let before = shape(&observer).map_err(text)?;
        let survived = catch_unwind(AssertUnwindSafe(|| {
            let sound = word.swap(value, Ordering::SeqCst);
            let meanwhile = shape(&observer);
            let _ = observer.latest().map(|v| view_version(&v));
            word.store(sound, Ordering::SeqCst);
            let _ = observer.latest().map(|v| view_version(&v));
            meanwhile
        }));
        // Planes and windows have the shape that was checked when the observer attached. It must
        // not work with another one.
        let kept = matches!(&survived, Ok(Ok(meanwhile)) if *meanwhile == before);
        ensure(survived.is_err() || kept, || {
            format!("an observer follows the word at {at} to {value:#x}: {survived:?}")
        })?;
        ensure(survived.is_ok(), || {
            format!("a reader panics when the word at {at} becomes {value:#x} for a while")
        })?;
    }
    Ok(())
}

/// Changes the number of the newest version under an observer that takes every version.
fn newest_is_wrong_for_every_version(name: &str, index: &[AtomicU64]) -> Check {
    let newest = &index[header::LATEST / 8];
    for value in [0, 1, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX] {
        let mut observer = Observer::attach(name).map_err(text)?;
        let mut every = observer.every_version().map_err(text)?;
        let sound = newest.swap(value, Ordering::SeqCst);
        let end = loop {
            match every.next(Duration::ZERO) {
                Ok(version) => drop(version),
                Err(error) => break error,
            }
        };
        newest.store(sound, Ordering::SeqCst);
        let refused = matches!(end, ObserveError::Index(_));
        ensure(refused == (value > u64::MAX >> 1), || {
            format!("if the newest version is {value:#x}, the next one is: {end}")
        })?;
    }
    Ok(())
}

/// Returns words of each kind, each with harmful values.
fn damages(layout: &Layout) -> Vec<(usize, u64)> {
    let mut words: Vec<usize> = (0..header::STATS + 80).step_by(8).collect();
    words.extend((header::STATS + 512..HEADER_BYTES).step_by(160));
    for slot in 0..layout.slots {
        words.extend((layout.head(slot)..layout.head(slot) + SLOT_BYTES).step_by(8));
        words.extend((0..layout.chunks).map(|chunk| layout.root(slot, chunk)));
        words.extend([
            layout.used_chunks,
            layout.chunks_changed(slot),
            layout.chunks_changed(slot) + 8,
        ]);
        words.extend([
            layout.changed_bits(slot, layout.chunks - 1) + 56,
            layout.changed_bits(slot, 0),
        ]);
        words.extend((0..20).map(|i| layout.table(slot) + i * 8));
    }
    for chunk in 0..layout.chunks {
        for leaf in 0..layout.slots {
            words.extend(
                (0..CHUNK_PAGES)
                    .step_by(168)
                    .map(|i| layout.leaf(chunk, leaf) + i),
            );
        }
    }
    let slots = layout.slots as u64;
    let harm = |at: usize| {
        let random = mix(at as u64, 9, 9);
        [
            0,
            1,
            slots,
            slots + 1,
            1 << 31 | slots,
            1 << 32 | 1 << 31 | 63,
            1 << 62,
            u64::MAX,
            0xc8c8_c8c8_c8c8_c8c8,
            random,
        ]
        .map(|value| (at, value))
    };
    words.into_iter().flat_map(harm).collect()
}

/// Calls everything that reads the index. The results do not matter here.
fn read_all(name: &str, attached: &mut Observer, held: &Version) {
    if let Ok(mut fresh) = Observer::attach(name) {
        read_with(&mut fresh, held);
    }
    read_with(attached, held);
    read_version(held, held);
    let _ = view_version(held);
}

fn read_with(observer: &mut Observer, held: &Version) {
    let _ = (observer.status(), observer.info());
    for n in observer.available().unwrap_or_default().into_iter().take(4) {
        let _ = observer.version(n).map(|v| read_version(&v, held));
    }
    let _ = observer.latest().map(|v| view_version(&v));
    let _ = observer.next(Duration::ZERO);
    let _ = observer.wait_newer(Duration::ZERO);
    if let Ok(mut every) = observer.every_version() {
        for _ in 0..4 {
            let _ = every.next(Duration::ZERO);
        }
    }
}

fn read_version(version: &Version, held: &Version) {
    let _ = (
        version.changes(),
        version.changes_since(held),
        held.changes_since(version),
    );
    let mut bytes = vec![0; 3 * page_size()];
    for field in &version.table().fields {
        let _ = version.runs(field.range());
        for offset in [
            0,
            100 * page_size() as u64,
            field.bytes().saturating_sub(bytes.len() as u64),
        ] {
            let _ = version.read_bytes(&field.name, offset, &mut bytes);
        }
    }
}

fn view_version(version: &Version) -> Result<(), ViewError> {
    let view = version.view()?;
    for field in &version.table().fields {
        let bytes = view.bytes(&field.name)?;
        std::hint::black_box(
            bytes
                .iter()
                .step_by(7 * page_size())
                .fold(0u8, |a, b| a ^ b),
        );
        let _ = (
            view.array::<u8>(&field.name).map(|a| a.len()),
            view.interior::<u8>(&field.name).map(|a| a.len()),
        );
        let _ = (
            view.array::<f64>(&field.name).map(|a| a.len()),
            view.raw::<u64>(&field.name).map(<[u64]>::len),
        );
    }
    Ok(())
}
