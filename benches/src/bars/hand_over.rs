//! A field that is handed over. Each step computes its 512 MiB from another array.
//!
//! Steps in ordinary memory and steps that publish the field take turns.

use super::bar::{Bar, Unit};
use crate::plain::huge_array;
use crate::samples::Samples;
use crate::workload::BYTES;
use ndarray::{Array1, ArrayViewMut1, Zip};
use tcasm_observer::Observer;
use tcasm_producer::{Field, HandedOver, Producer, Receipt};

const ROUNDS: usize = 40;

fn compute(from: &Array1<f64>, into: ArrayViewMut1<'_, f64>, step: usize) {
    Zip::from(from).map_assign_into(into, |x| x * 0.5 + step as f64);
}

/// Measures publish, the bytes that it copies, and the time that it adds to the step.
pub fn measure() -> Vec<Bar> {
    let n = BYTES / 8;
    let name = format!("bars-hand-over-{}", std::process::id());
    let builder = Producer::builder(&name).capacity(n * 16 + (8 << 20));
    let builder = builder.memory(8 * BYTES as u64).check_hand_over(false);
    let mut p = builder.create().expect("a region");
    let field: Field<f64, _, HandedOver> =
        p.field("field", [n]).handed_over().add().expect("a field");
    let (from, mut plain) = (huge_array(n), huge_array(n));
    let observer = Observer::attach(&name).expect("an observer");
    let [mut in_memory, mut handed, mut publish] = std::array::from_fn(|_| Samples::default());
    let mut copied = 0;
    for step in 0..ROUNDS + 5 {
        if step == 5 {
            // All memory has been touched by now, so counting begins.
            (in_memory, handed, publish, copied) = Default::default();
        }
        in_memory.time(|| compute(&from, plain.view_mut(), step));
        let receipt = handed.time(|| {
            let view = p.rewrite(field).expect("the field");
            Zip::from(&from).map_assign_into(view, |x| x * 0.5 + step as f64);
            p.publish(step as u64, 0.0).expect("published")
        });
        let Receipt::Published(receipt) = receipt else {
            panic!("{receipt:?}");
        };
        publish.add(receipt.duration);
        copied += receipt.bytes;
    }
    drop(observer);
    let added = (handed.median() / in_memory.median() - 1.0) * 100.0;
    vec![
        Bar::time("publish of 512 MiB that are handed over", &publish, 300.0),
        Bar::new("the same: bytes copied", copied as f64, 0.0, Unit::Count),
        Bar::new("the same: added to the step", added, 2.0, Unit::Percent),
    ]
}
