//! Checkpoints by TCASM: the simulation publishes, and the separate process `tcasm checkpoint`
//! writes the files.

use super::methods::Method;
use super::simulation::{SHAPE, Work, compute, initialise};
use crate::outcome::Outcome;
use crate::programs::Program;
use ndarray::Array3;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_examples::arrays::{self, Arrays, Capture, room_for};
use tcasm_producer::Producer;

/// The longest time that a checkpoint may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The steps that are published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Publish {
    /// Every step, so that observers see all of them.
    Each,
    /// Only the steps whose checkpoint is to be written.
    Due,
}

/// The simulation in a region.
pub struct Tcasm {
    name: String,
    dir: PathBuf,
    publish: Publish,
    work: Work,
    /// The producer. It is dropped before `_writer`, because fields are dropped in order.
    producer: Producer,
    arrays: Box<dyn Arrays>,
    /// Step of the last checkpoint.
    step: u64,
    /// The program that writes checkpoints. It is killed when this value is dropped.
    _writer: Program,
}

impl Tcasm {
    /// Creates the simulation, and starts the program that writes a checkpoint to `dir` every
    /// `every` steps. `direct` is its option `--direct`.
    pub fn new(
        dir: &Path,
        (capture, publish, direct): (Capture, Publish, &str),
        every: u64,
        work: Work,
    ) -> Outcome<Self> {
        let kind = if publish == Publish::Each {
            "each"
        } else {
            "due"
        };
        let name = format!("checkpoints-{kind}-{}", std::process::id());
        let room = 2 * room_for(SHAPE.iter().product::<usize>() * size_of::<f64>());
        let mut producer = Producer::builder(&name).capacity(room).create()?;
        let arrays = arrays::create(&mut producer, SHAPE, capture)?;
        let [mut u, mut v] = arrays.initial(&mut producer)?;
        initialise(&mut u, &mut v);
        let (to, every) = (dir.display().to_string(), every.to_string());
        let args = [
            "checkpoint",
            &name,
            "--fast",
            &to,
            "--every-steps",
            &every,
            "--compress",
            "none",
            "--direct",
            direct,
            "--keep",
            "1",
        ];
        let writer = Program::start("tcasm", &args)?;
        Ok(Tcasm {
            name,
            dir: dir.to_owned(),
            publish,
            work,
            producer,
            arrays,
            step: 0,
            _writer: writer,
        })
    }

    fn path(&self) -> PathBuf {
        self.dir
            .join(format!("{}_{:08}.vtkhdf", self.name, self.step))
    }

    fn publish(&mut self, step: u64) -> Outcome<()> {
        let receipt = self.producer.publish(step, step as f64)?;
        match receipt.version() {
            Some(_) => Ok(()),
            None => Err(format!("step {step} is not published: {receipt:?}").into()),
        }
    }
}

impl Method for Tcasm {
    fn step(&mut self, step: u64) -> Outcome<()> {
        let (u, v, u_next, v_next) = self.arrays.views(&mut self.producer)?;
        compute(self.work, u, v, u_next, v_next, step);
        self.arrays.show(&mut self.producer)?;
        if self.publish == Publish::Each {
            self.publish(step)?;
        }
        self.arrays.swap();
        Ok(())
    }

    fn checkpoint(&mut self, step: u64) -> Outcome<()> {
        if self.publish == Publish::Due {
            self.publish(step)?;
        }
        self.step = step; // the writer decides by itself that this step is due
        Ok(())
    }

    fn is_complete(&mut self) -> Outcome<bool> {
        Ok(self.step == 0 || self.path().exists())
    }

    fn settle(&mut self) -> Outcome<PathBuf> {
        let start = Instant::now();
        while !self.is_complete()? {
            if start.elapsed() > TIMEOUT {
                return Err(format!("no {:?} after {TIMEOUT:?}", self.path()).into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(self.path())
    }

    fn state(&mut self) -> Outcome<[Array3<f64>; 2]> {
        let (u, v, ..) = self.arrays.views(&mut self.producer)?;
        Ok([u.to_owned(), v.to_owned()])
    }
}
