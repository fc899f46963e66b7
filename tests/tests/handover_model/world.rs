//! A producer with handed-over fields, an observer, and a model of every byte.

mod rollback;

use ndarray::Ix1;
use std::collections::{BTreeMap, BTreeSet};
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::nodes::Pretended;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{
    Buffer, CaptureMode, Field, HandedOver, HugePages, Producer, ProducerStats, Published, Receipt,
    Skip, TrackerKind, ViewError,
};
use tcasm_tests::name;
use tcasm_tests::oracle::ensure;

/// One step. Numbers are taken modulo the number of things that exist.
#[derive(Clone, Debug)]
pub enum Op {
    /// Begins a handed-over buffer anew and writes all of it.
    Rewrite {
        buffer: usize,
        value: u8,
    },
    /// Changes a part of a handed-over buffer, which is refused while it is frozen.
    Change {
        buffer: usize,
        at: usize,
        value: u8,
    },
    /// Changes a part of the ordinary field.
    Write {
        at: usize,
        value: u8,
    },
    /// Changes all of the ordinary field.
    WriteAll {
        value: u8,
    },
    Publish,
    /// Binds the double-buffered field to its other buffer.
    Swap,
    Pin {
        newest: bool,
    },
    Unpin(usize),
    Trim,
    /// Rolls back to one of the versions that exist.
    Rollback(usize),
    /// Adds an ordinary field.
    Grow {
        pages: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub tracker: TrackerKind,
    pub versions: usize,
    pub history: usize,
    /// True if hand-over is checked, which makes bytes that are not written visible.
    pub checked: bool,
    /// True if the bound on memory is low.
    pub tight: bool,
    /// The huge pages that live memory may consist of.
    pub huge: HugePages,
    pub capture: CaptureMode,
    /// The number of nodes of memory that the machine pretends to have.
    pub nodes: usize,
}

pub type Check = Result<(), String>;

type Bytes = Vec<u8>;

struct Held {
    version: Version,
    view: View,
    fields: BTreeMap<String, Bytes>,
}

/// A handed-over buffer, and its bytes.
struct Handed {
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
    /// Field `u` is bound to the first or second buffer, `w` to the third.
    double: Field<u8, Ix1, HandedOver>,
    handed: Vec<Handed>,
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
/// Sizes in pages: `DOUBLE` is longer than a chunk and `SINGLE` shorter. Both end in the middle of
/// a page.
const DOUBLE: usize = 700;
const SINGLE: usize = 300;

impl World {
    pub fn new(settings: Settings) -> Result<World, String> {
        let (name, page) = (name("handover-model"), page_size());
        // A low bound leaves room for live memory, the copies and some versions, but not for all.
        let planes = if settings.tight {
            3
        } else {
            4 * settings.versions
        };
        let memory = planes * (PLAIN + 2 * DOUBLE + SINGLE) * page;
        let builder = Producer::builder(&name)
            .keeper(false)
            .gather_often()
            .huge_pages(settings.huge)
            .cold_versions(1)
            .capacity(6000 * page)
            .tracker(settings.tracker)
            .capture(settings.capture)
            .wait_for_capture(true);
        let builder = builder
            .versions(settings.versions)
            .history(settings.history)
            .check_hand_over(settings.checked)
            .memory(memory as u64)
            .topology(Pretended::new(settings.nodes));
        let mut p = builder.create().map_err(text)?;
        let plain = p.field("a", [PLAIN * page]).add().map_err(text)?;
        let double = p.field("u", [DOUBLE * page - 100]).handed_over().add();
        let double: Field<u8, Ix1, HandedOver> = double.map_err(text)?;
        let other = p.buffer_like(double).map_err(text)?;
        let single = p.field("w", [SINGLE * page - 1]).handed_over().add();
        let single = single.map_err(text)?.buffer();
        let handed = [double.buffer(), other, single].map(|buffer| Handed {
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
            handed: handed.into(),
            bound: 0,
            held: Vec::new(),
            versions: BTreeMap::new(),
            step: 0,
            skips: 0,
        })
    }

