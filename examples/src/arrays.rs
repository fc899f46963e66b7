//! The arrays of the simulation in a region: u and v of the current step and of the next step.

use crate::planes::Planes;
use clap::ValueEnum;
use ndarray::{ArrayView3, ArrayViewMut3, Ix3};
use tcasm_producer::{
    Buffer, DefineError, Field, FieldBuilder, HandedOver, InPlace, Producer, ViewError,
};

/// How the computed arrays become part of a version.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Capture {
    /// Hand the arrays over: their pages become pages of the version, without a copy. This needs
    /// steps that write the arrays whole
    HandOver,
    /// Copy the pages that were written, for codes that rewrite their arrays in part
    Copy,
}

/// Returns the bytes of region that two buffers of `bytes` bytes need. Buffers that are handed over
/// begin at multiples of 2 MiB.
pub fn room_for(bytes: usize) -> usize {
    2 * bytes.next_multiple_of(2 << 20)
}

/// The arrays u and v of the current step, and those of the next step.
pub trait Arrays {
    /// Returns u and v, to set their initial values.
    fn initial<'p>(
        &self,
        producer: &'p mut Producer,
    ) -> Result<[ArrayViewMut3<'p, f64>; 2], ViewError>;

    /// Returns u and v of the current step, and the arrays for the next step, to be written whole.
    fn views<'p>(&self, producer: &'p mut Producer) -> Result<Views<'p>, ViewError>;

    /// Binds the fields to the arrays of the next step, which the next version then shows.
    fn show(&self, producer: &mut Producer) -> Result<(), DefineError>;

    /// Makes the next step the current one.
    fn swap(&mut self);
}

/// The views of u, v, u_next and v_next.
pub type Views<'p> = (
    ArrayView3<'p, f64>,
    ArrayView3<'p, f64>,
    ArrayViewMut3<'p, f64>,
    ArrayViewMut3<'p, f64>,
);

/// Prepares a buffer to be written.
type Begin<M> = fn(&mut Producer, Buffer<f64, Ix3, M>) -> Result<(), ViewError>;

struct Double<M> {
    fields: [Field<f64, Ix3, M>; 2],
    now: [Buffer<f64, Ix3, M>; 2],
    next: [Buffer<f64, Ix3, M>; 2],
    begin: Begin<M>,
}

/// Creates two fields of `shape`, each with two buffers.
pub fn create(
    producer: &mut Producer,
    shape: [usize; 3],
    capture: Capture,
) -> Result<Box<dyn Arrays>, DefineError> {
    create_described(producer, shape, capture, |field| field)
}

/// Creates two fields that hold some planes of a grid, as blocks of global arrays. Each has two
/// buffers, with the ghost planes.
pub fn create_planes(
    producer: &mut Producer,
    planes: Planes,
    capture: Capture,
) -> Result<Box<dyn Arrays>, DefineError> {
    create_described(producer, planes.shape_with_ghosts(), capture, |field| {
        let field = field.ghosts(&[[1, 1], [0, 0], [0, 0]]);
        field.global(planes.grid).at([planes.first, 0, 0])
    })
}

/// A field that is not added yet.
type Described<'p> = FieldBuilder<'p, f64, Ix3>;

fn create_described(
    producer: &mut Producer,
    shape: [usize; 3],
    capture: Capture,
    describe: impl Fn(Described<'_>) -> Described<'_>,
) -> Result<Box<dyn Arrays>, DefineError> {
    match capture {
        Capture::HandOver => {
            let u = describe(producer.field("u", shape).unit("1")).handed_over();
            let u = u.add()?;
            let v = describe(producer.field("v", shape).unit("1")).handed_over();
            let v = v.add()?;
            // A version may own the pages that the buffer had: `rewrite` gives it other pages.
            double::<HandedOver>(producer, [u, v], |p, next| p.rewrite(next).map(|_| ()))
        }
        Capture::Copy => {
            let u = describe(producer.field("u", shape).unit("1")).add()?;
            let v = describe(producer.field("v", shape).unit("1")).add()?;
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
