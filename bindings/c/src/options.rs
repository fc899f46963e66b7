//! The options of a region.

use crate::attrs::{Attrs, values};
use crate::border::{Out, Text};
use crate::call::call;
use crate::constants::{flag, unsigned};
use crate::handles::{Handle, give, object};
use crate::status::Failure;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_int;
use tcasm_core::field::Attr;
use tcasm_producer::{Access, Builder, CaptureMode, Extent, Group};

/// The most versions that may be alive at once [8].
pub const TCASM_VERSIONS: c_int = 1;
/// How many of the newest versions stay available although nobody holds them [1].
pub const TCASM_HISTORY: c_int = 2;
/// The number of the first version [1].
pub const TCASM_FIRST_VERSION: c_int = 3;
/// The most memory that versions may take, in bytes [a bound that depends on the machine].
pub const TCASM_MEMORY: c_int = 4;
/// When densely written fields are copied: `TCASM_CAPTURE_AUTO` and the like.
pub const TCASM_CAPTURE: c_int = 5;
/// 1: publish waits for the end of the last capture instead of skipping [0].
pub const TCASM_WAIT_FOR_CAPTURE: c_int = 6;
/// 1: the program promises that no system call writes into fields between publish and
/// `tcasm_wait_captured` [0].
pub const TCASM_NO_KERNEL_WRITES: c_int = 7;
/// The most observers at once [64].
pub const TCASM_MAX_OBSERVERS: c_int = 8;
/// The address of the region, a multiple of 2 MiB [chosen from the name].
pub const TCASM_BASE: c_int = 9;
/// The number of threads that copy, at most 256 [chosen from the number of processors].
pub const TCASM_COPIERS: c_int = 10;
/// 1: every user who can reach the socket of the region may observe [0].
pub const TCASM_ALLOW_EVERYONE: c_int = 11;

/// Copy inside publish or after it, whichever takes less of the program's time.
pub const TCASM_CAPTURE_AUTO: c_int = 0;
/// Copy inside publish.
pub const TCASM_CAPTURE_INLINE: c_int = 1;
/// Copy after publish, wherever that is possible.
pub const TCASM_CAPTURE_DEFERRED: c_int = 2;

/// The options of a region that is not created yet.
#[derive(Clone, Default)]
pub struct Settings {
    numbers: BTreeMap<c_int, i64>,
    attrs: BTreeMap<String, Attr>,
    group: Option<Group>,
    extent: Option<Extent>,
}

/// The options of a region, to be used for any number of regions.
#[derive(Default)]
pub struct Options(Mutex<Settings>);
object!(Options, "options", 2);

impl Options {
    /// Places the region.
    pub fn set_extent(&self, extent: Extent) {
        self.0.lock().extent = Some(extent);
    }
}

/// Makes options that have their defaults. `tcasm_options_free` ends them.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_new(options: Out<Handle<Options>>) -> c_int {
    call(|| give(&options, || Ok(Options::default())))
}

/// Ends options. Regions that were created with them stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_free(options: Handle<Options>) -> c_int {
    call(|| options.remove().map(drop))
}

/// Sets an option: `TCASM_VERSIONS` and the like.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set(options: Handle<Options>, option: c_int, value: i64) -> c_int {
    call(|| {
        let options = options.get()?;
        apply(tcasm_producer::Producer::builder("x"), option, value)?;
        options.0.lock().numbers.insert(option, value);
        Ok(())
    })
}

/// Sets the attributes of the region: a copy of those that the list has now.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set_attrs(options: Handle<Options>, attrs: Handle<Attrs>) -> c_int {
    call(|| {
        options.get()?.0.lock().attrs = values(attrs)?;
        Ok(())
    })
}

