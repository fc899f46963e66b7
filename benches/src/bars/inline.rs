//! A buffer that is rewritten whole in each step and captured inside publish, compared with a
//! memcpy by as many threads.

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

/// Measures publish and memcpy, each right after a step. Their order alternates.
pub fn measure() -> Vec<Bar> {
    let mut inline = Inline::new();
    let [mut publish, mut memcpy, mut ratios] = std::array::from_fn(|_| Samples::default());
    for round in 0..WARM_UP + ROUNDS {
        let [published, copied] = inline.round(round % 2 == 1);
        if round >= WARM_UP {
            publish.add(published);
            memcpy.add(copied);
            ratios.add_value(published.as_secs_f64() / copied.as_secs_f64());
        }
    }
    let threads = inline.pool.current_num_threads();
    let what = "publish, 512 MiB, all of it written in each step, captured inline";
    vec![
        Bar::limit(what, &publish),
        Bar::limit(
            &format!("its rival: memcpy of the buffer by {threads} threads"),
            &memcpy,
        ),
        Bar::ratios(
            "the same: publish, in memcpys by as many threads",
            &ratios,
            Some(1.15),
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
        let pool = rayon::ThreadPoolBuilder::new().num_threads(copiers + 1);
        Inline {
            producer,
            field,
            step: 0,
            copy: vec![1; BYTES],
            pool: pool.build().expect("threads"),
        }
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
        let (pool, copy) = (&self.pool, &mut self.copy);
        let start = Instant::now();
        pool.install(|| {
            let pieces = copy.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE));
            pieces.for_each(|(into, from)| into.copy_from_slice(from));
        });
        start.elapsed()
    }
}
