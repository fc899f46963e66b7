//! A producer with handed-over fields, an observer, and what every byte must be.

mod rollback;

use ndarray::Ix1;
use std::collections::{BTreeMap, BTreeSet};
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{
    Buffer, CaptureMode, Field, HandedOver, Producer, ProducerStats, Published, Receipt, Skip,
    TrackerKind, ViewError,
};
use tcasm_tests::name;
use tcasm_tests::oracle::ensure;

/// One step. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub enum Op {
    /// Write a handed-over buffer anew, all of it.
    Rewrite {
        buffer: usize,
        value: u8,
    },
    /// Change a part of one, which is refused while it is frozen.
    Change {
        buffer: usize,
        at: usize,
        value: u8,
    },
    /// Change a part of the ordinary field.
    Write {
        at: usize,
        value: u8,
    },
    /// Change all of it.
    WriteAll {
        value: u8,
    },
    Publish,
    /// Bind the double-buffered field to its other buffer.
    Swap,
    Pin {
        newest: bool,
    },
    Unpin(usize),
    Trim,
    /// Put a version back, one of those that are there.
    Rollback(usize),
    /// Add an ordinary field.
    Grow {
        pages: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub tracker: TrackerKind,
    pub versions: usize,
    pub history: usize,
    /// Hand-over is checked: what is not written shows.
    pub checked: bool,
    /// The bound on memory is near.
    pub tight: bool,
    pub capture: CaptureMode,
}

pub type Check = Result<(), String>;

type Bytes = Vec<u8>;

struct Held {
    version: Version,
    view: View,
    fields: BTreeMap<String, Bytes>,
}

/// A handed-over buffer, and what is in it.
struct Lent {
    buffer: Buffer<u8, Ix1, HandedOver>,
    live: Bytes,
    frozen: bool,
}

pub struct World {
    settings: Settings,
    producer: Producer,
    observer: Observer,
    plain: Field<u8, Ix1>,
    plain_live: Bytes,
    grown: usize,
    /// `u` is bound to the first or the second, `w` to the third.
    double: Field<u8, Ix1, HandedOver>,
    lent: Vec<Lent>,
    bound: usize,
    held: Vec<Held>,
    versions: BTreeMap<u64, BTreeMap<String, Bytes>>,
    step: u64,
    skips: u64,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const PLAIN: usize = 900;
/// In pages: one buffer shorter than a chunk, one longer, both ending in the middle of a page.
const DOUBLE: usize = 700;
const SINGLE: usize = 300;

impl World {
    pub fn new(settings: Settings) -> Result<World, String> {
        let (name, page) = (name("handover-model"), page_size());
        // Of a tight bound live memory and the copies leave room for some versions, and not for all.
        let planes = if settings.tight {
            3
        } else {
            4 * settings.versions
        };
        let memory = planes * (PLAIN + 2 * DOUBLE + SINGLE) * page;
        let builder = Producer::builder(&name)
            .keeper(false)
            .calm_versions(1)
            .capacity(6000 * page)
            .tracker(settings.tracker)
            .capture(settings.capture)
            .wait_for_capture(true);
        let builder = builder
            .versions(settings.versions)
            .history(settings.history)
            .check_hand_over(settings.checked)
            .memory(memory as u64);
        let mut p = builder.create().map_err(text)?;
        let plain = p.field("a", [PLAIN * page]).add().map_err(text)?;
        let double = p.field("u", [DOUBLE * page - 100]).handed_over().add();
        let double: Field<u8, Ix1, HandedOver> = double.map_err(text)?;
        let other = p.buffer_like(double).map_err(text)?;
        let single = p.field("w", [SINGLE * page - 1]).handed_over().add();
        let single = single.map_err(text)?.buffer();
        let lent = [double.buffer(), other, single].map(|buffer| Lent {
            buffer,
            live: vec![0; p.view(buffer).map_or(0, |v| v.len())],
            frozen: false,
        });
        Ok(World {
            settings,
            observer: Observer::attach(&name).map_err(text)?,
            producer: p,
            plain,
            plain_live: vec![0; PLAIN * page],
            grown: 0,
            double,
            lent: lent.into(),
            bound: 0,
            held: Vec::new(),
            versions: BTreeMap::new(),
            step: 0,
            skips: 0,
        })
    }

