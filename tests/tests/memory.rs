//! The memory that versions hold, as the kernel counts it, and that it is returned.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Field, Producer};
use tcasm_tests::name;
use tcasm_tests::procfs::anonymous_in;

const MIB: usize = 1 << 20;
const BYTES: usize = 32 * MIB;
/// The time within which memory must be returned, with room for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(20);

type Words = Field<u64, ndarray::Ix1>;

fn region(name: &str) -> (Producer, Words, Observer) {
    let builder = Producer::builder(name).capacity(BYTES).versions(12);
    let builder = builder.memory(16 * BYTES as u64);
    let mut producer = builder.wait_for_capture(true).create().unwrap();
    let field = producer.field("a", [BYTES / 8]).add().unwrap();
    let observer = Observer::attach(name).unwrap();
    (producer, field, observer)
}

fn step(producer: &mut Producer, field: Words, value: u64, every: usize) {
    let mut view = producer.view_mut(field).unwrap();
    let words = view.as_slice_mut().unwrap();
    for page in words.chunks_exact_mut(512).step_by(every) {
        page.fill(value);
    }
    let receipt = producer.publish(value, 0.0).unwrap();
    match receipt {
        tcasm_producer::Receipt::Published(p) => {
            assert!(p.wait_visible(TIMEOUT).unwrap());
        }
        skipped => panic!("{skipped:?}"),
    }
}

/// Returns the bytes of the planes of `name`: the blocks of the objects that this process has open.
fn held(name: &str) -> usize {
    let plane = format!("/memfd:tcasm-{name}-plane");
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    // The service and the observer have read-only descriptors of the same objects.
    let mut planes = std::collections::BTreeMap::new();
    for entry in open {
        let path = entry.path();
        let target = std::fs::read_link(&path).unwrap_or_default();
        if target.to_string_lossy().starts_with(&plane)
            && let Ok(meta) = std::fs::metadata(&path)
        {
            planes.insert(meta.ino(), meta.blocks() as usize * 512);
        }
    }
    planes.values().sum()
}

/// Waits until at most `bytes` are held.
fn comes_down(name: &str, bytes: usize) {
    comes_true(&format!("{bytes} bytes are held"), || held(name) <= bytes);
}

fn comes_true(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !is_true() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn pin(producer: &mut Producer, field: Words, observer: &mut Observer, n: u64) -> Vec<Version> {
    let mut pins = Vec::new();
    for value in 0..n {
        step(producer, field, 1000 + value, 1);
        pins.push(observer.latest().unwrap());
    }
    pins
}

#[test]
fn memory_of_released_versions_is_returned_without_another_publish() {
    tcasm_tests::runtime_dir();
    let name = name("memory");
    let (mut producer, field, mut observer) = region(&name);
    (0..24).for_each(|n| step(&mut producer, field, n + 1, 1));
    comes_down(&name, 3 * BYTES);
    let before = held(&name);
    let pins = pin(&mut producer, field, &mut observer, 8);
    assert!(held(&name) >= 8 * BYTES, "{}", held(&name) / MIB);
    let values: Vec<u64> = pins.iter().map(Version::step).collect();
    assert_eq!(values, (1000..1008).collect::<Vec<_>>());
    // Held versions stay as they are while memory around them is returned.
    std::thread::sleep(Duration::from_millis(600));
    for version in &pins {
        let view = version.view().unwrap();
        assert!(
            view.array::<u64>("a")
                .unwrap()
                .iter()
                .all(|v| *v == version.step())
        );
    }
    drop(pins);
    comes_down(&name, before + before / 20);
    // The two numbers are read one after the other, while memory may still be returned.
    comes_true("stats() counts what is held", || {
        producer.stats().held_bytes as usize == held(&name)
    });
    assert!(producer.check_store().unwrap());
    // The producer can publish again.
    step(&mut producer, field, 7, 3);
    let view = observer.latest().unwrap().view().unwrap();
    let array = view.array::<u64>("a").unwrap();
    let page = |n: usize| array[n * 512];
    assert_eq!((page(0), page(1), page(3)), (7, 1007, 7));
}

#[test]
fn region_that_is_no_longer_written_holds_little_more_than_its_versions() {
    tcasm_tests::runtime_dir();
    let name = name("silent");
    let (mut producer, field, _observer) = region(&name);
    (0..6).for_each(|n| step(&mut producer, field, n + 1, 1));
    // Pages that are no longer written need no free frames.
    (0..120).for_each(|n| step(&mut producer, field, n + 1, 4096));
    comes_down(&name, BYTES + BYTES / 10);
}

/// Returns live memory and planes together, in percent of the field. Each step writes the same
/// pages, one in 20. The steps end when memory is shared with planes, or after 400 steps and
/// `timeout`. Sharing may only take a small part of the run time.
fn hold_together(
    producer: &mut Producer,
    field: Words,
    observer: &mut Observer,
    timeout: Duration,
) -> usize {
    let range = producer.base()..producer.base() + BYTES;
    let together = |p: &Producer| held(p.name()) + anonymous_in(range.clone()) as usize;
    let until = Instant::now() + timeout;
    for n in 1.. {
        let mut view = producer.view_mut(field).unwrap();
        let words = view.as_slice_mut().unwrap();
        for page in 0..BYTES / 4096 {
            let (word, hash) = (page * 512, (page * 0x9e37_79b1) >> 7);
            if n == 1 || hash % 20 == 0 {
                words[word] = n;
            }
            assert!(words[word] == n || words[word] == 1 && hash % 20 != 0);
        }
        let receipt = producer.publish(n, 0.0).unwrap();
        assert!(receipt.version().is_some(), "{receipt:?}");
        // An observer that always reads the newest version.
        let view = observer.latest().unwrap().view().unwrap();
        assert_eq!(view.array::<u64>("a").unwrap()[0], n);
        let shared = producer.stats().shared_bytes as usize;
        let is_shared = together(producer) <= BYTES * 120 / 100 && shared > BYTES * 9 / 10;
        if is_shared || (n >= 400 && Instant::now() > until) {
            break;
        }
    }
    assert!(producer.check_store().unwrap());
    together(producer) * 100 / BYTES
}

#[test]
fn unchanged_memory_exists_once() {
    let name = name("shared");
    let (mut producer, field, mut observer) = region(&name);
    let percent = hold_together(&mut producer, field, &mut observer, TIMEOUT);
    assert!(percent <= 120, "{percent} %");
    let shared = producer.stats().shared_bytes as usize;
    assert!(shared > BYTES * 9 / 10, "{shared}");
}

#[test]
fn shared_backing_can_be_switched_off() {
    let name = name("unshared");
    let builder = Producer::builder(&name)
        .capacity(BYTES)
        .shared_backing(false);
    let mut producer = builder.cold_versions(1).create().unwrap();
    let field = producer.field("a", [BYTES / 8]).add().unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    let percent = hold_together(&mut producer, field, &mut observer, Duration::ZERO);
    assert!(percent >= 200, "{percent} %");
    assert_eq!(producer.stats().shared_bytes, 0);
}
