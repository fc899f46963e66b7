//! Random sequences of everything a producer and its observers do, against a naive model.
//!
//! After every step that could change anything, every version that anybody holds is read in every way there is, and
//! must be byte for byte what the model says. `PROPTEST_CASES` scales the number of sequences.

use ndarray::Ix1;
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tcasm_core::store::Bounds;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{ObserveError, Observer, Status, Version, View};
use tcasm_producer::{Buffer, Field, Producer, PublishError, Receipt, TrackerKind};
use tcasm_tests::hostile::{Booty, Stranger};
use tcasm_tests::oracle::{Expected, Oracle, Seen, ensure};
use tcasm_tests::{name, runtime_dir};

/// Pages asked for, and those that a region has more for rounding: two whole chunks, and one in part.
const CAPACITY: usize = 1100;
const ROUNDING: usize = 64;
const OBSERVERS: usize = 3;
const PINS: usize = 4;

/// How a step writes.
#[derive(Clone, Copy, Debug)]
enum Style {
    Byte,
    /// The last byte of a page, and the first of the next.
    Edge,
    Span(usize),
    Every(usize),
    All,
    /// All but one page.
    Around,
}

/// One step. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    Write {
        buffer: usize,
        style: Style,
        at: usize,
        value: u8,
    },
    Publish {
        wait: bool,
    },
    Pin {
        observer: usize,
        how: How,
        keep_view: bool,
    },
    Unpin {
        observer: usize,
        which: usize,
    },
    Attach(usize),
    Detach(usize),
    CrasherPins(usize),
    CrasherDies,
    Grow {
        bytes: usize,
        double: bool,
    },
    Swap(usize),
    Mark {
        buffer: usize,
        at: usize,
        pages: usize,
    },
    Dma {
        buffer: usize,
    },
    Trim,
    Oust,
    BreakTracker(usize),
}

