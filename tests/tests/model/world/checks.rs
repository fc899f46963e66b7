//! Checks of counters, of versions, and of what differs between them.

use super::ranges::check_ranges;
use super::{Check, Held, World, text};
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Version, View};
use tcasm_producer::Receipt;
use tcasm_tests::oracle::{Expected, ensure};

impl World {
    pub(super) fn check_counts(&mut self, receipt: &Receipt) -> Check {
        let change = match receipt {
            Receipt::Published(p) => [1, 0, p.pages, self.broken.into()],
            Receipt::Skipped { .. } => [0, 1, 0, self.broken.into()],
        };
        self.counts
            .iter_mut()
            .zip(change)
            .for_each(|(n, by)| *n += by);
        let s = self.producer.stats();
        if self.broken && s.tracker_errors < self.counts[3] {
            // The gate has taken over the replaced page, and later the tracker from the gate.
            self.counts[3] = s.tracker_errors;
        }
        let counts = [s.publishes, s.skips, s.pages, s.tracker_errors];
        ensure(counts == self.counts, || {
            format!("counters {counts:?}, expected {:?}", self.counts)
        })
    }

    /// Checks the newest version, even if no observer holds it.
    pub(super) fn check_newest(&mut self, receipt: &Receipt) -> Check {
        let Some(n) = receipt.version() else {
            return Ok(());
        };
        let version = self.inspector.version(n).map_err(text)?;
        let changed = version.changes().map_err(text)?.pages.len() as u64;
        ensure(version.changed_pages() == changed, || {
            format!("{} changed pages", version.changed_pages())
        })?;
        let expected = self.oracle.expected(n).ok_or("a version")?;
        check_version(&version, None, expected, self.step)?;
        for held in self.observers.iter().flatten().flat_map(|o| &o.held) {
            self.check_between(held, &version, expected)?;
        }
        Ok(())
    }

    fn check_between(&self, held: &Held, version: &Version, expected: &Expected) -> Check {
        let changes = version.changes_since(&held.version).map_err(text)?;
        self.oracle
            .check_changes(&held.expected, expected, &changes.pages)?;
        for (name, at, len) in &expected.fields {
            let pages = at / page_size()..(at + len).div_ceil(page_size());
            let here = held
                .expected
                .fields
                .iter()
                .any(|(n, a, _)| n == name && a == at);
            let says = changes.fields.contains(name);
            ensure(says == (!here || changes.pages.intersects(pages)), || {
                format!("{name} in {changes:?}")
            })?;
            check_ranges(&held.version, version, (name, *len), says)?;
        }
        Ok(())
    }

    /// Checks that live memory is what was written, whatever happened to versions.
    fn check_live(&self) -> Check {
        for (i, buffer) in self.buffers.iter().enumerate() {
            let view = self.producer.view(*buffer).map_err(text)?;
            ensure(view.as_slice() == Some(self.oracle.live(i)), || {
                format!("live memory of buffer {i} differs")
            })?;
        }
        Ok(())
    }

    /// Checks that all held versions are unchanged, and that live memory is right.
    pub fn check_all(&self) -> Check {
        self.check_live()?;
        let held = self.observers.iter().flatten().flat_map(|o| &o.held);
        held.into_iter().try_for_each(|h| {
            check_version(&h.version, h.view.as_ref(), &h.expected, self.step)
                .map_err(|e| format!("version {}: {e}", h.version.number()))
        })
    }
}

/// Reads a version in every way and compares it.
pub(super) fn check_version(
    version: &Version,
    view: Option<&View>,
    expected: &Expected,
    salt: u64,
) -> Check {
    ensure(version.step() == expected.step, || {
        format!("step {}", version.step())
    })?;
    expected.check_table(version.table())?;
    let fresh = version.view().map_err(text)?;
    for field in &expected.fields {
        let (name, bytes) = (&field.0, expected.bytes(field));
        for view in view.into_iter().chain([&fresh]) {
            ensure(view.bytes(name).map_err(text)? == bytes, || {
                format!("field {name:?} differs in a view")
            })?;
        }
        // A part that starts anywhere, at a different place each time.
        let start = (salt as usize).wrapping_mul(0x9e37_79b9) % bytes.len();
        let mut part = vec![0xee; (bytes.len() - start).min(200_000)];
        version
            .read_bytes(name, start as u64, &mut part)
            .map_err(text)?;
        ensure(part == bytes[start..start + part.len()], || {
            format!("field {name:?} differs when read")
        })?;
    }
    Ok(())
}
