//! What do observers wait for: attaching, the next version, its first bytes, the wake-up?

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tcasm_benches::workload::{BYTES, Simulation, producer, timed};
use tcasm_observer::Observer;

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

/// From one version to the next, mapped: pin, re-map what differs.
fn switch(c: &mut Criterion) {
    let mut s = Simulation::new("bench-switch", BYTES);
    let mut group = c.benchmark_group("switch to the next version, 512 MiB, random pages");
    for percent in [1, 100] {
        let mut observer = Observer::attach("bench-switch").expect("attached");
        group.bench_function(BenchmarkId::new("map", format!("{percent:3} %")), |b| {
            b.iter_custom(|n| {
                let next = |s: &mut Simulation| {
                    s.compute(percent);
                    s.publish();
                };
                timed(n, &mut s, next, |s| {
                    let view = observer
                        .latest()
                        .expect("a version")
                        .view()
                        .expect("mapped");
                    assert_eq!(view.step(), s.step);
                })
            })
        });
    }
    group.finish();
}

/// From the call of publish until a waiting observer has the version in its hands, publish of one page included.
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
                    std::thread::sleep(Duration::from_micros(300)); // let it fall asleep
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
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    targets = attach, switch, wake_up
}
criterion_main!(benches);
