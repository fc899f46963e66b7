//! Restarts from checkpoints: a region is rebuilt and its versions go on, or the fields of a
//! program's own region are filled.

use bytemuck::{Pod, Zeroable};
use ndarray::Ix2;
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, Options, ReadError, Snapshot};
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::fault::hold_copiers;
use tcasm_observer::{Observer, View};
use tcasm_producer::{
    Attr, CaptureMode, CreateError, Extent, Producer, Published, Receipt, RegionPtr,
};
use tcasm_restart::{Continue, Load, Restore, RestoreError, State, rebuild};
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

#[test]
fn region_is_rebuilt_at_its_address_with_all_fields_and_pointers() {
    let past = Past::new();
    let restored = Producer::restore(&[past.dir.path()]).unwrap();
    assert_eq!((restored.stamp.step, restored.stamp.time), (20, 2.0));
    assert_eq!(
        (restored.from, restored.passed_over.len()),
        (past.file(20), 0)
    );
    let mut p = restored.producer;
    assert_eq!((p.name(), p.base()), (past.name.as_str(), past.base));
    check(&p, 2);
    // The pointers hold in this process and in others.
    let nodes = p.raw_handle::<Node>("nodes").unwrap();
    let second = p.raw_mut(nodes).unwrap()[1];
    assert_eq!(second.next, p.raw_ptr(nodes, 8).unwrap());
    // The next version has the next number of the run and the contents of the last version.
    assert_eq!(p.publish_visible(20, 2.0).unwrap().version(), Some(3));
    let mut observer = Observer::attach(&past.name).unwrap();
    assert_eq!(observer.info().unwrap().bytes, past.bytes);
    let version = observer.latest().unwrap();
    let again = past.dir.path().join("again.vtkhdf");
    save(&version.view().unwrap(), &again, true);
    let (a, b) = (open(&past.file(20)), open(&again));
    assert_eq!((a.table(), a.extent()), (b.table(), b.extent()));
    assert_eq!(a.table().attrs["code"], Attr::from("past"));
    drop(p); // it is mapped at the address in this process
    let view = version.view_at_base().unwrap();
    let nodes = view.raw::<Node>("nodes").unwrap();
    let next = view.deref(nodes[NODES - 1].next).unwrap();
    assert_eq!(next.value, 6);
}

fn open(path: &Path) -> Checkpoint {
    Checkpoint::open(path).unwrap()
}

