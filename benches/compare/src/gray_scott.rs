//! A real simulation: the Gray-Scott solver of the examples.
//!
//! It runs in a region of TCASM, where every step is published, and in plain arrays, where no step
//! is published.

use crate::case::Case;
use crate::failure::Failure;
use crate::follow::follow;
use crate::held;
use crate::methods;
use crate::methods::region::{self, HAND_OVER};
use crate::methods::tcasm::TcasmSink;
use crate::score::Score;
use crate::simulation::Simulation;
use ndarray::{Array3, ArrayView3, Ix3};
use tcasm_examples::arrays::{self, Arrays, Capture, room_for};
use tcasm_examples::{GrayScott, Params, checksum};
use tcasm_producer::Producer;

/// Returns the number of cells along each side. The four arrays (two fields, current and next) have
/// about as many bytes as the case asks for.
fn side(case: &Case) -> usize {
    ((case.bytes() / 32) as f64).cbrt().floor().max(4.0) as usize
}

/// The solver in both kinds of memory.
pub struct Run {
    solver: GrayScott,
    plain: [Array3<f64>; 4],
    producer: Producer,
    arrays: Box<dyn Arrays>,
    score: Score,
    own_bytes: u64,
}

impl Run {
    /// Creates the state before the first step, in both kinds of memory.
    pub fn new(case: &Case) -> Result<Self, Failure> {
        let shape = [side(case); 3];
        let solver = GrayScott::new(Params::default());
        let mut plain = [(); 4].map(|()| Array3::from_elem(shape, 1.0));
        let [u, v, ..] = &mut plain;
        solver.initialise(u.view_mut(), v.view_mut());
        let own_bytes = held::bytes(std::process::id() as i32, &case.dir)?;
        let room = 2 * room_for(plain[0].len() * size_of::<f64>());
        let mut producer = region::create(methods::find(&case.method)?, &case.mode, room)?;
        let capture = match case.mode.as_str() {
            HAND_OVER => Capture::HandOver,
            _ => Capture::Copy,
        };
        let arrays = arrays::create(&mut producer, shape, capture);
        let arrays = arrays.map_err(Failure::method("defining the fields"))?;
        let [u, v] = arrays
            .initial(&mut producer)
            .map_err(Failure::method("viewing"))?;
        solver.initialise(u, v);
        Ok(Run {
            solver,
            plain,
            producer,
            arrays,
            score: Score::open(&case.path("score"))?,
            own_bytes,
        })
    }
}

impl Simulation for Run {
    fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    fn bare_step(&mut self, step: u64) {
        let [u, v, u_next, v_next] = self.plain.each_mut().map(|a| a.view_mut());
        self.solver
            .step(u.view(), v.view(), u_next, v_next, step + 1);
        self.plain.rotate_left(2);
    }

    fn note(&mut self, step: u64) {
        let [u, v, ..] = &self.plain;
        let sum = checksum_of_both(u.view(), v.view());
        self.score.expect(step, sum);
    }

    fn step(&mut self, step: u64) -> Result<(), Failure> {
        let views = self.arrays.views(&mut self.producer);
        let (u, v, u_next, v_next) = views.map_err(Failure::method("viewing"))?;
        self.solver.step(u, v, u_next, v_next, step + 1);
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let shown = self.arrays.show(&mut self.producer);
        shown.map_err(Failure::method("binding the fields"))?;
        let receipt = self.producer.publish(step, self.solver.time(step + 1));
        let receipt = receipt.map_err(Failure::method("publishing"))?;
        self.arrays.swap();
        Ok(receipt.version().is_some())
    }
}

fn checksum_of_both(u: ArrayView3<'_, f64>, v: ArrayView3<'_, f64>) -> u64 {
    checksum(u).rotate_left(1) ^ checksum(v)
}

/// Runs observer `observer` of this simulation. It computes a checksum over every bit of each
/// version and compares it with the checksum of the plain arrays.
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
