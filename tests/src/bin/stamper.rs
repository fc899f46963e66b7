//! The producer of the torture test. Its threads stamp pages in random order, again and again.
//!
//! `stamper NAME TRACKER MIB MEMORY_MIB CAPTURE[-assembled] NODES [GUARD]` prints a line after each
//! publish, until its standard input ends. With several NODES it pretends that the machine has so
//! many nodes of memory, between which live memory moves now and then.

use ndarray::Ix1;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::huge::is_huge;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_core::testing::nodes::Pretended;
use tcasm_core::testing::sabotage::{Guard, switch_off};
use tcasm_producer::{Buffer, Field, Producer, Receipt};
use tcasm_tests::pattern::{self, Pattern, mix, words_per_page};
use tcasm_tests::{capture_mode, child, procfs};

/// The number of threads that write at once.
const WRITERS: usize = 2;

/// The field with most of the memory: a dense version now and then, sparse ones in between.
const LARGE: Pattern = Pattern {
    seed: 11,
    dense_every: 40,
    one_in: 16,
};
/// A field that is bound to its other buffer with every dense version.
const SWAPPED: Pattern = Pattern {
    seed: 12,
    dense_every: 5,
    one_in: 4,
};

/// The end of a capture mode with which all scattered chunks are assembled.
const ASSEMBLED: &str = "-assembled";

/// The number of versions after which a chunk of live memory moves to another pretended node.
const MOVE_EVERY: u64 = 4;

struct Stamper {
    producer: Producer,
    /// The nodes of memory that the machine pretends to have, if there are several.
    nodes: Option<Arc<Pretended>>,
    large: Field<u64, Ix1>,
    swapped: Field<u64, Ix1>,
    spare: Buffer<u64, Ix1>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tcasm_tests::child::die_with_parent();
    let arguments: Vec<String> = std::env::args().collect();
    let mut stamper = Stamper::create(&arguments)?;
    let over = input_ends();
    let mut version = 1;
    while !over.load(Ordering::Relaxed) {
        stamper.write(version)?;
        while !stamper.publish(version)? && !over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(2));
            // Sometimes the pages are written again. The earlier stores must not be lost either
            // way.
            if mix(version, stamper.producer.stats().skips, 7).is_multiple_of(4) {
                stamper.write_fields(version)?;
            }
        }
        stamper.check_live(version);
        version += 1;
    }
    match arguments.get(7) {
        None => held_bytes_match_the_kernel(&stamper.producer),
        Some(_guard_that_is_off) => Ok(()),
    }
}

