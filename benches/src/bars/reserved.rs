//! A region in huge pages that an administrator has reserved. Each publish compares everything.

use super::bar::Bar;
use crate::reserved::Pool;
use crate::samples::Samples;
use crate::workload::{BYTES, Bytes, PAGE, Random, random_pages, touch};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::hint::black_box;
use tcasm_producer::{CreateError, HugePages, Producer};

const ROUNDS: usize = 30;
/// Number of rounds before those that are measured. Meanwhile, memory is touched.
const WARM_UP: usize = 6;
/// Bytes that a thread compares at once.
const PIECE: usize = 2 << 20;
/// The huge pages of the region, which is rounded up.
const HUGE_PAGES: u64 = (BYTES / PIECE + 1) as u64;

/// Measures publish of a few and of all pages, and a comparison of two buffers. Root reserves huge
/// pages for it. There are no values where too few are free.
pub fn measure() -> Vec<Bar> {
    // It lives longer than the region. Without it, pages that are reserved already may be enough.
    let _pool = Pool::with_free(HUGE_PAGES);
    let mut reserved = match Reserved::new() {
        Ok(reserved) => reserved,
        Err(error) => {
            eprintln!("bars: reserved huge pages are not measured: {error}");
            return Vec::new();
        }
    };
    let mut bars = Vec::new();
    for percent in [0, 1, 100] {
        let [mut publish, mut compare] = [Samples::default(), Samples::default()];
        for round in 0..WARM_UP + ROUNDS {
            reserved.compute(percent);
            let [publish, compare] = match round < WARM_UP {
                true => [&mut Samples::default(), &mut Samples::default()],
                false => [&mut publish, &mut compare],
            };
            publish.time(|| reserved.publish());
            compare.time(|| reserved.compare());
        }
        let what =
            format!("publish, 512 MiB in reserved huge pages, {percent} % of the pages written");
        bars.push(Bar::limit(&what, &publish));
        let threads = reserved.pool.current_num_threads();
        let what = format!("its limit: comparing the buffer with a copy by {threads} threads");
        bars.push(Bar::limit(&what, &compare));
    }
    bars
}

struct Reserved {
    producer: Producer,
    field: Bytes,
    step: u64,
    random: Random,
    copy: Vec<u8>,
    /// As many threads as compare inside publish: the copiers and the caller.
    pool: ThreadPool,
}

impl Reserved {
    fn new() -> Result<Self, CreateError> {
        let name = format!("bars-reserved-{}", std::process::id());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // The library's own number of copiers, set here so that the rival has as many.
        let copiers = (processors / 2).clamp(1, 4);
        let builder = Producer::builder(&name).capacity(BYTES);
        let builder = builder.memory(8 * BYTES as u64).copiers(copiers);
        let mut producer = builder.huge_pages(HugePages::Reserved).create()?;
        let field = producer.field::<u8, _>("bytes", [BYTES]);
        let field = field.add().expect("a field").buffer();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(copiers + 1);
        Ok(Reserved {
            producer,
            field,
            step: 0,
            random: Random(7),
            copy: vec![0; BYTES],
            pool: pool.build().expect("threads"),
        })
    }

    /// Writes so many of the pages, drawn at random, and the same in the copy.
    fn compute(&mut self, percent: usize) {
        self.step += 1;
        let pages = random_pages(&mut self.random, BYTES / PAGE, percent);
        let mut view = self.producer.view_mut(self.field).expect("a view");
        let memory = view.as_slice_mut().expect("contiguous");
        touch(memory, &pages, self.step);
        touch(&mut self.copy, &pages, self.step);
    }

    fn publish(&mut self) {
        let receipt = self.producer.publish(self.step, 0.0).expect("published");
        assert!(receipt.version().is_some(), "{receipt:?}");
    }

    fn compare(&self) {
        let live = self.producer.view(self.field).expect("a view");
        let live = live.to_slice().expect("contiguous");
        let copy = &self.copy;
        let same = self.pool.install(|| {
            let pieces = copy.par_chunks(PIECE).zip(live.par_chunks(PIECE));
            pieces.filter(|(a, b)| black_box(a) == black_box(b)).count()
        });
        assert_eq!(same, BYTES / PIECE, "the copy is equal");
    }
}
