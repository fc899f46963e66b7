//! Runs that continue from their last state.

use std::ffi::{c_char, c_int};
use tcasm_c::border::{Count, Growing, List, Out, Plain, Sized, Text};
use tcasm_c::call::call;
use tcasm_c::handles::{Handle, give};
use tcasm_c::options::{Options, builder};
use tcasm_c::producer::Producer;
use tcasm_c::status::Failure;
use tcasm_restart::{Continue, RestoreError, Start};

/// How a run started. Set `size` to `sizeof(tcasm_start)` before the call
/// (`tcasm_start s = TCASM_INIT(tcasm_start);`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct tcasm_start {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// 1 if the region has the fields, meshes and values of an earlier start, and 0 if it is new.
    pub restored: u64,
    /// The number of the version that it has, or 0.
    pub version: u64,
    /// The step of the simulation, or 0.
    pub step: u64,
    /// The time of the simulation, or 0.
    pub time: f64,
}

impl Plain for tcasm_start {}
impl Growing for tcasm_start {
    const FIRST: usize = 40;
}

/// Creates the region `name` like `tcasm_create`, with its fields, meshes and values as they were:
/// from the memory that `tcasm keep` holds of a dead producer, or from the newest checkpoint of
/// this name in `count` folders that can be read. Without either, creates a new region. `folders`
/// are the tiers of a run, fastest first; without any, only memory is tried. `start` tells which it
/// was.
///
/// A restored region lies at its old address. `tcasm_live` gives its fields, and `tcasm_add_field`
/// adds more. A folder that is missing or cannot be read is an error, and so are checkpoints that
/// cannot be used: a run begins anew only where there surely is no state.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_restore_or_begin(
    name: Text,
    capacity: usize,
    options: Handle<Options>,
    folders: List<*const c_char>,
    count: Count,
    start: Sized<tcasm_start>,
    producer: Out<Handle<Producer>>,
) -> c_int {
    call(|| {
        start.check("tcasm_start")?;
        let builder = builder(name.get("the name of the region")?, capacity, options)?;
        let folders = folders.texts(&count, "the list of folders")?;
        give(&producer, || {
            let (made, told) = match builder.restore_or_begin(&folders).map_err(failed)? {
                Start::New(made) => (made, tcasm_start::default()),
                Start::Restored(last) => (
                    last.producer,
                    tcasm_start {
                        size: size_of::<tcasm_start>(),
                        restored: 1,
                        version: last.stamp.version,
                        step: last.stamp.step,
                        time: last.stamp.time,
                    },
                ),
            };
            start.set(&told, "tcasm_start")?;
            Ok(Producer::new(made))
        })
    })
}

/// Returns the failure of an error, with the status that its cause has elsewhere.
fn failed(error: RestoreError) -> Failure {
    match error {
        RestoreError::Create(error) => error.into(),
        RestoreError::Define(error) => error.into(),
        RestoreError::Attach(error) => error.into(),
        RestoreError::Observe(error) => error.into(),
        error => Failure::other(error),
    }
}
