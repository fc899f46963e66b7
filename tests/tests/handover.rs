//! Fields that are handed over: what versions show, what costs nothing, what is refused, what survives.

use ndarray::Ix1;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::Observer;
use tcasm_producer::{Field, HandedOver, Producer, Receipt, Skip, ViewError};
use tcasm_tests::{name, runtime_dir};

const BYTES: usize = 3 << 20;

type Lent = Field<u64, Ix1, HandedOver>;

fn region(stem: &str) -> (Producer, Lent) {
    runtime_dir();
    let builder = Producer::builder(&name(stem)).capacity(16 << 20).versions(6);
    let mut p = builder.create().unwrap();
    let field = p
        .field::<u64, _>("u", [BYTES / 8])
        .handed_over()
        .add()
        .unwrap();
    (p, field)
}

fn fill(p: &mut Producer, field: Lent, value: u64) {
    let mut view = p.rewrite(field).unwrap();
    view.iter_mut().for_each(|x| x.write(value));
}

#[test]
fn a_version_has_the_pages_without_a_copy_and_keeps_them_through_later_rewritings() {
    let (mut p, field) = region("handed");
    let mut observer = Observer::attach(p.name()).unwrap();
    let mut held = Vec::new();
    for step in 1..=20u64 {
        fill(&mut p, field, step);
        let Receipt::Published(receipt) = p.publish(step, 0.0).unwrap() else {
            panic!()
        };
        assert_eq!((receipt.bytes, receipt.handed_over), (0, 768));
        if step == 3 || step == 7 {
            held.push((step, observer.latest().unwrap()));
        }
        assert!(p.view(field).unwrap().iter().all(|x| *x == step));
        for (step, version) in &held {
            let view = version.view().unwrap();
            assert!(view.array::<u64>("u").unwrap().iter().all(|x| x == step));
        }
        assert!(p.check_store().unwrap());
    }
    assert_eq!(p.stats().handed_over, 20 * 768);
    assert_eq!(p.stats().bytes, 0);
}
