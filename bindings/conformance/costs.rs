//! The time of publish through the library for C beside that of Rust, and of an adopted array
//! beside a field of the region. Both sides of a pair compute the same steps in turn, so that a
//! change of the machine's speed affects both. Also the time in which an observer takes a version
//! of a small field, gets its array and lets go: `costs.py` does the same in Python.
//!
//! `cargo run --release -p tcasm-conformance --bin costs -- [MIB] [STEPS]` takes arrays of 64 MiB
//! and 400 steps for each share of pages unless told. Each side of a pair needs up to three times
//! as much memory as its array.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::time::{Duration, Instant};
// The functions that are declared here.
use tcasm_c as _;
use tcasm_observer::Observer;
use tcasm_producer::{CaptureMode, Producer};

const PAGE: usize = 4096;
const TCASM_U8: c_int = 5;
/// How long a capture may take.
const LONG: Duration = Duration::from_secs(60);

unsafe extern "C" {
    fn tcasm_create(
        name: *const c_char,
        capacity: usize,
        options: *mut c_void,
        producer: *mut *mut c_void,
    ) -> c_int;
    fn tcasm_add_field(
        producer: *mut c_void,
        name: *const c_char,
        dtype: c_int,
        rank: usize,
        shape: *const usize,
        options: *mut c_void,
        data: *mut *mut c_void,
    ) -> c_int;
    fn tcasm_publish(producer: *mut c_void, step: u64, time: f64) -> c_int;
    fn tcasm_wait_captured(producer: *mut c_void, timeout: f64) -> c_int;
    fn tcasm_close(producer: *mut c_void) -> c_int;
}

/// A producer with one array, in which pages are written.
trait Side {
    fn write(&mut self, pages: &[usize], value: u8);
    fn publish(&mut self, step: u64);
    /// Waits until the version has its bytes, so that the next step finds room.
    fn settle(&mut self);
}

/// A producer in Rust, with a field of the region.
struct Rust(Producer);

impl Rust {
    fn new(name: &str, bytes: usize, capture: CaptureMode) -> Self {
        let builder = Producer::builder(name).capacity(bytes).capture(capture);
        let mut producer = builder.create().expect("a region");
        let field = producer.field::<u8, _>("u", [bytes]);
        field.add().expect("a field");
        Rust(producer)
    }
}

impl Side for Rust {
    fn write(&mut self, pages: &[usize], value: u8) {
        let bytes = self.0.field_bytes_mut("u").expect("the field");
        pages.iter().for_each(|page| bytes[page * PAGE] = value);
    }

    fn publish(&mut self, step: u64) {
        let receipt = self.0.publish(step, 0.0).expect("published");
        assert!(receipt.version().is_some());
    }

    fn settle(&mut self) {
        assert!(self.0.wait_captured(LONG));
    }
}

/// A producer in Rust, with an adopted array.
struct Adopted {
    producer: Producer,
    array: Vec<u8>,
}

impl Adopted {
    fn new(name: &str, bytes: usize) -> Self {
        let builder = Producer::builder(name).capacity(bytes + (4 << 20));
        let builder = builder.capture(CaptureMode::Inline);
        let mut producer = builder.create().expect("a region");
        let mut array = vec![0; bytes];
        // SAFETY: the array is dropped after the producer, is not resized, and only this thread
        // accesses it, between calls of the producer.
        unsafe { producer.adopt("u", array.as_mut_ptr(), [bytes]) }.expect("adopted");
        Adopted { producer, array }
    }
}

impl Side for Adopted {
    fn write(&mut self, pages: &[usize], value: u8) {
        pages
            .iter()
            .for_each(|page| self.array[page * PAGE] = value);
    }

    fn publish(&mut self, step: u64) {
        let receipt = self.producer.publish(step, 0.0).expect("published");
        assert!(receipt.version().is_some());
    }

    fn settle(&mut self) {
        assert!(self.producer.wait_captured(LONG));
    }
}

/// A producer in C.
struct C {
    producer: *mut c_void,
    data: *mut u8,
}

impl C {
    fn new(name: &str, bytes: usize) -> Self {
        let (mut producer, mut data) = (null_mut(), null_mut());
        let name = CString::new(name).expect("a name");
        // SAFETY: the text, the shape and both places for results are valid during the calls.
        let done = unsafe {
            let made = tcasm_create(name.as_ptr(), bytes, null_mut(), &raw mut producer);
            let (field, shape) = (c"u".as_ptr(), &raw const bytes);
            let none = null_mut();
            made | tcasm_add_field(producer, field, TCASM_U8, 1, shape, none, &raw mut data)
        };
        assert_eq!(done, 0, "a region and a field");
        C {
            producer,
            data: data.cast(),
        }
    }
}

