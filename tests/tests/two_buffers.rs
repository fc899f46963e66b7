//! A program that computes in two buffers in turn, and binds one of them to the field.

use tcasm_producer::{Buffer, Producer};
use tcasm_tests::{PublishVisible, name, page_faults};

const PAGES: usize = 2048;
const BYTES: usize = PAGES * 4096;

type Bytes = Buffer<u8, ndarray::Ix1>;

/// Writes the whole buffer. Returns the number of page faults.
fn fill(p: &mut Producer, buffer: Bytes, value: u8) -> i64 {
    let before = page_faults();
    p.view_mut(buffer).unwrap().fill(value);
    page_faults() - before
}

#[test]
fn dirty_buffer_that_is_bound_to_no_field_does_not_fault_again() {
    let name = name("two-buffers");
    let builder = Producer::builder(&name).capacity(2 * BYTES + (4 << 20));
    let mut p = builder.create().unwrap();
    let field = p.field::<u8, _>("f", [BYTES]).add().unwrap();
    let (shown, other) = (field.buffer(), p.buffer_like(field).unwrap());
    let mut faults = Vec::new();
    for step in 1..=8 {
        faults.push(fill(&mut p, other, step));
        fill(&mut p, shown, step);
        p.publish_visible(u64::from(step), 0.0).unwrap();
    }
    // The first writes take the memory.
    let most = faults[2..].iter().max().unwrap();
    assert!(*most < 100, "{faults:?} faults for {PAGES} pages");
    // Nothing that was written meanwhile is lost when the buffer is bound, nor later.
    let mut observer = tcasm_observer::Observer::attach(&name).unwrap();
    for step in 9..=12 {
        fill(&mut p, other, step - 1);
        p.view_mut(other).unwrap()[4096 * usize::from(step)] = 77;
        p.bind(field, other).unwrap();
        p.publish_visible(u64::from(step), 0.0).unwrap();
        let version = observer.latest().unwrap();
        let view = version.view().unwrap();
        let bytes = view.bytes("f").unwrap();
        let expected = |i: usize| {
            if i == 4096 * usize::from(step) {
                77
            } else {
                step - 1
            }
        };
        let wrong = (0..BYTES).find(|i| bytes[*i] != expected(*i));
        assert_eq!(wrong, None, "in step {step}");
    }
}
