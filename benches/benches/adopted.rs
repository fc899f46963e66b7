//! The cost of an adopted array beside a field of the region. It is a program of its own, so that
//! it needs no memory for other benches: `cargo bench -p tcasm-benches --bench adopted`.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use ndarray::Array1;
use std::time::Duration;
use tcasm_benches::plain::{huge_array, small_array};
use tcasm_benches::workload::{PAGE, Random, random_pages, timed};
use tcasm_producer::{CaptureMode, HugePages, Producer};

/// Values in a page.
const VALUES: usize = PAGE / size_of::<f64>();

/// Measures what an adopted array costs beside a field of the region, both captured inline, in
/// huge pages and in small ones. Each has `TCASM_BENCH_MIB` MiB, and needs up to three times as
/// much memory. `costs` of bindings/conformance does the same in pairs.
fn adopted(c: &mut Criterion) {
    let mib = std::env::var("TCASM_BENCH_MIB").unwrap_or_else(|_| "1024".to_owned());
    let values = mib.parse::<usize>().expect("a number of MiB") << 17;
    let folder = std::env::temp_dir().join(format!("tcasm-bench-{}", std::process::id()));
    // SAFETY: no other thread reads the environment meanwhile. Criterion runs benches on one
    // thread.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", folder) };
    let kinds = [
        ("huge pages", HugePages::Transparent, huge_array([values])),
        ("small pages", HugePages::Off, small_array([values])),
    ];
    for (pages, huge, array) in kinds {
        let name = format!("publish {mib} MiB, {pages}, in the region and adopted");
        measure(&mut c.benchmark_group(name), huge, array);
    }
}

/// Measures a field with such pages, and an array that consists of them.
fn measure(group: &mut BenchmarkGroup<'_, WallTime>, huge: HugePages, mut array: Array1<f64>) {
    let values = array.len();
    let region = |name: &str| {
        let builder = Producer::builder(name).capacity(values * 8 + (4 << 20));
        let builder = builder.huge_pages(huge).capture(CaptureMode::Inline);
        builder.create().expect("a region")
    };
    let (mut own, mut other) = (region("bench-own"), region("bench-adopted"));
    let field = own.field::<f64, _>("u", [values]).add().expect("a field");
    own.view_mut(field).expect("a view").fill(1.0);
    // SAFETY: the array lives until the end of the function, and only this thread stores to it,
    // between calls of the producer.
    let same = unsafe { other.adopt("u", array.as_mut_ptr(), [values]) }.expect("adopted");
    for percent in [0, 1, 100] {
        // Both are measured in turn, so that a change of the machine's speed affects both.
        for (label, p, field) in [("region", &mut own, field), ("adopted", &mut other, same)] {
            let (mut step, mut random) = (0, Random(7));
            let mut write = |p: &mut Producer| {
                let pages = random_pages(&mut random, values / VALUES, percent);
                let mut view = p.view_mut(field).expect("a view");
                for page in pages {
                    view[page * VALUES] += 1.0;
                }
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
