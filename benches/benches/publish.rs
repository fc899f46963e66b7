//! The cost of a call of publish, compared with harvest and copy alone.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::time::Duration;
use tcasm_benches::reference::Reference;
use tcasm_benches::workload::{BYTES, PAGE, Random, Simulation, producer, producer_within, timed};
use tcasm_producer::Producer;

const SHARES: [usize; 4] = [0, 1, 10, 100];
/// Number of steps until the library has adapted its capture policy to a new share of written
/// pages. In each step, it adapts the policy for a few chunks.
const SETTLING: usize = 48;

fn publish(c: &mut Criterion) {
    let mut simulation = Simulation::new("bench-publish", BYTES);
    let mut reference = Reference::new(BYTES);
    let mut group = c.benchmark_group("publish 512 MiB, random pages");
    // Both are measured in turn, so that a change of the machine's speed affects both.
    for percent in SHARES {
        let share = format!("{percent:3} %");
        for _ in 0..SETTLING {
            simulation.compute(percent);
            simulation.publish();
            reference.compute(percent);
            reference.publish();
        }
        group.bench_function(BenchmarkId::new("publish", &share), |b| {
            b.iter_custom(|n| {
                timed(
                    n,
                    &mut simulation,
                    |s| s.compute(percent),
                    Simulation::publish,
                )
            })
        });
        group.bench_function(BenchmarkId::new("harvest + copy", &share), |b| {
            b.iter_custom(|n| {
                timed(
                    n,
                    &mut reference,
                    |r| r.compute(percent),
                    Reference::publish,
                )
            })
        });
    }
    group.finish();
}

fn unchanged(c: &mut Criterion) {
    let (mut p, field) = producer("bench-unchanged", 1 << 30);
    p.view_mut(field).expect("a view").fill(1);
    p.publish(0, 0.0).expect("published");
    let mut step = 1;
    c.bench_function("publish 1 GiB, nothing changed", |b| {
        b.iter(|| {
            step += 1;
            p.publish(step, 0.0).expect("published")
        })
    });
}

/// Measures that capacity of a region that is not used costs nothing.
fn one_page(c: &mut Criterion) {
    let mut group = c.benchmark_group("publish 1 GiB touched, one page changed");
    for (label, capacity) in [("of 1 GiB", 1 << 30), ("of 1 TiB", 1 << 40)] {
        let (mut p, field) = producer_within("bench-one-page", 1 << 30, capacity);
        p.publish(0, 0.0).expect("published");
        let (mut step, mut random) = (0, Random(7));
        let mut write = |p: &mut Producer| {
            let page = random.below((1 << 30) / PAGE);
            p.view_mut(field).expect("a view")[page * PAGE] += 1;
        };
        group.bench_function(label, |b| {
            b.iter_custom(|n| {
                timed(n, &mut p, &mut write, |p| {
                    step += 1;
                    assert!(p.publish(step, 0.0).expect("published").version().is_some());
                })
            })
        });
    }
    group.finish();
}

fn small(c: &mut Criterion) {
    let mut s = Simulation::new("bench-small", 1 << 20);
    c.bench_function("publish 1 MiB, one page", |b| {
        b.iter(|| {
            s.step += 1;
            s.producer.view_mut(s.field).expect("a view")[5000] = s.step as u8;
            s.publish();
        })
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(4));
    targets = publish, unchanged, one_page, small
}
criterion_main!(benches);
