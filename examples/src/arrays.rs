//! The arrays of the simulation in a region: u and v as they are, and as they will be after the next step.

use clap::ValueEnum;
use ndarray::{ArrayView3, ArrayViewMut3, Ix3};
use tcasm_producer::{Buffer, DefineError, Field, HandedOver, InPlace, Producer, ViewError};

/// How versions come by what was computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Capture {
    /// Hand the arrays over: each step writes all of them, so that versions can have their pages without a copy
    HandOver,
    /// Copy what was written: what a code does that rewrites its arrays in part
    Copy,
}

/// Bytes of region that a field of `bytes` bytes needs: handed-over ones begin at multiples of 2 MiB.
pub fn room_for(bytes: usize) -> usize {
    2 * bytes.next_multiple_of(2 << 20)
}

/// u and v, and room for what they will be.
pub trait Arrays {
    /// u and v as they are.
    fn initial<'p>(
        &self,
        producer: &'p mut Producer,
    ) -> Result<[ArrayViewMut3<'p, f64>; 2], ViewError>;

    /// u and v as they are, and room for what they will be.
    fn views<'p>(&self, producer: &'p mut Producer) -> Result<Views<'p>, ViewError>;

    /// The next version shows what was computed.
    fn show(&self, producer: &mut Producer) -> Result<(), DefineError>;

    /// What was computed is what is now.
    fn swap(&mut self);
}

/// u, v, u_next, v_next.
pub type Views<'p> = (
    ArrayView3<'p, f64>,
    ArrayView3<'p, f64>,
    ArrayViewMut3<'p, f64>,
    ArrayViewMut3<'p, f64>,
);

/// What has to be done to a buffer before it is written.
type Begin<M> = fn(&mut Producer, Buffer<f64, Ix3, M>) -> Result<(), ViewError>;

struct Double<M> {
    fields: [Field<f64, Ix3, M>; 2],
    now: [Buffer<f64, Ix3, M>; 2],
    next: [Buffer<f64, Ix3, M>; 2],
    begin: Begin<M>,
}

/// Two fields of `shape`, each with two buffers.
pub fn create(
    producer: &mut Producer,
    shape: [usize; 3],
    capture: Capture,
) -> Result<Box<dyn Arrays>, DefineError> {
    match capture {
        Capture::HandOver => {
            let u = producer.field("u", shape).unit("1").handed_over().add()?;
            let v = producer.field("v", shape).unit("1").handed_over().add()?;
            // Other pages, if a version has those that the buffer has.
            double::<HandedOver>(producer, [u, v], |p, next| p.rewrite(next).map(|_| ()))
        }
        Capture::Copy => {
            let u = producer.field("u", shape).unit("1").add()?;
            let v = producer.field("v", shape).unit("1").add()?;
            double::<InPlace>(producer, [u, v], |_, _| Ok(()))
        }
    }
}

fn double<M: 'static>(
    producer: &mut Producer,
    fields: [Field<f64, Ix3, M>; 2],
    begin: Begin<M>,
) -> Result<Box<dyn Arrays>, DefineError> {
    let [u, v] = fields;
    Ok(Box::new(Double {
        fields,
        now: [u.buffer(), v.buffer()],
        next: [producer.buffer_like(u)?, producer.buffer_like(v)?],
        begin,
    }))
}

impl<M> Arrays for Double<M> {
    fn initial<'p>(
        &self,
        producer: &'p mut Producer,
    ) -> Result<[ArrayViewMut3<'p, f64>; 2], ViewError> {
        producer.views_mut(self.now)
    }

    fn views<'p>(&self, producer: &'p mut Producer) -> Result<Views<'p>, ViewError> {
        for next in self.next {
            (self.begin)(producer, next)?;
        }
        let ([u, v], [u_next, v_next]) = (self.now.map(Buffer::read), self.next);
        producer.views_mut((u, v, u_next, v_next))
    }

    fn show(&self, producer: &mut Producer) -> Result<(), DefineError> {
        for (field, next) in self.fields.into_iter().zip(self.next) {
            producer.bind(field, next)?;
        }
        Ok(())
    }

    fn swap(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }
}
