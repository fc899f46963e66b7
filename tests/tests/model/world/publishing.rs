//! A publish, with stores right after it.

use super::{Check, World, text};
use crate::ops::Early;
use std::ops::Range;
use std::time::Duration;
use tcasm_producer::Receipt;
use tcasm_tests::child::DEADLINE;
use tcasm_tests::oracle::{Seen, ensure};

impl World {
    /// Writes to all buffers, the last one first. Returns the stores, which the oracle is told
    /// later.
    fn store_early(&mut self, early: Early) -> Result<Vec<(usize, Range<usize>, u8)>, String> {
        let mut stores = Vec::new();
        let Some((style, at, value)) = early else {
            return Ok(stores);
        };
        for buffer in (0..self.buffers.len()).rev() {
            let ranges = self.ranges(buffer, style, at);
            self.store(buffer, &ranges, value)?;
            stores.extend(ranges.into_iter().map(|range| (buffer, range, value)));
        }
        Ok(stores)
    }

    pub fn publish(&mut self, wait: bool, early: Early) -> Check {
        let (held, pinned) = (self.producer.stats().held_bytes, self.pinned());
        self.step += 1;
        let receipt = match wait {
            false => self.producer.publish(self.step, self.step as f64),
            true => self
                .producer
                .publish_wait(self.step, self.step as f64, Duration::ZERO),
        };
        let receipt = receipt.map_err(text)?;
        let stores = self.store_early(early)?;
        let deferred = wait_visible(&receipt)?;
        let assembled = assembled(&receipt);
        self.chunks_assembled += assembled.len();
        let changed = match receipt.version().filter(|_| deferred.is_some()) {
            Some(n) => Some(
                self.inspector
                    .version(n)
                    .map_err(text)?
                    .changes()
                    .map_err(text)?
                    .pages,
            ),
            None => None,
        };
        self.oracle.publish(&Seen {
            receipt: &receipt,
            step: self.step,
            available: self.inspector.available().map_err(text)?,
            changed,
            deferred: deferred.clone(),
            assembled,
            held: (held, self.producer.stats().held_bytes),
            pinned,
        })?;
        let given_up = deferred.is_none();
        self.check_counts(&receipt)?;
        let whole = self.producer.check_store().map_err(text)?;
        ensure(whole, || {
            "busy frames are not those that versions refer to".to_owned()
        })?;
        if !given_up {
            self.check_newest(&receipt)?;
        }
        for (buffer, range, value) in stores {
            self.oracle.write(buffer, range, value);
        }
        Ok(())
    }
}

/// Waits until the version is visible, if there is one. Returns the chunks that were captured after
/// the call, or `None` if the version was given up.
fn wait_visible(receipt: &Receipt) -> Result<Option<Vec<usize>>, String> {
    let Receipt::Published(published) = receipt else {
        return Ok(Some(Vec::new()));
    };
    let Ok(visible) = published.wait_visible(DEADLINE) else {
        return Ok(None);
    };
    ensure(visible && published.is_visible(), || {
        format!("not visible after {DEADLINE:?}: {published:?}")
    })?;
    Ok(Some(published.chunks_deferred()))
}

fn assembled(receipt: &Receipt) -> Vec<usize> {
    match receipt {
        Receipt::Published(published) => published.chunks_assembled(),
        Receipt::Skipped { .. } => Vec::new(),
    }
}