impl Side for C {
    fn write(&mut self, pages: &[usize], value: u8) {
        for page in pages {
            // SAFETY: the page lies in the field, which only this thread writes.
            unsafe { self.data.add(page * PAGE).write(value) };
        }
    }

    fn publish(&mut self, step: u64) {
        // SAFETY: the function takes any handle.
        assert_eq!(unsafe { tcasm_publish(self.producer, step, 0.0) }, 0);
    }

    fn settle(&mut self) {
        // SAFETY: the function takes any handle.
        let captured = unsafe { tcasm_wait_captured(self.producer, LONG.as_secs_f64()) };
        assert_eq!(captured, 0);
    }
}

impl Drop for C {
    fn drop(&mut self) {
        // SAFETY: the function takes any handle.
        unsafe { tcasm_close(self.producer) };
    }
}

/// Returns `percent` of `pages` pages at random, in the order of their addresses.
fn some(pages: usize, percent: usize, random: &mut u64) -> Vec<usize> {
    let taken = |_: &usize| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random % 100 < percent as u64
    };
    (0..pages).filter(taken).collect()
}

/// Runs both sides in turn, and prints the times of publish.
fn compare(labels: [&str; 2], sides: &mut [&mut dyn Side; 2], bytes: usize, steps: u64) {
    for percent in [0, 1, 10, 100] {
        let (mut times, mut random) = ([Vec::new(), Vec::new()], 88_172_645_463_325_252);
        for step in 0..steps + 8 {
            let pages = some(bytes / PAGE, percent, &mut random);
            for turn in 0..2 {
                // Each is the first one in every second step.
                let side = (turn + step as usize) % 2;
                sides[side].write(&pages, step as u8);
                let start = Instant::now();
                sides[side].publish(step);
                let took = start.elapsed();
                sides[side].settle();
                if step >= 8 {
                    times[side].push(took);
                }
            }
        }
        report(labels, percent, times);
    }
}

fn report(labels: [&str; 2], percent: usize, times: [Vec<Duration>; 2]) {
    let found = times.map(|mut times| {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 1000].as_secs_f64() * 1e6;
        [at(500), at(990), at(1000)]
    });
    for (label, [median, p99, most]) in labels.into_iter().zip(found) {
        println!("{percent:4} %  {label:16} {median:10.1} {p99:10.1} {most:10.1} us");
    }
    println!("        ratio of medians {:9.3}", found[1][0] / found[0][0]);
}

/// Prints how long an observer takes to get the array of each version.
fn read(versions: u64) {
    let builder = Producer::builder("costs-read").capacity(1 << 20);
    let mut producer = builder.create().expect("a region");
    let field = producer.field::<f64, _>("u", [64, 64]);
    let field = field.add().expect("a field");
    let mut observer = Observer::attach("costs-read").expect("attached");
    let mut times = Vec::new();
    for step in 1..=versions {
        producer.view_mut(field).expect("a view")[[0, 0]] = step as f64;
        producer.publish(step, 0.0).expect("published");
        let start = Instant::now();
        let version = observer.next(LONG).expect("a version");
        let view = version.view_of(&["u"]).expect("a view");
        let first = view.array::<f64>("u").expect("an array")[[0, 0]];
        drop((view, version));
        times.push(start.elapsed());
        assert_eq!(first, step as f64);
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 1000].as_secs_f64() * 1e6;
    let (median, p99, most) = (at(500), at(990), at(1000));
    println!("next, one array, release {median:8.1} {p99:8.1} {most:8.1} us");
}

fn main() {
    let folder = std::env::temp_dir().join(format!("tcasm-costs-{}", std::process::id()));
    // SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", &folder) };
    let mut numbers = std::env::args()
        .skip(1)
        .map(|a| a.parse().expect("a number"));
    let bytes = numbers.next().unwrap_or(64) << 20;
    let steps = numbers.next().unwrap_or(400) as u64;
    read(5000);
    println!("publish of {} MiB: median, p99 and maximum", bytes >> 20);
    // The place of a region in memory costs more than the call from C, so each comes first once.
    for first in ["Rust", "C"] {
        println!("{first} was created first:");
        let early = (first == "C").then(|| C::new("costs-c", bytes));
        let mut rust = Rust::new("costs-rust", bytes, CaptureMode::default());
        let mut c = early.unwrap_or_else(|| C::new("costs-c", bytes));
        compare(["Rust", "C"], &mut [&mut rust, &mut c], bytes, steps);
    }
    let mut region = Rust::new("costs-region", bytes, CaptureMode::Inline);
    let mut adopted = Adopted::new("costs-adopted", bytes);
    let labels = ["in the region", "adopted"];
    compare(labels, &mut [&mut region, &mut adopted], bytes, steps);
    drop((region, adopted));
    // Nothing else is in this folder.
    let _ = std::fs::remove_dir_all(folder);
}
