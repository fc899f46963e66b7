//! A real simulation: the Gray-Scott solver of the examples, in a region of TCASM with every step published, and in plain
//! arrays with none.

use crate::case::Case;
use crate::failure::Failure;
use crate::held;
use crate::methods;
use crate::methods::tcasm::{TcasmSink, region};
use crate::roles::observe::follow;
use crate::roles::produce::Simulation;
use crate::score::Score;
use ndarray::{Array3, ArrayView3, ArrayViewMut3, Ix3};
use tcasm_examples::{GrayScott, Params, checksum};
use tcasm_producer::{Buffer, DefineError, Field, Producer};

/// Cells along each side, so that the four arrays (two fields, now and next) have the bytes of the case.
fn side(case: &Case) -> usize {
    ((case.bytes() / 32) as f64).cbrt().floor().max(4.0) as usize
}

/// The solver in both kinds of memory.
pub struct Run {
    solver: GrayScott,
    plain: [Array3<f64>; 4],
    producer: Producer,
    fields: [Field<f64, Ix3>; 2],
    buffers: [Buffer<f64, Ix3>; 4],
    score: Score,
    own_bytes: u64,
}

impl Run {
    /// The state before the first step, twice.
    pub fn new(case: &Case) -> Result<Self, Failure> {
        let shape = [side(case); 3];
        let solver = GrayScott::new(Params::default());
        let mut plain = [(); 4].map(|()| Array3::from_elem(shape, 1.0));
        initialise(&solver, plain.each_mut().map(|a| a.view_mut()));
        let own_bytes = held::bytes(std::process::id() as i32, &case.dir)?;
        let bytes = plain.iter().map(|a| a.len() * size_of::<f64>()).sum();
        let mut producer = region(methods::find(&case.method)?, &case.mode, bytes)?;
        let defined = define(&mut producer, shape);
        let (fields, buffers) = defined.map_err(Failure::method("defining the fields"))?;
        let views = producer
            .views_mut(buffers)
            .map_err(Failure::method("viewing"))?;
        initialise(&solver, views);
        Ok(Run {
            solver,
            plain,
            producer,
            fields,
            buffers,
            score: Score::open(&case.path("score"))?,
            own_bytes,
        })
    }
}

type Defined = ([Field<f64, Ix3>; 2], [Buffer<f64, Ix3>; 4]);

fn define(producer: &mut Producer, shape: [usize; 3]) -> Result<Defined, DefineError> {
    let u = producer.field::<f64, _>("u", shape).add()?;
    let v = producer.field::<f64, _>("v", shape).add()?;
    let next = [producer.buffer_like(u)?, producer.buffer_like(v)?];
    Ok(([u, v], [u.buffer(), v.buffer(), next[0], next[1]]))
}

fn initialise(solver: &GrayScott, [u, v, ..]: [ArrayViewMut3<'_, f64>; 4]) {
    solver.initialise(u, v);
}

fn advance(solver: &GrayScott, arrays: [ArrayViewMut3<'_, f64>; 4], step: u64) {
    let [u, v, u_next, v_next] = arrays;
    solver.step(u.view(), v.view(), u_next, v_next, step + 1);
}

impl Simulation for Run {
    fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    fn bare_step(&mut self, step: u64) {
        let arrays = self.plain.each_mut().map(|a| a.view_mut());
        advance(&self.solver, arrays, step);
        self.plain.rotate_left(2);
    }

    fn note(&mut self, step: u64) {
        let [u, v, ..] = &self.plain;
        let sum = checksum_of_both(u.view(), v.view());
        self.score.expect(step, sum);
    }

    fn step(&mut self, step: u64) -> Result<(), Failure> {
        let views = self
            .producer
            .views_mut(self.buffers)
            .map_err(Failure::method("viewing"))?;
        advance(&self.solver, views, step);
        self.buffers.rotate_left(2);
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        for (field, buffer) in self.fields.into_iter().zip(self.buffers) {
            self.producer
                .bind(field, buffer)
                .map_err(Failure::method("binding a field"))?;
        }
        let receipt = self.producer.publish(step, self.solver.time(step));
        let receipt = receipt.map_err(Failure::method("publishing"))?;
        Ok(receipt.version().is_some())
    }
}

fn checksum_of_both(u: ArrayView3<'_, f64>, v: ArrayView3<'_, f64>) -> u64 {
    checksum(u).rotate_left(1) ^ checksum(v)
}

/// Observe such a run: every bit of every version, by a checksum that the plain arrays must have as well.
pub fn observe(score: &Score, observer: usize) -> Result<(), Failure> {
    score.set_own_bytes(observer, held::anonymous_of(std::process::id() as i32)?);
    let mut sink = TcasmSink::attach()?;
    follow(&mut sink, score, observer, |sink, step| {
        let Some(view) = sink.view() else {
            return Ok(1);
        };
        let array = |name| {
            let array = view
                .array::<f64>(name)
                .map_err(Failure::method("viewing a field"))?;
            array
                .into_dimensionality::<Ix3>()
                .map_err(Failure::method("viewing a field"))
        };
        let seen = checksum_of_both(array("u")?, array("v")?);
        Ok(u64::from(seen != score.expected(step)))
    })
}
