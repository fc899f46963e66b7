//! Memory to publish, and pages to write.

use std::time::{Duration, Instant};
use tcasm_producer::{Buffer, Producer, Published, Receipt};

/// Bytes of the region that most benches publish.
pub const BYTES: usize = 512 << 20;
/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A field of bytes, as the benches use it.
pub type Bytes = Buffer<u8, ndarray::Ix1>;

/// A producer with one field of `bytes` bytes, all of which were written.
pub fn producer(name: &str, bytes: usize) -> (Producer, Bytes) {
    producer_within(name, bytes, bytes)
}

/// The same in a region of `capacity` bytes.
pub fn producer_within(name: &str, bytes: usize, capacity: usize) -> (Producer, Bytes) {
    let dir = std::env::temp_dir().join(format!("tcasm-bench-{}", std::process::id()));
    // SAFETY: criterion runs benches on one thread, before any other is started.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", dir) };
    let builder = Producer::builder(name)
        .capacity(capacity)
        .memory(8 * bytes as u64);
    let mut producer = builder.create().expect("a region can be created");
    let field = producer
        .field::<u8, _>("bytes", [bytes])
        .add()
        .expect("the field fits")
        .buffer();
    producer.view_mut(field).expect("a view").fill(1);
    (producer, field)
}

/// A small, fast source of random numbers (xorshift64*): the same pages in every run.
pub struct Random(pub u64);

impl Random {
    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as usize % n
    }
}

/// `percent` of `pages` pages, drawn anew at each call, each page once.
pub fn random_pages(random: &mut Random, pages: usize, percent: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..pages).collect();
    let n = pages * percent / 100;
    for i in 0..n {
        let j = i + random.below(pages - i);
        all.swap(i, j);
    }
    all.truncate(n);
    all
}

/// Write a word of each of these pages.
pub fn touch(memory: &mut [u8], pages: &[usize], value: u64) {
    for page in pages {
        memory[page * PAGE..page * PAGE + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// The time of `call` on `state`, run `n` times with `prepare` before each, which is not counted.
pub fn timed<S>(
    n: u64,
    state: &mut S,
    mut prepare: impl FnMut(&mut S),
    mut call: impl FnMut(&mut S),
) -> Duration {
    (0..n)
        .map(|_| {
            prepare(state);
            let start = Instant::now();
            call(state);
            start.elapsed()
        })
        .sum()
}

/// A producer, the pages it writes, and its step.
pub struct Simulation {
    /// The producer.
    pub producer: Producer,
    /// Its only field.
    pub field: Bytes,
    /// Number of the last step.
    pub step: u64,
    random: Random,
    last: Option<Published>,
}

impl Simulation {
    /// One that has published often enough to be in its steady state.
    pub fn new(name: &str, bytes: usize) -> Self {
        let (producer, field) = producer(name, bytes);
        let mut simulation = Simulation {
            producer,
            field,
            step: 0,
            random: Random(7),
            last: None,
        };
        for step in 0..4 {
            simulation.step = step;
            simulation.memory().fill(step as u8);
            simulation.publish();
            simulation.settle();
        }
        simulation
    }

    /// The memory of its field.
    pub fn memory(&mut self) -> &mut [u8] {
        let view = self.producer.view_mut(self.field).expect("a view");
        view.into_slice().expect("contiguous")
    }

    /// Compute a step, when the last version is whole: write `percent` of all pages, drawn anew.
    pub fn compute(&mut self, percent: usize) {
        self.settle();
        self.step += 1;
        let step = self.step;
        let all = self.memory().len() / PAGE;
        let pages = random_pages(&mut self.random, all, percent);
        touch(self.memory(), &pages, step);
    }

    /// Publish the step, which must not be skipped.
    pub fn publish(&mut self) {
        let receipt = self.producer.publish(self.step, 0.0).expect("published");
        let Receipt::Published(published) = receipt else {
            panic!("{receipt:?}");
        };
        self.last = Some(published);
    }

    /// Wait until the last version is visible.
    pub fn settle(&mut self) {
        if let Some(last) = &self.last {
            let visible = last.wait_visible(Duration::MAX);
            assert_eq!(visible, Ok(true));
        }
    }
}