/// Makes the region that of one rank of a group: its name becomes `NAME.RANK`. `local_ranks` is the
/// number of ranks on this host, of `ranks` in all. `run` names the run, in all ranks alike, and
/// may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set_group(
    options: Handle<Options>,
    rank: u32,
    ranks: u32,
    local_ranks: u32,
    run: Text,
) -> c_int {
    call(|| {
        let group = Group::new(rank, ranks).local_ranks(local_ranks);
        let group = group.run(run.optional("the name of the run")?.unwrap_or(""));
        options.get()?.0.lock().group = Some(group);
        Ok(())
    })
}

/// Makes the region that of the rank that the launcher of this process tells in the environment
/// (Open MPI, MPICH, PMIx, Slurm; docs/jobs.md), with the name of the run. Without a launcher it is
/// the only rank.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set_group_from_env(options: Handle<Options>) -> c_int {
    call(|| {
        let group = Group::from_env().map_err(Failure::other)?;
        options.get()?.0.lock().group = Some(group);
        Ok(())
    })
}

/// Returns a builder with the options, or with the defaults if C passed null.
pub fn builder(name: &str, capacity: usize, options: Handle<Options>) -> Result<Builder, Failure> {
    let settings = options.optional()?.map(|o| o.0.lock().clone());
    let settings = settings.unwrap_or_default();
    let mut builder = tcasm_producer::Producer::builder(name).capacity(capacity);
    for (option, value) in settings.numbers {
        builder = apply(builder, option, value)?;
    }
    for (name, value) in settings.attrs {
        builder = builder.attr(&name, value);
    }
    if let Some(group) = settings.group {
        builder = builder.group(group);
    }
    Ok(match settings.extent {
        Some(extent) => builder.extent(extent),
        None => builder,
    })
}

fn apply(builder: Builder, option: c_int, value: i64) -> Result<Builder, Failure> {
    Ok(match option {
        TCASM_VERSIONS => builder.versions(unsigned(value, "TCASM_VERSIONS")?),
        TCASM_HISTORY => builder.history(unsigned(value, "TCASM_HISTORY")?),
        TCASM_FIRST_VERSION => builder.first_version(unsigned(value, "TCASM_FIRST_VERSION")?),
        TCASM_MEMORY => builder.memory(unsigned(value, "TCASM_MEMORY")?),
        TCASM_CAPTURE => builder.capture(capture(value)?),
        TCASM_WAIT_FOR_CAPTURE => builder.wait_for_capture(flag(value, "TCASM_WAIT_FOR_CAPTURE")?),
        TCASM_NO_KERNEL_WRITES => builder.no_kernel_writes(flag(value, "TCASM_NO_KERNEL_WRITES")?),
        TCASM_MAX_OBSERVERS => builder.max_observers(unsigned(value, "TCASM_MAX_OBSERVERS")?),
        TCASM_BASE => builder.base(unsigned(value, "TCASM_BASE")?),
        TCASM_COPIERS => builder.copiers(copiers(value)?),
        TCASM_ALLOW_EVERYONE => match flag(value, "TCASM_ALLOW_EVERYONE")? {
            true => builder.allow(Access::Everyone),
            false => builder.allow(Access::SameUser),
        },
        _ => {
            return Err(Failure::argument(format!(
                "{option} is no option of a region"
            )));
        }
    })
}

/// The most threads that copy for a region.
const MOST_COPIERS: usize = 256;

fn copiers(value: i64) -> Result<usize, Failure> {
    match unsigned(value, "TCASM_COPIERS")? {
        copiers if copiers <= MOST_COPIERS => Ok(copiers),
        _ => Err(Failure::argument(format!(
            "TCASM_COPIERS is {value}, and can be {MOST_COPIERS} at most"
        ))),
    }
}

fn capture(value: i64) -> Result<CaptureMode, Failure> {
    match c_int::try_from(value) {
        Ok(TCASM_CAPTURE_AUTO) => Ok(CaptureMode::Auto),
        Ok(TCASM_CAPTURE_INLINE) => Ok(CaptureMode::Inline),
        Ok(TCASM_CAPTURE_DEFERRED) => Ok(CaptureMode::Deferred),
        _ => Err(Failure::argument(format!(
            "TCASM_CAPTURE cannot be {value}"
        ))),
    }
}