    pub fn apply(&mut self, op: &Op) -> Check {
        match *op {
            Op::Rewrite { buffer, value } => self.rewrite(buffer % self.lent.len(), value),
            Op::Change { buffer, at, value } => self.change(buffer % self.lent.len(), at, value),
            Op::Write { at, value } => {
                let at = (at * self.plain_live.len()) >> 16;
                self.plain_live[at] = value;
                self.producer.view_mut(self.plain).map_err(text)?[at] = value;
                Ok(())
            }
            Op::WriteAll { value } => {
                self.plain_live.fill(value);
                self.producer
                    .view_mut(self.plain)
                    .map_err(text)?
                    .fill(value);
                Ok(())
            }
            Op::Publish => self.publish(),
            Op::Swap => self.swap(),
            Op::Pin { newest } => self.pin(newest),
            Op::Unpin(which) => {
                if !self.held.is_empty() {
                    self.held.remove(which % self.held.len());
                }
                Ok(())
            }
            Op::Trim => {
                self.producer.trim().map_err(text)?;
                self.check_live()
            }
            Op::Rollback(which) => self.roll_back(which),
            Op::Grow { pages } => self.grow(pages),
        }
    }

    fn grow(&mut self, pages: usize) -> Check {
        if self.grown < 2 {
            self.grown += 1;
            let name = format!("g{}", self.grown);
            let field = self.producer.field::<u8, _>(&name, [pages * page_size()]);
            field.add().map_err(text)?;
        }
        Ok(())
    }

    fn rewrite(&mut self, i: usize, value: u8) -> Check {
        let lent = &mut self.lent[i];
        self.producer.rewrite(lent.buffer).map_err(text)?;
        lent.frozen = false;
        if self.settings.checked {
            lent.live.fill(0xff);
            self.check_live()?;
        }
        // All but a little of it, where the rest is known.
        let lent = &mut self.lent[i];
        let skipped = if self.settings.checked {
            usize::from(value) * 64
        } else {
            0
        };
        lent.live[skipped..].fill(value);
        let mut view = self.producer.view_mut(lent.buffer).map_err(text)?;
        view.iter_mut().skip(skipped).for_each(|x| *x = value);
        Ok(())
    }

    fn change(&mut self, i: usize, at: usize, value: u8) -> Check {
        let lent = &mut self.lent[i];
        match self.producer.view_mut(lent.buffer) {
            Err(ViewError::Frozen) if lent.frozen => Ok(()),
            Err(error) => Err(format!("frozen {}: {error}", lent.frozen)),
            Ok(_) if lent.frozen => Err("a frozen buffer could be written".into()),
            Ok(mut view) => {
                let from = (at * lent.live.len()) >> 16;
                let to = (from + 9000).min(lent.live.len());
                lent.live[from..to].fill(value);
                let part = &mut view.as_slice_mut().ok_or("a view in one piece")?[from..to];
                part.fill(value);
                Ok(())
            }
        }
    }

    fn swap(&mut self) -> Check {
        let next = 1 - self.bound;
        let freed = self.producer.bind(self.double, self.lent[next].buffer);
        ensure(freed.map_err(text)? == self.lent[self.bound].buffer, || {
            "bind gave back another buffer".into()
        })?;
        self.bound = next;
        Ok(())
    }

    fn pin(&mut self, newest: bool) -> Check {
        let available = self.observer.available().map_err(text)?;
        let number = if newest {
            available.last()
        } else {
            available.first()
        };
        let Some(number) = number.copied().filter(|_| self.held.len() < 8) else {
            return Ok(());
        };
        let version = self.observer.version(number).map_err(text)?;
        let view = version.view().map_err(text)?;
        let fields = self.versions.get(&number).ok_or("an unknown version")?;
        self.held.push(Held {
            version,
            view,
            fields: fields.clone(),
        });
        self.check_held()
    }

    fn publish(&mut self) -> Check {
        self.step += 1;
        let before = self.producer.stats();
        let receipt = self.producer.publish(self.step, 0.0).map_err(text)?;
        match &receipt {
            Receipt::Published(p) => self.published(p, &before)?,
            Receipt::Skipped { reason, .. } => self.skipped(reason)?,
        }
        let sound = self.producer.check_store().map_err(text)?;
        ensure(sound, || "busy slots are not those in use".into())?;
        self.check_live()?;
        self.check_held()
    }

