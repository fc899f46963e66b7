//! Producers to measure, and the pages that they write.

use std::time::{Duration, Instant};
use tcasm_producer::{Buffer, Builder, Producer, Published, Receipt};

/// Size of the region that most benches publish, in bytes.
pub const BYTES: usize = 512 << 20;
/// Size of a page, in bytes.
pub const PAGE: usize = 4096;

/// A buffer of bytes, as the benches use it.
pub type Bytes = Buffer<u8, ndarray::Ix1>;

/// Creates a producer with one field of `bytes` bytes. All of them are written.
pub fn producer(name: &str, bytes: usize) -> (Producer, Bytes) {
    producer_within(name, bytes, bytes)
}

/// Creates the same producer with a region of `capacity` bytes.
pub fn producer_within(name: &str, bytes: usize, capacity: usize) -> (Producer, Bytes) {
    producer_with(name, bytes, |builder| builder.capacity(capacity))
}

/// Creates the same producer with other settings.
pub fn producer_with(
    name: &str,
    bytes: usize,
    settings: impl FnOnce(Builder) -> Builder,
) -> (Producer, Bytes) {
    let dir = std::env::temp_dir().join(format!("tcasm-bench-{}", std::process::id()));
    // SAFETY: no other thread reads the environment meanwhile. Criterion runs benches on one
    // thread.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", dir) };
    let builder = Producer::builder(name)
        .capacity(bytes)
        .memory(8 * bytes as u64);
    let builder = settings(builder);
    let mut producer = builder.create().expect("a region can be created");
    let field = producer
        .field::<u8, _>("bytes", [bytes])
        .add()
        .expect("the field fits")
        .buffer();
    producer.view_mut(field).expect("a view").fill(1);
    (producer, field)
}

/// A small, fast source of random numbers (xorshift64*). It gives the same pages in every run.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number, which is below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as usize % n
    }
}

/// Returns `percent` of `pages` pages, chosen at random in each call, without duplicates.
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

/// Writes the first word of each of these pages.
pub fn touch(memory: &mut [u8], pages: &[usize], value: u64) {
    for page in pages {
        memory[page * PAGE..page * PAGE + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// Runs `call` on `state` `n` times and returns its total time. Runs `prepare` before each call,
/// which is not counted.
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

/// A producer that writes random pages, step by step.
pub struct Simulation {
    /// The producer.
    pub producer: Producer,
    /// The buffer of its only field.
    pub field: Bytes,
    /// Number of the last step.
    pub step: u64,
    random: Random,
    last: Option<Published>,
}

impl Simulation {
    /// Creates a simulation and publishes four dense versions, so that it is in its steady state.
    pub fn new(name: &str, bytes: usize) -> Self {
        let (producer, field) = producer(name, bytes);
        Simulation::over(producer, field)
    }

    /// Does the same with a producer whose only field this is.
    pub fn over(producer: Producer, field: Bytes) -> Self {
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

    /// Returns the memory of the field.
    pub fn memory(&mut self) -> &mut [u8] {
        let view = self.producer.view_mut(self.field).expect("a view");
        view.into_slice().expect("contiguous")
    }

    /// Computes a step: writes `percent` of all pages, chosen at random in each call. Waits first
    /// until the last version is visible.
    pub fn compute(&mut self, percent: usize) {
        self.settle();
        self.step += 1;
        let step = self.step;
        let all = self.memory().len() / PAGE;
        let pages = random_pages(&mut self.random, all, percent);
        touch(self.memory(), &pages, step);
    }

    /// Publishes the step. Panics if it is skipped.
    pub fn publish(&mut self) {
        let receipt = self.producer.publish(self.step, 0.0).expect("published");
        let Receipt::Published(published) = receipt else {
            panic!("{receipt:?}");
        };
        self.last = Some(published);
    }

    /// Waits until the last version is visible.
    pub fn settle(&mut self) {
        if let Some(last) = &self.last {
            let visible = last.wait_visible(Duration::MAX);
            assert_eq!(visible, Ok(true));
        }
    }
}
