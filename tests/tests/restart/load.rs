//! States that are loaded into the fields of a program.

use super::{NODES, Node, Past, open};
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::fault::hold_copiers;
use tcasm_observer::Observer;
use tcasm_producer::{CaptureMode, Extent, Producer, Published, Receipt};
use tcasm_restart::{Continue, Load, RestoreError, State};
use tcasm_tests::{PublishVisible, name};

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