    fn published(&mut self, p: &Published, before: &ProducerStats) -> Check {
        let visible = p.wait_visible(std::time::Duration::from_secs(60));
        ensure(visible == Ok(true), || format!("{visible:?}"))?;
        let bound = [self.bound, 2];
        let pages = |i: &usize| self.lent[*i].live.len().div_ceil(page_size()) as u64;
        let handed: Vec<usize> = bound
            .into_iter()
            .filter(|i| !self.lent[*i].frozen)
            .collect();
        let expected: u64 = handed.iter().map(pages).sum();
        ensure(p.handed_over == expected, || {
            format!("{p:?}, not {expected}")
        })?;
        handed.iter().for_each(|i| self.lent[*i].frozen = true);
        let (stats, held) = (self.producer.stats(), before.held_bytes);
        let after = stats.held_bytes;
        let mut fresh = p.bytes + expected * page_size() as u64;
        // All slots of a chunk that comes to rest have memory: three of four pages rest, so the others are fewer.
        fresh += stats.resting_bytes.saturating_sub(before.resting_bytes);
        ensure(after <= held + fresh, || {
            format!("{held} became {after} bytes")
        })?;
        let image = [
            ("a", &self.plain_live),
            ("u", &self.lent[self.bound].live),
            ("w", &self.lent[2].live),
        ];
        let image = image.map(|(name, bytes)| (name.to_owned(), bytes.clone()));
        self.versions.insert(p.version, image.into());
        let available = self.observer.available().map_err(text)?;
        ensure(available.len() < self.settings.versions, || {
            format!("{available:?} leave no plane")
        })?;
        self.versions.retain(|n, _| available.contains(n));
        let newest = self.observer.latest().map_err(text)?;
        check_version(&newest, None, &self.versions[&p.version])
    }

    /// Nobody may be told that there is no room when there is.
    fn skipped(&mut self, reason: &Skip) -> Check {
        self.skips += 1;
        let mut used: BTreeSet<u64> = self.held.iter().map(|h| h.version.number()).collect();
        used.extend(self.versions.keys().last());
        match reason {
            Skip::Versions { bound } => ensure(
                used.len() >= *bound && *bound == self.settings.versions - 1,
                || format!("{reason}, with {used:?} in use"),
            ),
            Skip::Bytes {
                needed,
                held,
                bound,
            } => ensure(self.settings.tight && needed + held > *bound, || {
                format!("{reason}")
            }),
            _ => Err(format!("{reason}")),
        }
    }

    /// Live memory is what was written, whatever became of versions.
    fn check_live(&self) -> Check {
        let view = self.producer.view(self.plain).map_err(text)?;
        ensure(view.as_slice() == Some(&self.plain_live[..]), || {
            "live memory of the plain field differs".into()
        })?;
        for (i, lent) in self.lent.iter().enumerate() {
            let view = self.producer.view(lent.buffer).map_err(text)?;
            ensure(view.as_slice() == Some(&lent.live[..]), || {
                format!("live memory of buffer {i} differs")
            })?;
        }
        Ok(())
    }

    fn check_held(&self) -> Check {
        let check = |h: &Held| {
            check_version(&h.version, Some(&h.view), &h.fields)
                .map_err(|e| format!("version {}: {e}", h.version.number()))
        };
        self.held.iter().try_for_each(check)
    }

    /// With nobody in the way the last content is published: nothing was lost.
    pub fn end(mut self) -> Check {
        self.held.clear();
        let skips = self.skips;
        self.publish()?;
        ensure(self.skips == skips, || "skipped though nobody pins".into())?;
        self.producer.close();
        let newest = self.observer.latest().map_err(text)?;
        let (_, fields) = self.versions.last_key_value().ok_or("no version")?;
        check_version(&newest, None, fields)
    }
}

fn check_version(
    version: &Version,
    view: Option<&View>,
    fields: &BTreeMap<String, Bytes>,
) -> Check {
    let fresh = version.view().map_err(text)?;
    for view in view.into_iter().chain([&fresh]) {
        for (name, bytes) in fields {
            ensure(view.bytes(name).map_err(text)? == bytes, || {
                format!("field {name:?} differs")
            })?;
        }
    }
    Ok(())
}