    pub fn apply(&mut self, op: &Op) -> Check {
        match *op {
            Op::Rewrite { buffer, value } => self.rewrite(buffer % self.handed.len(), value),
            Op::Change { buffer, at, value } => self.change(buffer % self.handed.len(), at, value),
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
        let handed = &mut self.handed[i];
        self.producer.rewrite(handed.buffer).map_err(text)?;
        handed.frozen = false;
        if self.settings.checked {
            handed.live.fill(0xff);
            self.check_live()?;
        }
        // All but the beginning, whose bytes are known if hand-over is checked.
        let handed = &mut self.handed[i];
        let skipped = if self.settings.checked {
            usize::from(value) * 64
        } else {
            0
        };
        handed.live[skipped..].fill(value);
        let mut view = self.producer.view_mut(handed.buffer).map_err(text)?;
        view.iter_mut().skip(skipped).for_each(|x| *x = value);
        Ok(())
    }

    fn change(&mut self, i: usize, at: usize, value: u8) -> Check {
        let handed = &mut self.handed[i];
        match self.producer.view_mut(handed.buffer) {
            Err(ViewError::Frozen) if handed.frozen => Ok(()),
            Err(error) => Err(format!("frozen {}: {error}", handed.frozen)),
            Ok(_) if handed.frozen => Err("a frozen buffer could be written".into()),
            Ok(mut view) => {
                let from = (at * handed.live.len()) >> 16;
                let to = (from + 9000).min(handed.live.len());
                handed.live[from..to].fill(value);
                let part = &mut view.as_slice_mut().ok_or("a view in one piece")?[from..to];
                part.fill(value);
                Ok(())
            }
        }
    }

    fn swap(&mut self) -> Check {
        let next = 1 - self.bound;
        let freed = self.producer.bind(self.double, self.handed[next].buffer);
        ensure(
            freed.map_err(text)? == self.handed[self.bound].buffer,
            || "bind returned another buffer".into(),
        )?;
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
        ensure(sound, || "busy frames are not those in use".into())?;
        self.check_live()?;
        self.check_held()
    }

    fn published(&mut self, p: &Published, before: &ProducerStats) -> Check {
        let visible = p.wait_visible(std::time::Duration::from_secs(60));
        ensure(visible == Ok(true), || format!("{visible:?}"))?;
        let bound = [self.bound, 2];
        let pages = |i: &usize| self.handed[*i].live.len().div_ceil(page_size()) as u64;
        let handed: Vec<usize> = bound
            .into_iter()
            .filter(|i| !self.handed[*i].frozen)
            .collect();
        let expected: u64 = handed.iter().map(pages).sum();
        ensure(p.handed_over == expected, || {
            format!("{p:?}, not {expected}")
        })?;
        handed.iter().for_each(|i| self.handed[*i].frozen = true);
        let (stats, held) = (self.producer.stats(), before.held_bytes);
        let after = stats.held_bytes;
        let mut fresh = p.bytes + expected * page_size() as u64;
        // When a chunk becomes shared, all its frames have memory. At least three of four pages are
        // then shared, so the others are fewer.
        fresh += stats.shared_bytes.saturating_sub(before.shared_bytes);
        ensure(after <= held + fresh, || {
            format!("{held} became {after} bytes")
        })?;
        let image = [
            ("a", &self.plain_live),
            ("u", &self.handed[self.bound].live),
            ("w", &self.handed[2].live),
        ];
        let image = image.map(|(name, bytes)| (name.to_owned(), bytes.clone()));
        self.versions.insert(p.version, image.into());
        let available = self.observer.available().map_err(text)?;
        ensure(available.len() < self.settings.versions, || {
            format!("versions {available:?} leave no plane free")
        })?;
        self.versions.retain(|n, _| available.contains(n));
        let newest = self.observer.latest().map_err(text)?;
        check_version(&newest, None, &self.versions[&p.version])
    }

    /// Checks that a publish was only skipped because there was no room.
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

    /// Checks that live memory is what was written, whatever happened to versions.
    fn check_live(&self) -> Check {
        let view = self.producer.view(self.plain).map_err(text)?;
        ensure(view.as_slice() == Some(&self.plain_live[..]), || {
            "live memory of the plain field differs".into()
        })?;
        for (i, handed) in self.handed.iter().enumerate() {
            let view = self.producer.view(handed.buffer).map_err(text)?;
            ensure(view.as_slice() == Some(&handed.live[..]), || {
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

    /// Checks that the last contents are published once no version is pinned: nothing was lost.
    pub fn end(mut self) -> Check {
        self.held.clear();
        let skips = self.skips;
        self.publish()?;
        ensure(self.skips == skips, || {
            "skipped although no version is pinned".into()
        })?;
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