#[test]
fn damaged_checkpoint_is_passed_over_and_reported() {
    let past = Past::new();
    let mut bytes = fs::read(past.file(20)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(past.file(20), bytes).unwrap();
    let restored = Producer::restore(&[past.dir.path()]).unwrap();
    assert_eq!((restored.stamp.step, restored.from), (10, past.file(10)));
    let [(path, why)] = &restored.passed_over[..] else {
        panic!("{:?}", restored.passed_over);
    };
    assert_eq!(*path, past.file(20));
    assert!(why.to_string().contains("damaged"), "{why}");
    check(&restored.producer, 1);
}

#[test]
fn checkpoint_without_an_address_is_rebuilt_at_the_address_of_its_name() {
    let past = Past::new();
    let version_of = |p: &mut Producer| {
        p.publish_visible(30, 2.0).unwrap();
        Observer::attach(&past.name).unwrap().latest().unwrap()
    };
    let mut p = Producer::restore(&[past.dir.path()]).unwrap().producer;
    save(&version_of(&mut p).view().unwrap(), &past.file(30), false);
    drop(p);
    let restored = Producer::restore(&[past.file(30)]).unwrap();
    assert_eq!(restored.producer.base(), past.base);
    check(&restored.producer, 2);
}

/// Writes the checkpoint of step 20 again as step 30, without the field `name`.
fn save_without(past: &Past, name: &str) {
    let loaded = open(&past.file(20)).load().unwrap();
    let mut table = loaded.table.clone();
    let (lacking, fields) = table.fields.drain(..).partition(|field| field.name == name);
    (table.lacking, table.fields) = (lacking, fields);
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

#[test]
fn checkpoint_that_lacks_a_field_is_passed_over_for_an_older_one_that_has_it() {
    let past = Past::new();
    save_without(&past, "nodes");
    let dirs = [past.dir.path()];
    for named in [false, true] {
        let restored = match named {
            true => Producer::restore_named(&dirs, &past.name).unwrap(),
            false => Producer::restore(&dirs).unwrap(),
        };
        assert_eq!((restored.stamp.step, restored.from), (20, past.file(20)));
        let [(path, why)] = &restored.passed_over[..] else {
            panic!("{:?}", restored.passed_over);
        };
        assert_eq!(*path, past.file(30));
        assert!(why.to_string().contains("nodes"), "{why}");
        check(&restored.producer, 2);
    }
    // It can be asked for, and it is taken if there is no other.
    let asked = Checkpoint::restart(&dirs, Some(30)).unwrap();
    assert_eq!((asked.stamp().step, asked.passed_over().len()), (30, 0));
    fs::remove_file(past.file(10)).unwrap();
    fs::remove_file(past.file(20)).unwrap();
    let only = Checkpoint::restart(&dirs, None).unwrap();
    assert_eq!((only.stamp().step, only.passed_over().len()), (30, 0));
}

#[test]
fn restart_from_a_checkpoint_that_lacks_a_field_is_refused_by_its_name() {
    let past = Past::new();
    save_without(&past, "nodes");
    let refused = |error: &RestoreError| {
        let RestoreError::Lacks { step, fields, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((*step, fields.as_slice()), (30, &["nodes".to_owned()][..]));
    };
    refused(&Producer::restore(&[past.file(30)]).unwrap_err());
    let state = open(&past.file(30));
    let builder = Producer::builder(&past.name).capacity(1 << 20);
    let mut p = builder.create().unwrap();
    let t = p.field::<f64, _>("t", [40, 50]).fortran_order();
    t.add().unwrap();
    refused(&p.load(&state).unwrap_err());
    // The fields that it has can be read.
    let mut bytes = vec![0; 40 * 50 * 8];
    state.read_bytes("t", &mut bytes).unwrap();
}

/// Writes the checkpoint of step 20 again as step 30, with rounded values of `t`.
fn save_rounded(past: &Past, bound: f64) {
    let loaded = open(&past.file(20)).load().unwrap();
    let mut table = loaded.table.clone();
    for field in table.fields.iter_mut().filter(|field| field.name == "t") {
        field.relative_error = Some(bound);
    }
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

#[test]
fn restart_from_rounded_values_is_refused_unless_the_program_accepts_them() {
    let (past, bound) = (Past::new(), 1e-2);
    save_rounded(&past, bound);
    let error = Producer::restore(&[past.dir.path()]).unwrap_err();
    let lossy = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::Lossy { .. }));
    assert!(lossy(&error), "{error}");
    let builder = || Producer::builder(&past.name);
    let error = builder().restore_or_begin(&[past.dir.path()]).unwrap_err();
    assert!(lossy(&error), "{error}");
    let refused = |error: &RestoreError| {
        let RestoreError::Lossy { step, fields, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((*step, fields.as_slice()), (30, &["t".to_owned()][..]));
    };
    let state = open(&past.file(30));
    refused(&rebuild(builder(), &state).unwrap_err());
    let state = state.allow_lossy();
    let mut p = rebuild(builder(), &state).unwrap();
    let t = p.view(p.handle::<f64, Ix2>("t").unwrap()).unwrap();
    let mut changed = 0;
    for ((i, j), t) in t.indexed_iter() {
        let exact = (i * 100 + j) as f64 + 1.0;
        assert!((t - exact).abs() <= bound * exact, "{t} for {exact}");
        changed += usize::from(*t != exact);
    }
    assert!(changed > 0);
    // Versions after the restart are exact again.
    p.publish_visible(40, 4.0).unwrap();
    let version = Observer::attach(&past.name).unwrap().latest().unwrap();
    assert_eq!(version.table().relative_error(), None);
    refused(&p.load(&open(&past.file(30))).unwrap_err());
    assert_eq!(p.load(&state).unwrap().step, 30);
}

#[test]
fn restore_fails_if_the_region_exists_or_nothing_is_found() {
    let past = Past::new();
    let lives = Producer::restore(&[past.dir.path()]).unwrap();
    let error = Producer::restore(&[past.dir.path()]).unwrap_err();
    let in_use = |e: &RestoreError| matches!(e, RestoreError::Create(CreateError::InUse { .. }));
    assert!(in_use(&error), "{error}");
    check(&lives.producer, 2);
    let empty = TempDir::new().unwrap();
    let error = Producer::restore(&[empty.path()]).unwrap_err();
    let none = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::NoneFound(_)));
    assert!(none(&error), "{error}");
    let error = Producer::restore_kept(&name("nobody")).unwrap_err();
    assert!(matches!(error, RestoreError::NotKept { .. }), "{error}");
    let error = Producer::restore_kept("../x").unwrap_err();
    assert!(matches!(error, RestoreError::Attach(_)), "{error}");
}

#[test]
fn load_fills_the_fields_of_a_program_including_handed_over_ones() {
    let past = Past::new();
    let state = open(&past.file(20));
    let builder = Producer::builder(&past.name).capacity(16 << 20);
    let mut p = builder.continue_from(&state).create().unwrap();
    let more = p.field::<u8, _>("more", [10]).add().unwrap();
    p.view_mut(more).unwrap().fill(3);
    let t = p
        .field::<f64, _>("t", [40, 50])
        .fortran_order()
        .handed_over();
    let t = t.add().unwrap();
    let missing = p.load(&state).unwrap_err();
    assert!(
        matches!(&missing, RestoreError::NoField { name, .. } if name == "nodes"),
        "{missing}"
    );
    let _nodes = p.raw::<Node>("nodes", NODES).add().unwrap();
    assert_eq!(p.load(&state).unwrap(), state.stamp());
    assert!(
        p.view(more).unwrap().iter().all(|x| *x == 3),
        "a field that is not in the state must not change"
    );
    assert_eq!(p.view(t).unwrap()[[3, 4]], 305.0);
    assert_eq!(p.publish_visible(20, 2.0).unwrap().version(), Some(3));
    let view = Observer::attach(&past.name).unwrap().latest().unwrap();
    let view = view.view().unwrap();
    assert_eq!(view.array::<f64>("t").unwrap()[[3, 4]], 305.0);
}

/// A state in which all bytes are 3. It must be read when the capture of a version has ended.
struct After<'a> {
    table: FieldTable,
    published: &'a Published,
}

