//! The options of a region.

use crate::attrs::{Attrs, values};
use crate::border::{Count, List, Out, Text};
use crate::call::call;
use crate::constants::{flag, unsigned};
use crate::handles::{Handle, give, object};
use crate::status::Failure;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::num::NonZeroU64;
use tcasm_core::field::Attr;
use tcasm_producer::{Access, Builder, CaptureMode, Extent, Group, HugePages, TrackerKind};

/// The most versions that may be alive at once [8].
pub const TCASM_VERSIONS: c_int = 1;
/// How many versions besides the newest stay available although nobody holds them [1].
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
/// The address of the region, a multiple of the page size [chosen from the name].
pub const TCASM_BASE: c_int = 9;
/// The number of threads that copy, at most 256 [chosen from the number of processors].
pub const TCASM_COPIERS: c_int = 10;
/// 1: every user who can reach the socket of the region may observe [0].
pub const TCASM_ALLOW_EVERYONE: c_int = 11;
/// How writes are tracked: `TCASM_TRACKER_UFFD_ASYNC` and the like [the best that works here].
pub const TCASM_TRACKER: c_int = 12;
/// 1: live memory that is not written for some versions is shared with the newest version [1].
pub const TCASM_SHARED_BACKING: c_int = 13;
/// The huge pages that live memory may consist of [`TCASM_HUGE_PAGES_TRANSPARENT`].
pub const TCASM_HUGE_PAGES: c_int = 14;
/// The nice value of threads that copy, -20 to 19 [that of the program].
pub const TCASM_COPIER_NICE: c_int = 15;
/// 1: wrong uses of handed-over fields are found, at some cost: a store at the wrong time ends the
/// program, and elements that are left out become NaN [0, and 1 in debug builds of the library].
pub const TCASM_CHECK_HAND_OVER: c_int = 16;
/// Steps that are multiples of this have room reserved for their versions, for jobs of many ranks
/// (docs/jobs.md). If the last capture still runs then, publish waits for its end [none].
pub const TCASM_RESERVE_FOR_EVERY: c_int = 17;

/// Copy inside publish or after it, whichever takes less of the program's time.
pub const TCASM_CAPTURE_AUTO: c_int = 0;
/// Copy inside publish.
pub const TCASM_CAPTURE_INLINE: c_int = 1;
/// Copy after publish, wherever that is possible.
pub const TCASM_CAPTURE_DEFERRED: c_int = 2;

/// Tracking by userfaultfd write protection in asynchronous mode. Needs Linux 6.7.
pub const TCASM_TRACKER_UFFD_ASYNC: c_int = 1;
/// Tracking by pages that the kernel copies on write.
pub const TCASM_TRACKER_COW: c_int = 2;
/// No tracking: each publish compares all bytes.
pub const TCASM_TRACKER_COMPARE: c_int = 3;

/// No huge pages.
pub const TCASM_HUGE_PAGES_OFF: c_int = 0;
/// The huge pages that the kernel makes where it can.
pub const TCASM_HUGE_PAGES_TRANSPARENT: c_int = 1;
/// Huge pages that an administrator has reserved (`vm.nr_hugepages`). It is an error if there are
/// too few. Each publish compares all bytes then.
pub const TCASM_HUGE_PAGES_RESERVED: c_int = 2;

/// The options of a region that is not created yet.
#[derive(Clone, Default)]
pub struct Settings {
    numbers: BTreeMap<c_int, i64>,
    attrs: BTreeMap<String, Attr>,
    group: Option<Group>,
    extent: Option<Extent>,
    processors: Vec<usize>,
    users: Option<Vec<u32>>,
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

/// Sets the processors on which threads that copy run [any].
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set_copier_affinity(
    options: Handle<Options>,
    processors: List<usize>,
    count: Count,
) -> c_int {
    call(|| {
        let processors = processors.get(&count, "the list of processors")?.to_vec();
        options.get()?.0.lock().processors = processors;
        Ok(())
    })
}

/// Lets these users observe, by their numbers, besides the user of the producer and root.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_allow_users(
    options: Handle<Options>,
    users: List<u32>,
    count: Count,
) -> c_int {
    call(|| {
        let users = users.get(&count, "the list of users")?.to_vec();
        options.get()?.0.lock().users = Some(users);
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
    if let Some(users) = settings.users {
        builder = builder.allow(Access::Users(users));
    }
    builder = builder.copier_affinity(&settings.processors);
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
        TCASM_TRACKER => builder.tracker(tracker(value)?),
        TCASM_SHARED_BACKING => builder.shared_backing(flag(value, "TCASM_SHARED_BACKING")?),
        TCASM_HUGE_PAGES => builder.huge_pages(huge_pages(value)?),
        TCASM_COPIER_NICE => builder.copier_nice(nice(value)?),
        TCASM_CHECK_HAND_OVER => builder.check_hand_over(flag(value, "TCASM_CHECK_HAND_OVER")?),
        TCASM_RESERVE_FOR_EVERY => builder.reserve_for_every(every(value)?),
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

fn nice(value: i64) -> Result<i32, Failure> {
    match i32::try_from(value) {
        Ok(nice) if (-20..=19).contains(&nice) => Ok(nice),
        _ => Err(Failure::argument(format!(
            "TCASM_COPIER_NICE is {value}, and can be -20 to 19"
        ))),
    }
}

fn every(value: i64) -> Result<NonZeroU64, Failure> {
    let every = NonZeroU64::new(unsigned(value, "TCASM_RESERVE_FOR_EVERY")?);
    every.ok_or_else(|| Failure::argument("TCASM_RESERVE_FOR_EVERY cannot be 0"))
}

/// Implements a function that reads a choice.
macro_rules! choice {
    ($function:ident: $type:ty, $option:literal, $($name:ident => $value:path,)+) => {
        fn $function(value: i64) -> Result<$type, Failure> {
            match c_int::try_from(value) {
                $(Ok($name) => Ok($value),)+
                _ => Err(Failure::argument(format!("{} cannot be {value}", $option))),
            }
        }
    };
}

choice! {
    capture: CaptureMode, "TCASM_CAPTURE",
    TCASM_CAPTURE_AUTO => CaptureMode::Auto,
    TCASM_CAPTURE_INLINE => CaptureMode::Inline,
    TCASM_CAPTURE_DEFERRED => CaptureMode::Deferred,
}

choice! {
    tracker: TrackerKind, "TCASM_TRACKER",
    TCASM_TRACKER_UFFD_ASYNC => TrackerKind::UffdAsync,
    TCASM_TRACKER_COW => TrackerKind::Cow,
    TCASM_TRACKER_COMPARE => TrackerKind::Compare,
}

/// Returns the number of the tracker with this name, or 0.
pub fn tracker_number(name: &str) -> c_int {
    match name.parse() {
        Ok(TrackerKind::UffdAsync) => TCASM_TRACKER_UFFD_ASYNC,
        Ok(TrackerKind::Cow) => TCASM_TRACKER_COW,
        Ok(TrackerKind::Compare) => TCASM_TRACKER_COMPARE,
        Err(_) => 0,
    }
}

choice! {
    huge_pages: HugePages, "TCASM_HUGE_PAGES",
    TCASM_HUGE_PAGES_OFF => HugePages::Off,
    TCASM_HUGE_PAGES_TRANSPARENT => HugePages::Transparent,
    TCASM_HUGE_PAGES_RESERVED => HugePages::Reserved,
}