#[derive(Clone, Copy, Debug)]
enum How {
    Latest,
    Next,
    Number(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = 0usize..64;
    let style = prop_oneof![
        2 => Just(Style::Byte),
        2 => Just(Style::Edge),
        3 => (1usize..600).prop_map(Style::Span),
        2 => (2usize..40).prop_map(Style::Every),
        2 => Just(Style::All),
        2 => Just(Style::Around),
    ];
    let how = prop_oneof![
        2 => Just(How::Latest),
        2 => Just(How::Next),
        1 => (0u64..12).prop_map(How::Number),
    ];
    let op = prop_oneof![
        40 => (n.clone(), style, 0usize..1 << 16, 0u8..4)
            .prop_map(|(buffer, style, at, value)| Op::Write { buffer, style, at, value }),
        30 => any::<bool>().prop_map(|wait| Op::Publish { wait }),
        20 => (n.clone(), how, any::<bool>())
            .prop_map(|(observer, how, keep_view)| Op::Pin { observer, how, keep_view }),
        12 => (n.clone(), n.clone()).prop_map(|(observer, which)| Op::Unpin { observer, which }),
        6 => n.clone().prop_map(Op::Attach),
        4 => n.clone().prop_map(Op::Detach),
        4 => n.clone().prop_map(Op::CrasherPins),
        3 => Just(Op::CrasherDies),
        3 => (1usize..600_000, any::<bool>()).prop_map(|(bytes, double)| Op::Grow { bytes, double }),
        8 => n.clone().prop_map(Op::Swap),
        3 => (n.clone(), 0usize..1 << 16, 1usize..20)
            .prop_map(|(buffer, at, pages)| Op::Mark { buffer, at, pages }),
        1 => n.clone().prop_map(|buffer| Op::Dma { buffer }),
        3 => Just(Op::Trim),
        1 => Just(Op::Oust),
        1 => n.prop_map(Op::BreakTracker),
    ];
    proptest::collection::vec(op, 1..60)
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let region = (CAPACITY + ROUNDING) as u64;
    let memory = prop_oneof![Just(4 * region), 300u64..2 * region];
    (2usize..7, 0usize..6, memory).prop_map(|(versions, history, pages)| Bounds {
        versions,
        history: history.min(versions - 2),
        bytes: pages * page_size() as u64,
    })
}

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

/// An observer that never lets go: it writes pins by hand, and dies with them.
struct Crasher {
    _connection: Stranger,
    lease: Booty,
    pins: Vec<u64>,
}

struct World {
    tracker: TrackerKind,
    name: String,
    producer: Producer,
    oracle: Oracle,
    fields: Vec<Field<u8, Ix1>>,
    /// Handles of all buffers, and for each field the one it is bound to and the spare.
    buffers: Vec<Buffer<u8, Ix1>>,
    bound: Vec<(usize, Option<usize>)>,
    observers: [Option<Attached>; OBSERVERS],
    crasher: Option<Crasher>,
    /// Always attached, to look at what there is.
    inspector: Observer,
    broken: bool,
    step: u64,
    counts: [u64; 4],
}

type Check = Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl World {
    fn new(tracker: TrackerKind, bounds: Bounds) -> Result<World, String> {
        let name = name("model");
        let builder = Producer::builder(&name)
            .capacity(CAPACITY * page_size())
            .tracker(tracker);
        let builder = builder
            .versions(bounds.versions)
            .history(bounds.history)
            .memory(bounds.bytes);
        let producer = builder.create().map_err(text)?;
        let mut world = World {
            tracker: producer.tracker(),
            inspector: Observer::attach(&name).map_err(text)?,
            name,
            producer,
            oracle: Oracle::new(CAPACITY + ROUNDING, page_size(), bounds),
            fields: Vec::new(),
            buffers: Vec::new(),
            bound: Vec::new(),
            observers: Default::default(),
            crasher: None,
            broken: false,
            step: 0,
            counts: [0; 4],
        };
        world.add_field("a", 530 * page_size() - 100, false)?;
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

    fn apply(&mut self, op: &Op) -> Check {
        match *op {
            Op::Write {
                buffer,
                style,
                at,
                value,
            } => self.write(buffer, style, at, value),
            Op::Publish { wait } => {
                self.publish(wait)?;
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
            Op::Oust => self.oust(),
            Op::BreakTracker(at) => self.break_tracker(at),
        }
    }

    fn write(&mut self, buffer: usize, style: Style, at: usize, value: u8) -> Check {
        let buffer = buffer % self.buffers.len();
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
        let mut view = self.producer.view_mut(self.buffers[buffer]).map_err(text)?;
        let bytes = view.as_slice_mut().ok_or("a view in one piece")?;
        for range in ranges {
            bytes[range.clone()].fill(value);
            self.oracle.write(buffer, range, value);
        }
        Ok(())
    }

    fn publish(&mut self, wait: bool) -> Check {
        let (held, pinned) = (self.producer.stats().held_bytes, self.pinned());
        self.step += 1;
        let receipt = match wait {
            false => self.producer.publish(self.step, self.step as f64),
            true => self
                .producer
                .publish_wait(self.step, self.step as f64, Duration::ZERO),
        };
        let receipt = receipt.map_err(text)?;
        let changed = match receipt.version() {
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
            held: (held, self.producer.stats().held_bytes),
            pinned,
        })?;
        self.check_counts(&receipt)?;
        let whole = self.producer.check_store().map_err(text)?;
        ensure(whole, || {
            "busy slots are not those that versions refer to".to_owned()
        })?;
        self.check_newest(&receipt)
    }

    fn check_counts(&mut self, receipt: &Receipt) -> Check {
        let change = match receipt {
            Receipt::Published(p) => [1, 0, p.pages, self.broken.into()],
            Receipt::Skipped { .. } => [0, 1, 0, self.broken.into()],
        };
        self.counts
            .iter_mut()
            .zip(change)
            .for_each(|(n, by)| *n += by);
        let s = self.producer.stats();
        let counts = [s.publishes, s.skips, s.pages, s.tracker_errors];
        ensure(counts == self.counts, || {
            format!("counters {counts:?}, expected {:?}", self.counts)
        })
    }

    /// What nobody holds is looked at for a moment.
    fn check_newest(&mut self, receipt: &Receipt) -> Check {
        let Some(n) = receipt.version() else {
            return Ok(());
        };
        let version = self.inspector.version(n).map_err(text)?;
        ensure(Some(version.changed_pages()) == pages_of(receipt), || {
            "changed pages".to_owned()
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
        }
        Ok(())
    }

    /// Every version that is held is what it was.
    fn check_all(&self) -> Check {
        let held = self.observers.iter().flatten().flat_map(|o| &o.held);
        held.into_iter().try_for_each(|h| {
            check_version(&h.version, h.view.as_ref(), &h.expected, self.step)
                .map_err(|e| format!("version {}: {e}", h.version.number()))
        })
    }

    fn attach(&mut self, i: usize) -> Check {
        if self.observers[i].is_none() {
            let observer = Observer::attach(&self.name).map_err(text)?;
            self.observers[i] = Some(Attached {
                observer,
                seen: 0,
                held: Vec::new(),
            });
        }
        self.wait_for_leases()
    }

    /// The service thread notices a hang-up a moment later.
    fn wait_for_leases(&self) -> Check {
        let attached =
            1 + self.observers.iter().flatten().count() + usize::from(self.crasher.is_some());
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.producer.stats().observers != attached {
            ensure(Instant::now() < deadline, || {
                format!("not {attached} observers")
            })?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    fn pin(&mut self, i: usize, how: How, keep_view: bool) -> Check {
        let numbers = self.oracle.numbers();
        let Some(o) = &mut self.observers[i] else {
            return Ok(());
        };
        if o.held.len() >= PINS {
            return Ok(());
        }
        let newest = numbers.last().copied();
        let (found, expected) = match how {
            How::Latest => (o.observer.latest(), newest),
            How::Next => (
                o.observer.next(Duration::ZERO),
                numbers.iter().copied().find(|n| *n > o.seen),
            ),
            How::Number(back) => {
                let n = self.oracle.next.saturating_sub(back).max(1);
                (o.observer.version(n), numbers.contains(&n).then_some(n))
            }
        };
        let version = match (found, expected) {
            (Ok(v), Some(n)) if v.number() == n => v,
            (Err(ObserveError::NotReady), None) if !matches!(how, How::Number(_)) => return Ok(()),
            (Err(ObserveError::Gone { available, .. }), None) if available == numbers => {
                return Ok(());
            }
            (found, expected) => {
                return Err(format!("{how:?} gave {found:?}, expected {expected:?}"));
            }
        };
        if !matches!(how, How::Number(_)) {
            o.seen = o.seen.max(version.number());
        }
        let expected = self
            .oracle
            .expected(version.number())
            .ok_or("a version")?
            .clone();
        let view = keep_view
            .then(|| version.view())
            .transpose()
            .map_err(text)?;
        check_version(&version, view.as_ref(), &expected, self.step)?;
        o.held.push(Held {
            version,
            view,
            expected,
        });
        Ok(())
    }

    fn crasher_pins(&mut self, which: usize) -> Check {
        if self.crasher.is_none() {
            let connection = Stranger::connect(&tcasm_observer::runtime_dir(), &self.name);
            let lease = connection.attach();
            self.crasher = Some(Crasher {
                _connection: connection,
                lease,
                pins: Vec::new(),
            });
            self.wait_for_leases()?;
        }
        let numbers = self.oracle.numbers();
        let Some(crasher) = &mut self.crasher else {
            return Ok(());
        };
        // Now and then a version that is not there.
        let n = numbers
            .get(which % (numbers.len() + 1))
            .copied()
            .unwrap_or(u64::MAX - which as u64);
        if crasher.pins.len() < PINS {
            let word = &crasher.lease.lease.pins()[crasher.pins.len()];
            word.store(n, std::sync::atomic::Ordering::SeqCst);
            crasher.pins.push(n);
        }
        Ok(())
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
                "bind gave back another buffer".to_owned()
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
            self.oracle.stick(buffer, range);
        } else {
            self.oracle.mark(buffer, range);
        }
        Ok(())
    }

    /// All observers are this process.
    fn oust(&mut self) -> Check {
        let attached =
            1 + self.observers.iter().flatten().count() + usize::from(self.crasher.is_some());
        let ousted = self.producer.oust(std::process::id() as i32);
        ensure(ousted == attached, || {
            format!("{ousted} of {attached} were ousted")
        })?;
        for o in self.observers.iter_mut().flatten() {
            ensure(
                matches!(o.observer.latest(), Err(ObserveError::Ousted)),
                || "not told".to_owned(),
            )?;
            let told = |h: &Held| matches!(h.version.check(), Err(ObserveError::Ousted));
            ensure(o.held.iter().all(told), || {
                "a version was not told".to_owned()
            })?;
        }
        ensure(
            matches!(self.inspector.status(), Ok(Status::Ousted)),
            || "status".to_owned(),
        )?;
        self.observers = Default::default();
        self.crasher = None;
        self.inspector = Observer::attach(&self.name).map_err(text)?;
        self.wait_for_leases()
    }

    /// Another mapping in the middle of the region, with the same bytes: the kernel refuses to scan across it.
    fn break_tracker(&mut self, at: usize) -> Check {
        if self.tracker != TrackerKind::UffdAsync || self.broken {
            return Ok(());
        }
        let page = at * 7 % 530;
        tcasm_tests::unmap::replace_page(&mut self.producer, page).map_err(text)?;
        self.broken = true;
        Ok(())
    }

    fn close(mut self) -> Check {
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
            || "no end".to_owned(),
        )?;
        match (self.inspector.latest(), expected) {
            (Err(ObserveError::EndOfStream), None) => Ok(()),
            (Ok(v), Some(e)) => check_version(&v, None, &e, self.step),
            (found, _) => Err(format!("after the end: {found:?}")),
        }
    }
}

fn pages_of(receipt: &Receipt) -> Option<u64> {
    match receipt {
        Receipt::Published(p) => Some(p.pages),
        Receipt::Skipped { .. } => None,
    }
}

/// Read a version in every way.
fn check_version(version: &Version, view: Option<&View>, expected: &Expected, salt: u64) -> Check {
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
        // A part that starts and ends anywhere, a different one each time.
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

fn run(tracker: TrackerKind, bounds: Bounds, ops: &[Op]) -> Check {
    let mut world = World::new(tracker, bounds)?;
    for (i, op) in ops.iter().enumerate() {
        world
            .apply(op)
            .map_err(|e| format!("step {i}, {op:?}: {e}"))?;
    }
    world.publish(false)?;
    world.check_all()?;
    world.close()
}

fn check(tracker: TrackerKind) {
    runtime_dir();
    let mut config = Config {
        max_shrink_iters: 400,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 256;
    }
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(
        "tests/model.regressions",
    )));
    let strategy = (bounds(), ops());
    let result = TestRunner::new(config).run(&strategy, |(bounds, ops)| {
        run(tracker, bounds, &ops).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{tracker}: {error}"));
}

#[test]
fn random_sequences_agree_with_the_model_under_uffd_async() {
    check(TrackerKind::UffdAsync);
}

#[test]
fn random_sequences_agree_with_the_model_under_cow() {
    check(TrackerKind::Cow);
}

#[test]
fn random_sequences_agree_with_the_model_under_compare() {
    check(TrackerKind::Compare);
}