/// Waits until nothing is in flight. The bytes that count as held must then equal what the kernel
/// has allocated, to the page.
fn held_bytes_match_the_kernel(producer: &Producer) -> Result<(), Box<dyn std::error::Error>> {
    let both = || {
        let held = producer.stats().held_bytes;
        (held, procfs::plane_bytes(std::process::id() as i32))
    };
    let until = Instant::now() + child::DEADLINE;
    while both().0 != both().1 {
        if Instant::now() > until {
            return Err(format!("held and allocated bytes differ: {:?}", both()).into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Returns a flag that becomes true when the test closes our standard input.
fn input_ends() -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let set = over.clone();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        set.store(true, Ordering::Relaxed);
    });
    over
}

impl Stamper {
    fn create(arguments: &[String]) -> Result<Self, Box<dyn std::error::Error>> {
        let [
            _,
            name,
            tracker,
            mib,
            memory_mib,
            capture,
            nodes,
            guard @ ..,
        ] = arguments
        else {
            return Err("stamper NAME TRACKER MIB MEMORY_MIB CAPTURE NODES [GUARD]".into());
        };
        let nodes = nodes.parse::<usize>()?;
        let nodes = (nodes > 1).then(|| Pretended::for_long(nodes));
        let (bytes, memory) = (
            mib.parse::<usize>()? << 20,
            memory_mib.parse::<u64>()? << 20,
        );
        let swapped_bytes = bytes / 32;
        let builder = Producer::builder(name)
            .tracker(tracker.parse()?)
            .capture(capture_mode(capture.trim_end_matches(ASSEMBLED))?)
            .memory(memory)
            .cold_versions(1)
            .compact_after(1);
        let builder = match capture.ends_with(ASSEMBLED) {
            true => builder.always_assemble(),
            false => builder,
        };
        let builder = match &nodes {
            Some(nodes) => builder.topology(nodes.clone()),
            None => builder,
        };
        let builder = builder.versions(14).capacity(bytes + 2 * swapped_bytes);
        let builder = builder
            .attr("large", &*LARGE.attr())
            .attr("swapped", &*SWAPPED.attr());
        let mut producer = builder.create()?;
        let words = |bytes: usize| bytes / page_size() * words_per_page();
        let large = producer.field("large", [words(bytes)]).add()?;
        let swapped = producer.field("swapped", [words(swapped_bytes)]).add()?;
        let spare = producer.buffer_like(swapped)?;
        guard.iter().for_each(|guard| sabotage(guard));
        Ok(Stamper {
            producer,
            nodes,
            large,
            swapped,
            spare,
        })
    }

    /// Writes the pages of `version`.
    fn write(&mut self, version: u64) -> Result<(), Box<dyn std::error::Error>> {
        if SWAPPED.dense(version) {
            self.spare = self.producer.bind(self.swapped, self.spare)?;
        }
        if version.is_multiple_of(MOVE_EVERY) {
            self.move_chunk(version)?;
        }
        self.write_fields(version)
    }

    /// Moves a chunk of the large field to any of the pretended nodes, if there are several.
    fn move_chunk(&self, version: u64) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(nodes) = &self.nodes {
            let words = self.producer.view(self.large)?.len();
            let chunks = (words / words_per_page()).div_ceil(CHUNK_PAGES);
            let chunk = mix(version, 3, 3) as usize % chunks;
            nodes.move_chunk(chunk, mix(version, 4, 4) as u8);
        }
        Ok(())
    }

    /// Returns how often the pretended machine was asked, and on how many of its nodes frames were
    /// placed.
    fn asked(&self) -> (usize, usize) {
        let nodes = self.nodes.as_ref();
        nodes.map_or((0, 0), |nodes| (nodes.calls(), nodes.placed().len()))
    }

    fn write_fields(&mut self, version: u64) -> Result<(), Box<dyn std::error::Error>> {
        for (field, pattern) in [(self.large, LARGE), (self.swapped, SWAPPED)] {
            let mut view = self.producer.view_mut(field)?;
            let words = view.as_slice_mut().ok_or("a vector is contiguous")?;
            write_pages(words, pattern, version);
        }
        Ok(())
    }

    /// Checks that live memory is what was written last, whether it is shared with planes or not.
    fn check_live(&self, version: u64) {
        if version.is_multiple_of(4) {
            let view = self.producer.view(self.large).expect("live memory");
            let words = view.as_slice().expect("a vector is contiguous");
            let writers = LARGE.last_writers(version, words.len() / words_per_page());
            pattern::check_all(words, 0, &writers)
                .unwrap_or_else(|torn| panic!("live memory is {torn}"));
        }
    }

    /// Returns the number of huge pages in the large field after a dense version, else 0: in all
    /// others, stores split nearly all of them.
    fn huge_pages(&self, version: u64) -> Result<usize, Box<dyn std::error::Error>> {
        if !LARGE.dense(version) {
            return Ok(0);
        }
        let view = self.producer.view(self.large)?;
        let bytes = view
            .as_slice()
            .ok_or("a vector is contiguous")?
            .as_ptr_range();
        let first = (bytes.start as usize).next_multiple_of(HUGE_PAGE);
        let pages = (first..bytes.end as usize / HUGE_PAGE * HUGE_PAGE).step_by(HUGE_PAGE);
        let huge = pages.filter(|at| is_huge(&(*at..*at + HUGE_PAGE)).unwrap_or(false));
        Ok(huge.count())
    }

    /// Returns true if the version was published, not skipped.
    fn publish(&mut self, version: u64) -> Result<bool, Box<dyn std::error::Error>> {
        let receipt = self.producer.publish(version, version as f64)?;
        let stats = self.producer.stats();
        let (held, errors) = (stats.held_bytes, stats.tracker_errors);
        let what = match &receipt {
            Receipt::Published(p) if p.version == version => "published",
            Receipt::Published(p) => panic!("version {} was published as {version}", p.version),
            Receipt::Skipped { .. } => "skipped",
        };
        let (shared, huge) = (stats.shared_bytes, self.huge_pages(version)?);
        let (asked, nodes) = self.asked();
        println!(
            "{what} version={version} held={held} errors={errors} shared={shared} huge={huge} \
             asked={asked} nodes={nodes}"
        );
        Ok(receipt.version().is_some())
    }
}

/// Writes the pages with several threads, each with random pages of the field in random order.
fn write_pages(words: &mut [u64], pattern: Pattern, version: u64) {
    let mut shares: [Vec<(u64, usize, &mut [u64])>; WRITERS] = Default::default();
    let rewrites = pattern.rewrites(version);
    for (number, page) in words.chunks_exact_mut(words_per_page()).enumerate() {
        if rewrites(number) {
            let order = mix(version, number as u64, 99);
            shares[order as usize % WRITERS].push((order, number, page));
        }
    }
    thread::scope(|scope| {
        for mut share in shares {
            scope.spawn(move || {
                share.sort_unstable_by_key(|(order, ..)| *order);
                share.into_iter().for_each(|(_, number, page)| {
                    pattern::stamp(page, version, number);
                });
            });
        }
    });
}

/// Switches a guard off until the process ends, so that the torture test must fail.
fn sabotage(name: &str) {
    let guards = [
        Guard::FrameInUse,
        Guard::VisibleLast,
        Guard::PinCheck,
        Guard::KeepHarvest,
        Guard::SaveFirst,
    ];
    let guard = guards
        .into_iter()
        .find(|g| format!("{g:?}") == name)
        .expect("the guard exists");
    std::mem::forget(switch_off(guard));
}
