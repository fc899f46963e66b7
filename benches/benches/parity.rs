//! The cost of parity in checkpoints of a job: `cargo bench -p tcasm-benches --bench parity`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::path::Path;
use std::time::Instant;
use tcasm_checkpoint::Snapshot;
use tcasm_checkpoint::job::{
    Channels, JobError, JobSettings, JobWriter, NodeSnapshot, Redundancy, channels,
};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

/// The nodes, which are one set.
const NODES: usize = 8;
/// The bytes of each node.
const BYTES: usize = 32 << 20;

/// Measures checkpoints of 8 nodes, which are threads, on a file system in memory. What is beyond
/// the time without redundancy is the time of parity: reading the file again, messages, code, and
/// writing.
fn parity(c: &mut Criterion) {
    let shared = Path::new("/dev/shm");
    let here = std::env::temp_dir();
    let folder = if shared.is_dir() { shared } else { &here };
    let schemes = [
        ("none", Redundancy::None),
        ("partner", Redundancy::Partner),
        ("xor", Redundancy::Xor),
        ("reed-solomon", Redundancy::ReedSolomon),
    ];
    let mut group = c.benchmark_group(format!("checkpoint of {NODES} nodes"));
    group.throughput(Throughput::Bytes((NODES * BYTES) as u64));
    group.sample_size(10);
    for (name, redundancy) in schemes {
        let root = tempfile::tempdir_in(folder).expect("a folder");
        let mut writers = connect(root.path(), redundancy);
        let mut step = 0;
        group.bench_function(BenchmarkId::from_parameter(name), |bench| {
            bench.iter_custom(|count| {
                let start = Instant::now();
                for _ in 0..count {
                    step += 1;
                    write(&mut writers, step);
                }
                start.elapsed()
            });
        });
    }
    group.finish();
}

/// Connects the writers of all nodes.
fn connect(root: &Path, redundancy: Redundancy) -> Vec<JobWriter<Channels>> {
    let slow = root.join("slow");
    std::fs::create_dir(&slow).expect("a folder");
    let connect = |(node, messages): (usize, Channels)| {
        let local = root.join(format!("node{node}"));
        std::fs::create_dir(&local).expect("a folder");
        let mut settings = JobSettings::new("bench", local, slow.clone());
        settings.redundancy = redundancy;
        settings.drain_every = 0;
        JobWriter::connect(settings, &format!("host{node}"), messages).expect("a writer")
    };
    std::thread::scope(|scope| {
        let ends = channels(NODES).into_iter().enumerate();
        let threads: Vec<_> = ends.map(|end| scope.spawn(move || connect(end))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|writer| writer.expect("no panic")).collect()
    })
}

/// Writes a checkpoint on all nodes.
fn write(writers: &mut [JobWriter<Channels>], step: u64) {
    std::thread::scope(|scope| {
        for writer in writers {
            scope.spawn(move || write_node(writer, step).expect("a checkpoint"));
        }
    });
}

fn write_node(writer: &mut JobWriter<Channels>, step: u64) -> Result<(), JobError> {
    let rank = u32::try_from(writer.node()).expect("a small number");
    let table = FieldTable {
        fields: vec![FieldDesc::new("u", DType::F64, &[BYTES / 8])],
        ..FieldTable::default()
    };
    let bytes = vec![rank as u8; BYTES];
    let stamp = Stamp {
        version: step,
        step,
        time: step as f64,
    };
    let snapshot = Snapshot::new("bench", stamp, &table, |_| &bytes);
    let node = NodeSnapshot {
        run: "bench",
        ranks: NODES as u32,
        step,
        members: vec![(rank, snapshot)],
    };
    writer.prepare(&node, None)?;
    writer.committed(step)
}

criterion_group!(benches, parity);
criterion_main!(benches);
