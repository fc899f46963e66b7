//! What versions hold, as the system counts it, and that it is given back.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Field, Producer};
use tcasm_tests::name;
use tcasm_tests::procfs::anonymous_in;

const MIB: usize = 1 << 20;
const BYTES: usize = 32 * MIB;
/// What the issue of memory asks of giving back, with the time that a loaded machine may need besides.
const PATIENCE: Duration = Duration::from_secs(20);

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
            assert!(p.wait_visible(PATIENCE).unwrap());
        }
        skipped => panic!("{skipped:?}"),
    }
}

/// Bytes of the planes of `name`, by the blocks of the objects that this process has open.
fn held(name: &str) -> usize {
    let plane = format!("/memfd:tcasm-{name}-plane");
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    // Read-only descriptors, which the service and the observer have, are of the same objects.
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

/// Wait until at most `bytes` are held.
fn comes_down(name: &str, bytes: usize) {
    comes_true(&format!("{bytes} bytes are held"), || held(name) <= bytes);
}

fn comes_true(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
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
fn memory_of_pinned_versions_comes_back_without_another_publish() {
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
    // Held versions stay what they are while memory around them goes.
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
    // What is counted and what is held are seen one after the other, while memory may still go.
    comes_true("the count is right", || {
        producer.stats().held_bytes as usize == held(&name)
    });
    assert!(producer.check_store().unwrap());
    // And it goes on.
    step(&mut producer, field, 7, 3);
    let view = observer.latest().unwrap().view().unwrap();
    let array = view.array::<u64>("a").unwrap();
    let page = |n: usize| array[n * 512];
    assert_eq!((page(0), page(1), page(3)), (7, 1007, 7));
}

#[test]
fn a_region_that_falls_silent_keeps_its_versions_and_little_else() {
    tcasm_tests::runtime_dir();
    let name = name("silent");
    let (mut producer, field, _observer) = region(&name);
    (0..6).for_each(|n| step(&mut producer, field, n + 1, 1));
    // Pages that change no more need no free slots.
    (0..120).for_each(|n| step(&mut producer, field, n + 1, 4096));
    comes_down(&name, BYTES + BYTES / 10);
}

/// Live memory and planes together, in hundredths of the field, after steps that all write the same pages, one in 20: as many
/// as it takes for memory to come to rest, which has its share of the run's time, or 400 and so many that `patience` is over.
fn hold_together(
    producer: &mut Producer,
    field: Words,
    observer: &mut Observer,
    patience: Duration,
) -> usize {
    let range = producer.base()..producer.base() + BYTES;
    let together = |p: &Producer| held(p.name()) + anonymous_in(range.clone()) as usize;
    let until = Instant::now() + patience;
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
        // An observer that is always at the newest version.
        let view = observer.latest().unwrap().view().unwrap();
        assert_eq!(view.array::<u64>("a").unwrap()[0], n);
        let resting = producer.stats().resting_bytes as usize;
        let rests = together(producer) <= BYTES * 120 / 100 && resting > BYTES * 9 / 10;
        if rests || (n >= 400 && Instant::now() > until) {
            break;
        }
    }
    assert!(producer.check_store().unwrap());
    together(producer) * 100 / BYTES
}

#[test]
fn memory_that_is_not_written_exists_once() {
    let name = name("shared");
    let (mut producer, field, mut observer) = region(&name);
    let percent = hold_together(&mut producer, field, &mut observer, PATIENCE);
    assert!(percent <= 120, "{percent} %");
    let resting = producer.stats().resting_bytes as usize;
    assert!(resting > BYTES * 9 / 10, "{resting}");
}

#[test]
fn a_program_that_wants_its_memory_to_itself_has_it() {
    let name = name("unshared");
    let builder = Producer::builder(&name)
        .capacity(BYTES)
        .shared_backing(false);
    let mut producer = builder.calm_versions(1).create().unwrap();
    let field = producer.field("a", [BYTES / 8]).add().unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    let percent = hold_together(&mut producer, field, &mut observer, Duration::ZERO);
    assert!(percent >= 200, "{percent} %");
    assert_eq!(producer.stats().resting_bytes, 0);
}
