//! The mode `hand-over` of TCASM: two handed-over buffers take turns, and their pages become those
//! of the versions without a copy.
//!
//! Each step computes in other memory than the step before. So the pages that it will not rewrite
//! are copied from the buffer of the step before.

use super::carry_over::carry_over;
use super::method::{Method, Source};
use super::region::{self, FIELD};
use crate::case::Case;
use crate::failure::Failure;
use ndarray::Ix1;
use tcasm_producer::{Buffer, DefineError, Field, HandedOver, Producer};

struct HandOverSource {
    producer: Producer,
    field: Field<u8, Ix1, HandedOver>,
    now: Buffer<u8, Ix1, HandedOver>,
    next: Buffer<u8, Ix1, HandedOver>,
}

/// Creates a producer with two handed-over buffers.
pub fn source(method: &dyn Method, case: &Case) -> Result<Box<dyn Source>, Failure> {
    // A handed-over buffer begins at a multiple of 2 MiB.
    let room = 2 * case.bytes().next_multiple_of(2 << 20);
    let mut producer = region::create(method, &case.mode, room)?;
    let defined = define(&mut producer, case.bytes());
    let (field, next) = defined.map_err(Failure::method("defining the field"))?;
    Ok(Box::new(HandOverSource {
        producer,
        field,
        now: field.buffer(),
        next,
    }))
}

type Defined = (Field<u8, Ix1, HandedOver>, Buffer<u8, Ix1, HandedOver>);

fn define(producer: &mut Producer, bytes: usize) -> Result<Defined, DefineError> {
    let field = producer
        .field::<u8, _>(FIELD, [bytes])
        .handed_over()
        .add()?;
    Ok((field, producer.buffer_like(field)?))
}

impl Source for HandOverSource {
    fn memory(&mut self) -> &mut [u8] {
        let view = self.producer.view_mut(self.next).ok();
        view.and_then(|v| v.into_slice()).unwrap_or_default()
    }

    fn begin(&mut self, rewritten: &[usize]) -> Result<(), Failure> {
        let begun = self.producer.rewrite(self.next).map(|_| ());
        begun.map_err(Failure::method("beginning to rewrite"))?;
        let views = self.producer.views_mut((self.now.read(), self.next));
        let (now, next) = views.map_err(Failure::method("viewing"))?;
        if let (Some(now), Some(next)) = (now.to_slice(), next.into_slice()) {
            carry_over(now, next, rewritten);
        }
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let bound = self.producer.bind(self.field, self.next).map(|_| ());
        bound.map_err(Failure::method("binding the field"))?;
        let receipt = self.producer.publish(step, step as f64);
        let receipt = receipt.map_err(Failure::method("publishing"))?;
        std::mem::swap(&mut self.now, &mut self.next);
        Ok(receipt.version().is_some())
    }
}
