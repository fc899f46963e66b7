//! A producer, its observers, and the model of both.

mod checks;
mod observers;
mod publishing;
mod ranges;
mod rollback;

use crate::ops::{CAPACITY, OBSERVERS, Op, Region, Style};
use checks::check_version;
use ndarray::Ix1;
use std::collections::BTreeSet;
use std::ops::Range;
use tcasm_core::sys::huge::is_huge;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_core::testing::nodes::Pretended;
use tcasm_observer::{ObserveError, Observer, Status, Version, View};
use tcasm_producer::{Buffer, CaptureMode, Field, Producer, PublishError, TrackerKind};
use tcasm_tests::hostile::{Attachment, HostileClient};
use tcasm_tests::name;
use tcasm_tests::oracle::{Exactness, Expected, Oracle, ensure};

/// A tracker and a capture mode.
pub type Way = (TrackerKind, CaptureMode);

/// A version that an observer holds.
struct Held {
    version: Version,
    view: Option<View>,
    expected: Expected,
}

struct Attached {
    observer: Observer,
    seen: u64,
    held: Vec<Held>,
}

/// An observer that never releases a version. It writes its pins by hand, and dies with them.
struct Crasher {
    _connection: HostileClient,
    attached: Attachment,
    pins: Vec<u64>,
}

pub struct World {
    tracker: TrackerKind,
    name: String,
    producer: Producer,
    oracle: Oracle,
    fields: Vec<Field<u8, Ix1>>,
    /// The handles of all buffers. `bound` has for each field the index of its buffer and of its
    /// spare.
    buffers: Vec<Buffer<u8, Ix1>>,
    bound: Vec<(usize, Option<usize>)>,
    observers: [Option<Attached>; OBSERVERS],
    crasher: Option<Crasher>,
    /// An observer that is always attached, to read the versions that exist.
    inspector: Observer,
    broken: bool,
    step: u64,
    counts: [u64; 4],
    /// The number of chunks that were assembled.
    pub chunks_assembled: usize,
}