impl State for After<'_> {
    fn region(&self) -> &str {
        "after"
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            version: 1,
            step: 10,
            time: 1.0,
        }
    }

    fn table(&self) -> &FieldTable {
        &self.table
    }

    fn extent(&self) -> Option<Extent> {
        None
    }

    fn read(&self, _: &str, bytes: &mut [u8]) -> Result<(), RestoreError> {
        assert!(self.published.is_visible(), "fields are still protected");
        bytes.fill(3);
        Ok(())
    }
}

#[test]
fn load_waits_for_the_end_of_a_capture() {
    let (name, bytes) = (name("after"), 2 * CHUNK_PAGES * page_size());
    let builder = Producer::builder(&name).capacity(bytes);
    let builder = builder.capture(CaptureMode::Deferred);
    let mut p = builder.no_kernel_writes(true).create().unwrap();
    let a = p.field::<u8, _>("a", [bytes]).add().unwrap();
    p.view_mut(a).unwrap().fill(1);
    p.publish_visible(0, 0.0).unwrap();
    let table = Observer::attach(&name).unwrap().latest().unwrap();
    let table = table.table().clone();
    p.view_mut(a).unwrap().fill(2);
    let _held = hold_copiers();
    let Receipt::Published(published) = p.publish(1, 1.0).unwrap() else {
        panic!("nothing was published");
    };
    assert_eq!(published.deferred, 2 * CHUNK_PAGES as u64);
    assert!(!published.is_visible());
    let published = &published;
    p.load(&After { table, published }).unwrap();
    assert!(p.view(a).unwrap().iter().all(|byte| *byte == 3));
}

#[test]
fn fields_that_differ_are_refused_before_anything_is_written() {
    let past = Past::new();
    let state = open(&past.file(20));
    type Add = fn(&mut Producer);
    let others: [(&str, Add); 3] = [
        ("shape", |p| {
            let t = p.field::<f64, _>("t", [50, 40]).fortran_order();
            t.add().map(drop).unwrap();
        }),
        ("dtype", |p| {
            let t = p.field::<i64, _>("t", [40, 50]).fortran_order();
            t.add().map(drop).unwrap();
        }),
        ("order", |p| {
            let t = p.field::<f64, _>("t", [40, 50]);
            t.add().map(drop).unwrap();
        }),
    ];
    for (expected, add) in others {
        let mut p = Producer::builder(&name("other"))
            .capacity(1 << 20)
            .create()
            .unwrap();
        let nodes = p.raw::<Node>("nodes", NODES).add().unwrap();
        add(&mut p);
        let error = p.load(&state).unwrap_err();
        let RestoreError::OtherField { name, what, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!((name.as_str(), *what), ("t", expected), "{error}");
        assert!(p.raw_mut(nodes).unwrap().iter().all(|n| n.value == 0));
    }
}
