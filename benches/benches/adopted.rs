//! The cost of an adopted array beside a field of the region. It is a program of its own, so that
//! it needs no memory for other benches: `cargo bench -p tcasm-benches --bench adopted`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::time::Duration;
use tcasm_benches::workload::{PAGE, Random, random_pages, timed, touch};
use tcasm_producer::{CaptureMode, Producer};

/// Measures what an adopted array costs beside a field of the region, both captured inline. Both
/// have `TCASM_BENCH_MIB` MiB, and need up to three times as much memory. `costs` of
/// bindings/conformance does the same in pairs.
fn adopted(c: &mut Criterion) {
    let mib = std::env::var("TCASM_BENCH_MIB").unwrap_or_else(|_| "1024".to_owned());
    let bytes = mib.parse::<usize>().expect("a number of MiB") << 20;
    let folder = std::env::temp_dir().join(format!("tcasm-bench-{}", std::process::id()));
    // SAFETY: no other thread reads the environment meanwhile. Criterion runs benches on one
    // thread.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", folder) };
    let region = |name: &str| {
        let builder = Producer::builder(name).capacity(bytes + (4 << 20));
        builder
            .capture(CaptureMode::Inline)
            .create()
            .expect("a region")
    };
    let (mut own, mut other) = (region("bench-own"), region("bench-adopted"));
    let field = own.field::<u8, _>("u", [bytes]).add().expect("a field");
    let mut array = vec![0u8; bytes];
    // SAFETY: the array lives until the end of the function, and only this thread stores to it,
    // between calls of the producer.
    let same = unsafe { other.adopt("u", array.as_mut_ptr(), [bytes]) }.expect("adopted");
    let mut group = c.benchmark_group(format!("publish {mib} MiB, in the region and adopted"));
    for percent in [0, 1, 100] {
        // Both are measured in turn, so that a change of the machine's speed affects both.
        for (label, p, field) in [("region", &mut own, field), ("adopted", &mut other, same)] {
            let (mut step, mut random) = (0, Random(7));
            let mut write = |p: &mut Producer| {
                let pages = random_pages(&mut random, bytes / PAGE, percent);
                let mut view = p.view_mut(field).expect("a view");
                let value = random.below(1 << 40) as u64;
                touch(view.as_slice_mut().expect("in one piece"), &pages, value);
            };
            let mut publish = |p: &mut Producer| {
                step += 1;
                assert!(p.publish(step, 0.0).expect("published").version().is_some());
            };
            for _ in 0..4 {
                write(p);
                publish(p);
            }
            group.bench_function(BenchmarkId::new(label, format!("{percent:3} %")), |b| {
                b.iter_custom(|n| timed(n, p, &mut write, &mut publish))
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(4));
    targets = adopted
}
criterion_main!(benches);
