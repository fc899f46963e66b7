//! A buffer that is rewritten whole in each step and captured inside publish, compared with a
//! memcpy by as many threads, and with the fastest one.

use super::bar::Bar;
use crate::samples::Samples;
use crate::workload::{BYTES, Bytes};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::time::{Duration, Instant};
use tcasm_producer::{CaptureMode, Producer, Receipt};

const ROUNDS: usize = 40;
/// Number of rounds before those that are measured. Meanwhile, memory is touched.
const WARM_UP: usize = 8;
/// Bytes that a thread copies at once.
const PIECE: usize = 2 << 20;

/// The part of the machine's bandwidth that publish must reach.
const BANDWIDTH: f64 = 0.8;

/// Measures publish and memcpy, each right after a step. Their order alternates. The fastest memcpy
/// follows, which shows the bandwidth of the machine.
pub fn measure() -> Vec<Bar> {
    let mut inline = Inline::new();
    let [mut publish, mut memcpy, mut fastest] = std::array::from_fn(|_| Samples::default());
    let [mut in_memcpys, mut in_fastest] = std::array::from_fn(|_| Samples::default());
    for round in 0..WARM_UP + ROUNDS {
        let [published, copied] = inline.round(round % 2 == 1);
        let best = inline.fastest().min(copied);
        if round >= WARM_UP {
            let ratio = |time: Duration| published.as_secs_f64() / time.as_secs_f64();
            publish.add(published);
            memcpy.add(copied);
            fastest.add(best);
            in_memcpys.add_value(ratio(copied));
            in_fastest.add_value(ratio(best));
        }
    }
    let threads = inline.pool.current_num_threads();
    let most = inline.processors();
    let what = "publish, 512 MiB, all of it written in each step, captured inline";
    vec![
        Bar::limit(what, &publish),
        Bar::limit(
            &format!("its rival: memcpy of the buffer by {threads} threads"),
            &memcpy,
        ),
        Bar::ratios(
            "the same: publish, in memcpys by as many threads",
            &in_memcpys,
            Some(1.15),
        ),
        Bar::limit(
            &format!("the bandwidth of the machine: the fastest memcpy, by 1 to {most} threads"),
            &fastest,
        ),
        Bar::ratios(
            "the same: publish, in the fastest memcpys (80 % of the bandwidth)",
            &in_fastest,
            Some(1.0 / BANDWIDTH),
        ),
    ]
}

struct Inline {
    producer: Producer,
    field: Bytes,
    step: u64,
    copy: Vec<u8>,
    /// As many threads as copy inside publish: the copiers and the caller.
    pool: ThreadPool,
    /// Other numbers of threads, up to that of all processors.
    others: Vec<ThreadPool>,
}

impl Inline {
    fn new() -> Self {
        let name = format!("bars-inline-{}", std::process::id());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // The library's own number of copiers, set here so that the rival has as many.
        let copiers = (processors / 2).clamp(1, 4);
        let builder = Producer::builder(&name).capacity(BYTES);
        let builder = builder.memory(8 * BYTES as u64).copiers(copiers);
        let builder = builder.capture(CaptureMode::Inline);
        let mut producer = builder.create().expect("a region");
        let field = producer.field::<u8, _>("bytes", [BYTES]);
        let field = field.add().expect("a field").buffer();
        let powers = std::iter::successors(Some(1_usize), |threads| Some(2 * threads));
        let others = powers.take_while(|threads| *threads < processors);
        Inline {
            producer,
            field,
            step: 0,
            copy: vec![1; BYTES],
            pool: pool_of(copiers + 1),
            others: others.chain([processors]).map(pool_of).collect(),
        }
    }

    /// Returns the largest number of threads that copy.
    fn processors(&self) -> usize {
        let others = self.others.last();
        others.map_or(1, ThreadPool::current_num_threads)
    }

    /// Returns the time of a publish and of a memcpy.
    fn round(&mut self, swapped: bool) -> [Duration; 2] {
        let mut times = [Duration::ZERO; 2];
        for turn in 0..2 {
            self.compute();
            let at = turn ^ usize::from(swapped);
            times[at] = match at {
                0 => self.publish(),
                _ => self.memcpy(),
            };
        }
        times
    }

    /// Writes all of the buffer.
    fn compute(&mut self) {
        self.step += 1;
        let value = self.step as u8;
        let mut view = self.producer.view_mut(self.field).expect("a view");
        view.fill(value);
    }

    fn publish(&mut self) -> Duration {
        let receipt = self.producer.publish(self.step, 0.0).expect("published");
        let Receipt::Published(published) = receipt else {
            panic!("{receipt:?}");
        };
        assert_eq!(published.deferred, 0, "captured after publish");
        assert!(published.bytes >= BYTES as u64, "not all is copied");
        published.duration
    }

    fn memcpy(&mut self) -> Duration {
        let from = self.producer.view(self.field).expect("a view");
        let from = from.to_slice().expect("contiguous");
        copy_by(&self.pool, PIECE, from, &mut self.copy)
    }

    /// Returns the shortest time of a memcpy: by different numbers of threads, in small pieces and
    /// in one piece for each thread, which memcpy writes past the cache.
    fn fastest(&mut self) -> Duration {
        let from = self.producer.view(self.field).expect("a view");
        let from = from.to_slice().expect("contiguous");
        let mut best = Duration::MAX;
        for pool in &self.others {
            for piece in [PIECE, BYTES.div_ceil(pool.current_num_threads())] {
                best = best.min(copy_by(pool, piece, from, &mut self.copy));
            }
        }
        best
    }
}

fn pool_of(threads: usize) -> ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().expect("threads")
}

/// Returns the time in which the threads of a pool copy all bytes, `piece` bytes at once.
fn copy_by(pool: &ThreadPool, piece: usize, from: &[u8], into: &mut [u8]) -> Duration {
    let start = Instant::now();
    pool.install(|| {
        let pieces = into.par_chunks_mut(piece).zip(from.par_chunks(piece));
        pieces.for_each(|(into, from)| into.copy_from_slice(from));
    });
    start.elapsed()
}
