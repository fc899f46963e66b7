//! The times that observers wait: for attaching, the next version, its first bytes, and the
//! wake-up.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tcasm_benches::workload::{BYTES, PAGE, Simulation, producer, timed};
use tcasm_observer::{Observer, View};
use tcasm_producer::Receipt;

fn attach(c: &mut Criterion) {
    let (mut p, _) = producer("bench-attach", BYTES);
    p.publish(0, 0.0).expect("published");
    c.bench_function("attach", |b| {
        b.iter_batched(
            || (),
            |()| Observer::attach("bench-attach").expect("attached"),
            BatchSize::PerIteration,
        )
    });
}

/// A kind of change between versions: its name, the number of versions before the measurement, and
/// the function that publishes the next version.
type Writer = (&'static str, usize, fn(&mut Switching));

const WRITERS: [Writer; 3] = [
    ("every page", 8, |s| s.publish(100)),
    ("1310 random pages after a dense version", 4, |s| {
        s.publish(100);
        sum(&s.view());
        s.publish(1)
    }),
    ("1310 random pages after many like it", 80, |s| s.publish(1)),
];

/// A simulation and an observer of it.
struct Switching {
    simulation: Simulation,
    observer: Observer,
}

impl Switching {
    fn publish(&mut self, percent: usize) {
        let s = &mut self.simulation;
        s.compute(percent);
        let receipt = s
            .producer
            .publish_wait(s.step, 0.0, Duration::from_secs(10));
        match receipt.expect("published") {
            Receipt::Published(p) => p.wait_visible(Duration::from_secs(10)).expect("captured"),
            skipped => panic!("{skipped:?}"),
        };
    }

    fn view(&mut self) -> View {
        let view = self.observer.latest().expect("a version").view();
        let view = view.expect("mapped");
        assert_eq!(view.step(), self.simulation.step);
        view
    }
}

/// Measures switching to the next version: pinning it and mapping the pages that differ. Also
/// measures the first read of a byte of each page, where page faults would occur.
fn switch(c: &mut Criterion) {
    // With deferred capture, versions would contain whole chunks. This bench needs single pages.
    // SAFETY: criterion runs benches on one thread, and no producer exists yet, so no other thread
    // reads the environment.
    unsafe { std::env::set_var("TCASM_CAPTURE", "inline") };
    let mut group = c.benchmark_group("switch to the next version, 512 MiB");
    for (pages, before, next) in WRITERS {
        let simulation = Simulation::new("bench-switch", BYTES);
        let observer = Observer::attach("bench-switch").expect("attached");
        let mut s = Switching {
            simulation,
            observer,
        };
        for _ in 0..before {
            next(&mut s);
            sum(&s.view());
        }
        group.bench_function(BenchmarkId::new("map", pages), |b| {
            b.iter_custom(|n| timed(n, &mut s, next, |s| drop(s.view())))
        });
        // A step whose number ends in a zero byte sums to 0, so the sum says nothing.
        let read = |s: &mut Switching| {
            black_box(sum(&s.view()));
        };
        group.bench_function(
            BenchmarkId::new("map, read a byte of each page", pages),
            |b| b.iter_custom(|n| timed(n, &mut s, next, read)),
        );
        let view = s.view();
        group.bench_function(
            BenchmarkId::new("read a byte of each page again", pages),
            |b| b.iter(|| sum(&view)),
        );
    }
    group.finish();
}

/// Returns the sum of one byte of each page.
fn sum(view: &View) -> u64 {
    let bytes = view.bytes("bytes").expect("the field");
    bytes.iter().step_by(PAGE).map(|b| u64::from(*b)).sum()
}

/// Measures the time from the call of publish until a waiting observer holds the version. It
/// includes the publish of one page.
fn wake_up(c: &mut Criterion) {
    let Simulation {
        producer: mut p,
        field,
        ..
    } = Simulation::new("bench-wake", 1 << 20);
    let (sent, woken) = mpsc::channel();
    let mut observer = Observer::attach("bench-wake").expect("attached");
    let watcher = std::thread::spawn(move || {
        while let Ok(version) = observer.wait_newer(Duration::from_secs(60)) {
            if sent.send((version.step(), Instant::now())).is_err() {
                break;
            }
        }
    });
    let mut step = 100;
    c.bench_function("wake-up: publish to version in hand", |b| {
        b.iter_custom(|n| {
            (0..n)
                .map(|_| {
                    step += 1;
                    p.view_mut(field).expect("a view")[0] = step as u8;
                    std::thread::sleep(Duration::from_micros(300)); // lets the observer fall asleep
                    let start = Instant::now();
                    p.publish(step, 0.0).expect("published");
                    loop {
                        let (seen, at) = woken.recv().expect("the watcher lives");
                        if seen == step {
                            break at - start;
                        }
                    }
                })
                .sum()
        })
    });
    p.close();
    watcher.join().expect("the watcher ends with the stream");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    targets = attach, switch, wake_up
}
criterion_main!(benches);
