//! Restarts from checkpoints: a region is rebuilt and its versions go on, or the fields of a
//! program's own region are filled.

mod incomplete;
mod load;
mod rebuilt;

use bytemuck::{Pod, Zeroable};
use ndarray::Ix2;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, Options, Snapshot};
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_observer::{Observer, View};
use tcasm_producer::{Producer, RegionPtr};
use tcasm_tests::{PublishVisible, name};
use tempfile::TempDir;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Node {
    value: u64,
    next: RegionPtr<Node>,
}

const NODES: usize = 300;

/// A run that has written its versions 1 and 2 to files, and has ended.
struct Past {
    dir: TempDir,
    name: String,
    base: usize,
    bytes: u64,
}

impl Past {
    fn new() -> Past {
        let (dir, name) = (TempDir::new().unwrap(), name("past"));
        let builder = Producer::builder(&name).capacity(3 << 20);
        let mut p = builder.attr("code", "past").create().unwrap();
        let t = p.field::<f64, _>("t", [40, 50]).fortran_order();
        let t = t
            .ghosts(&[[1, 1], [0, 2]])
            .unit("K")
            .mesh([0.5; 3], [0.1; 3]);
        let t = t.add().unwrap();
        let nodes = p.raw::<Node>("nodes", NODES).add().unwrap();
        for i in 0..NODES {
            let (value, next) = (i as u64, p.raw_ptr(nodes, (i + 7) % NODES).unwrap());
            p.raw_mut(nodes).unwrap()[i] = Node { value, next };
        }
        let base = p.base();
        let bytes = Observer::attach(&name).unwrap().info().unwrap().bytes;
        for n in 1..=2u64 {
            p.view_mut(t)
                .unwrap()
                .indexed_iter_mut()
                .for_each(|((i, j), t)| {
                    *t = (i * 100 + j) as f64 + 0.5 * n as f64;
                });
            p.publish_visible(n * 10, n as f64).unwrap();
            let version = Observer::attach(&name).unwrap().latest().unwrap();
            save(
                &version.view().unwrap(),
                &file(dir.path(), &name, n * 10),
                true,
            );
        }
        Past {
            dir,
            name,
            base,
            bytes,
        }
    }

    fn file(&self, step: u64) -> PathBuf {
        file(self.dir.path(), &self.name, step)
    }
}

fn file(dir: &Path, name: &str, step: u64) -> PathBuf {
    dir.join(format!("{name}_{step:08}.vtkhdf"))
}

fn save(view: &View, file: &Path, with_extent: bool) {
    let version = view.version();
    let snapshot = Snapshot::new(version.region(), view.stamp(), view.table(), |field| {
        view.bytes_of(field).unwrap()
    });
    let extent = with_extent.then(|| version.extent());
    tcasm_checkpoint::write(file, &snapshot.at(extent), &Options::default()).unwrap();
}

/// Checks that `p` holds the state of step `n` * 10 of [`Past`].
fn check(p: &Producer, n: u64) {
    let t = p.view(p.handle::<f64, Ix2>("t").unwrap()).unwrap();
    assert_eq!(t.shape(), [40, 50]);
    let right = |((i, j), t): ((usize, usize), &f64)| *t == (i * 100 + j) as f64 + 0.5 * n as f64;
    assert!(t.indexed_iter().all(right));
}

fn open(path: &Path) -> Checkpoint {
    Checkpoint::open(path).unwrap()
}

/// Writes the checkpoint of step 20 again as step 30, with another table.
fn save_again(past: &Past, change: impl FnOnce(&mut FieldTable)) {
    let loaded = open(&past.file(20)).load().unwrap();
    let mut table = loaded.table.clone();
    change(&mut table);
    let stamp = Stamp {
        step: 30,
        ..loaded.stamp
    };
    let snapshot = Snapshot::new(&past.name, stamp, &table, |field| {
        loaded.bytes(&field.name).unwrap()
    });
    let snapshot = snapshot.at(loaded.extent);
    tcasm_checkpoint::write(past.file(30), &snapshot, &Options::default()).unwrap();
}