pub type Check = Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl World {
    pub fn new(way: Way, region: &Region) -> Result<World, String> {
        let (name, bounds) = (name("model"), region.bounds);
        let builder = Producer::builder(&name)
            .keeper(false)
            .gather_often()
            .huge_pages(region.huge)
            .cold_versions(1)
            .capacity(CAPACITY * page_size())
            .capture(way.1)
            .tracker(way.0);
        let builder = builder
            .versions(bounds.versions)
            .history(bounds.history)
            .memory(bounds.bytes)
            .topology(Pretended::new(region.nodes));
        let builder = match region.assemble {
            true => builder.always_assemble(),
            false => builder,
        };
        let producer = builder.create().map_err(text)?;
        let mut world = World {
            tracker: producer.tracker(),
            inspector: Observer::attach(&name).map_err(text)?,
            name,
            producer,
            oracle: Oracle::new(region.pages(), page_size(), bounds, exactness(way)),
            fields: Vec::new(),
            buffers: Vec::new(),
            bound: Vec::new(),
            observers: Default::default(),
            crasher: None,
            broken: false,
            step: 0,
            counts: [0; 4],
            chunks_assembled: 0,
        };
        world.add_field("a", region.first * page_size() - 100, false)?;
        world.add_field("u", 120 * page_size(), true)?;
        Ok(world)
    }

    fn add_field(&mut self, name: &str, bytes: usize, double: bool) -> Check {
        let field = self
            .producer
            .field::<u8, _>(name, [bytes])
            .add()
            .map_err(text)?;
        self.buffers.push(field.buffer());
        let bound = self.oracle.add_buffer(bytes);
        self.oracle.add_field(name, bound);
        let mut spare = None;
        if double {
            self.buffers
                .push(self.producer.buffer_like(field).map_err(text)?);
            spare = Some(self.oracle.add_buffer(bytes));
        }
        self.fields.push(field);
        self.bound.push((bound, spare));
        Ok(())
    }

    fn pinned(&self) -> BTreeSet<u64> {
        let held = self
            .observers
            .iter()
            .flatten()
            .flat_map(|o| &o.held)
            .map(|h| h.version.number());
        held.chain(self.crasher.iter().flat_map(|c| c.pins.iter().copied()))
            .collect()
    }

    pub fn apply(&mut self, op: &Op) -> Check {
        match *op {
            Op::Write {
                buffer,
                style,
                at,
                value,
            } => self.write(buffer, style, at, value),
            Op::Publish { wait, early } => {
                self.publish(wait, early)?;
                self.check_all()
            }
            Op::Pin {
                observer,
                how,
                keep_view,
            } => self.pin(observer % OBSERVERS, how, keep_view),
            Op::Unpin { observer, which } => {
                if let Some(o) = &mut self.observers[observer % OBSERVERS]
                    && !o.held.is_empty()
                {
                    o.held.remove(which % o.held.len());
                }
                Ok(())
            }
            Op::Attach(i) => self.attach(i % OBSERVERS),
            Op::Detach(i) => {
                self.observers[i % OBSERVERS] = None;
                self.wait_for_leases()
            }
            Op::CrasherPins(which) => self.crasher_pins(which),
            Op::CrasherDies => {
                self.crasher = None;
                self.wait_for_leases()
            }
            Op::Grow { bytes, double } => self.grow(bytes, double),
            Op::Swap(field) => self.swap(field),
            Op::Mark { buffer, at, pages } => self.mark(buffer, at, pages),
            Op::Dma { buffer } => {
                let buffer = buffer % self.buffers.len();
                self.producer.register_dma(self.buffers[buffer]);
                self.oracle.stick(buffer, 0..self.oracle.len_of(buffer));
                Ok(())
            }
            Op::Trim => {
                self.producer.trim().map_err(text)?;
                let (held, busy) = (self.producer.stats().held_bytes, self.oracle.busy_bytes());
                ensure(held == busy, || {
                    format!("after trim {held} bytes are held, {busy} are in use")
                })?;
                self.check_all()
            }
            Op::Revoke => self.revoke(),
            Op::BreakTracker(at) => self.break_tracker(at),
            Op::Rollback(which) => self.roll_back(which),
        }
    }

    fn write(&mut self, buffer: usize, style: Style, at: usize, value: u8) -> Check {
        let buffer = buffer % self.buffers.len();
        let ranges = self.ranges(buffer, style, at);
        self.store(buffer, &ranges, value)?;
        let write = |range| self.oracle.write(buffer, range, value);
        ranges.into_iter().for_each(write);
        Ok(())
    }

    fn ranges(&self, buffer: usize, style: Style, at: usize) -> Vec<Range<usize>> {
        let (len, page) = (self.oracle.len_of(buffer), page_size());
        let at = (at * len) >> 16;
        let edge = at / page * page;
        // The first range, and the distance to the next.
        let (first, every) = match style {
            Style::Byte => (at..at + 1, len),
            Style::Edge => (edge.saturating_sub(1)..edge + 1, len),
            Style::Span(pages) => (at..(at + pages * page).min(len), len),
            Style::Every(pages) => (at % (pages * page)..at % (pages * page) + 1, pages * page),
            Style::All => (0..len, len),
            Style::Around => (0..edge, len),
        };
        let more = matches!(style, Style::Around).then(|| (edge + page).min(len)..len);
        let starts = (first.start..len).step_by(every);
        let ranges = starts.map(|start| start..start + first.len()).chain(more);
        ranges.collect()
    }

    fn store(&mut self, buffer: usize, ranges: &[Range<usize>], value: u8) -> Check {
        let mut view = self.producer.view_mut(self.buffers[buffer]).map_err(text)?;
        let bytes = view.as_slice_mut().ok_or("a view in one piece")?;
        ranges.iter().for_each(|r| bytes[r.clone()].fill(value));
        Ok(())
    }

    /// Returns the bytes of live memory that are shared with planes.
    pub fn shared_bytes(&self) -> u64 {
        self.producer.stats().shared_bytes
    }

    /// Returns true if a chunk of live memory is a huge page.
    pub fn has_huge_pages(&self) -> bool {
        let Ok(view) = self.producer.view(self.buffers[0]) else {
            return false;
        };
        // The first buffer begins where the region does.
        let base = view.as_ptr() as usize;
        let mut chunks = (0..CAPACITY * page_size() / HUGE_PAGE).map(|i| base + i * HUGE_PAGE);
        chunks.any(|at| is_huge(&(at..at + HUGE_PAGE)).unwrap_or(false))
    }

    fn grow(&mut self, bytes: usize, double: bool) -> Check {
        let needed = bytes.div_ceil(page_size()) * (1 + usize::from(double));
        if needed > self.oracle.room() {
            return Ok(());
        }
        self.add_field(&format!("f{}", self.fields.len()), bytes, double)
    }

    fn swap(&mut self, field: usize) -> Check {
        let i = field % self.fields.len();
        if let (bound, Some(spare)) = self.bound[i] {
            let freed = self
                .producer
                .bind(self.fields[i], self.buffers[spare])
                .map_err(text)?;
            ensure(freed == self.buffers[bound], || {
                "bind returned another buffer".to_owned()
            })?;
            self.bound[i] = (spare, Some(bound));
            self.oracle.bind(i, spare);
        }
        Ok(())
    }

    fn mark(&mut self, buffer: usize, at: usize, pages: usize) -> Check {
        let buffer = buffer % self.buffers.len();
        let len = self.oracle.len_of(buffer);
        let at = (at * len) >> 16;
        let range = at..(at + pages * page_size()).min(len);
        self.producer
            .mark_dirty_bytes(self.buffers[buffer], range.clone());
        if self.tracker == TrackerKind::Cow {
            self.oracle.pin(buffer, range.clone());
        }
        self.oracle.mark(buffer, range);
        Ok(())
    }

    /// Replaces a mapping in the middle of the region by another with the same bytes. The kernel
    /// refuses to scan across it.
    fn break_tracker(&mut self, at: usize) -> Check {
        if self.tracker != TrackerKind::UffdAsync || self.broken {
            return Ok(());
        }
        let page = at * 7 % 530;
        tcasm_tests::unmap::replace_page(&mut self.producer, page).map_err(text)?;
        self.broken = true;
        self.oracle.break_tracker();
        Ok(())
    }

    pub fn close(mut self) -> Check {
        let Self {
            producer, oracle, ..
        } = &mut self;
        producer.close();
        ensure(
            matches!(producer.publish(0, 0.0), Err(PublishError::Closed)),
            || "not closed".to_owned(),
        )?;
        let expected = oracle.versions.last().cloned();
        self.check_all()?;
        drop(self.producer);
        for held in self.observers.iter().flatten().flat_map(|o| &o.held) {
            check_version(&held.version, held.view.as_ref(), &held.expected, self.step)?;
        }
        ensure(
            matches!(self.inspector.status(), Ok(Status::EndOfStream)),
            || "the stream has not ended".to_owned(),
        )?;
        match (self.inspector.latest(), expected) {
            (Err(ObserveError::EndOfStream), None) => Ok(()),
            (Ok(v), Some(e)) => check_version(&v, None, &e, self.step),
            (found, _) => Err(format!("after the end: {found:?}")),
        }
    }
}

fn exactness((tracker, mode): Way) -> Exactness {
    match (tracker, mode) {
        (TrackerKind::Compare, _) => Exactness::Bytes,
        (TrackerKind::UffdAsync, CaptureMode::Auto | CaptureMode::Deferred) => Exactness::Gate,
        _ => Exactness::Stores,
    }
}
