//! The builder of a region: its name, capacity, address, bounds, access rights and tracker.

mod create;
mod gate;
mod group;
mod huge;
mod launcher;

pub use group::Group;
pub use huge::HugePages;

use crate::access::Access;
use crate::policy::CaptureMode;
use crate::producer::Producer;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use tcasm_core::capture::Settings;
use tcasm_core::field::Attr;
use tcasm_core::group::Member;
use tcasm_core::place::{Extent, ROUNDING_PAGES};
use tcasm_core::planes::Topology;
use tcasm_core::sys::mem::page_size;
use tcasm_core::track::TrackerKind;

/// The settings of a region that is not created yet: see [`Producer::builder`].
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    capacity: usize,
    base: Option<usize>,
    versions: usize,
    history: usize,
    first_version: u64,
    memory: Option<u64>,
    reserve: Option<NonZeroU64>,
    tracker: Option<TrackerKind>,
    capture: CaptureMode,
    wait_for_capture: bool,
    no_kernel_writes: bool,
    shared_backing: bool,
    huge_pages: HugePages,
    cold_versions: Option<u32>,
    compact_after: Option<u32>,
    keeper: bool,
    gather_often: bool,
    always_assemble: bool,
    copiers: Settings,
    topology: Option<Arc<dyn Topology>>,
    check_hand_over: bool,
    access: Access,
    max_observers: usize,
    attrs: BTreeMap<String, Attr>,
    member: Option<Member>,
}

impl Producer {
    /// Begins a region called `name`: `Producer::builder("run").capacity(bytes).create()`.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }
}

impl Builder {
    fn new(name: &str) -> Self {
        Builder {
            name: name.to_owned(),
            capacity: 0,
            base: None,
            versions: 8,
            history: 1,
            first_version: 1,
            memory: None,
            reserve: None,
            tracker: None,
            capture: CaptureMode::Auto,
            wait_for_capture: false,
            no_kernel_writes: false,
            shared_backing: true,
            huge_pages: HugePages::default(),
            cold_versions: None,
            compact_after: None,
            keeper: true,
            gather_often: false,
            always_assemble: false,
            copiers: Settings::default(),
            topology: None,
            check_hand_over: cfg!(debug_assertions),
            access: Access::SameUser,
            max_observers: 64,
            attrs: BTreeMap::new(),
            member: None,
        }
    }

    /// Returns the name of the region.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the capacity: the bytes of all fields and buffers together. Memory that is never
    /// touched takes only address space. But each publish looks at every 2 MiB of the capacity,
    /// which takes about a millisecond for 64 GiB.
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// Raises the capacity to `bytes` if it is lower.
    pub fn capacity_at_least(self, bytes: usize) -> Self {
        let capacity = self.capacity.max(bytes);
        self.capacity(capacity)
    }

    /// Places the region at this address instead of the one that follows from its name.
    pub fn base(mut self, address: usize) -> Self {
        self.base = Some(address);
        self
    }

    /// Places the region where another one lay. It gets the size of that one, or more if a larger
    /// capacity was set. Used to rebuild a region.
    pub fn extent(self, extent: Extent) -> Self {
        let rounding = (ROUNDING_PAGES * page_size()) as u64;
        let bytes = extent.bytes.saturating_sub(rounding).max(1) as usize;
        self.capacity_at_least(bytes).base(extent.base as usize)
    }

    /// Sets the most versions that are alive at once, the newest included (2 to 64; default 8). At
    /// the bound publish skips.
    pub fn versions(mut self, versions: usize) -> Self {
        self.versions = versions;
        self
    }

    /// Sets how many versions besides the newest are kept although nobody pins them (default 1).
    /// Pinned versions count as well.
    pub fn history(mut self, history: usize) -> Self {
        self.history = history;
        self
    }

    /// Sets the number of the first version (default 1). A program that is restarted from version
    /// `n` of another run continues with `n + 1`.
    pub fn first_version(mut self, version: u64) -> Self {
        self.first_version = version;
        self
    }

    /// Sets the most bytes of memory that all versions together may hold (default: four times the
    /// capacity). At the bound publish skips.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Appoints the steps that are multiples of `every`, and reserves room for their versions: two
    /// of the [`versions`](Self::versions), and as much memory as two versions have in which
    /// everything has changed, but at most half of the bound on [`memory`](Self::memory). Versions
    /// of other steps do not use that, and are skipped earlier. If the last capture still runs when
    /// such a step is published, publish takes part in it and waits for its end, instead of
    /// skipping.
    ///
    /// For jobs of many ranks, in which a step counts only if no rank has skipped it. Use the same
    /// number in all ranks, and for `tcasm-agent --every`. Room for two, because agents keep one
    /// appointed step pinned until they have agreed on the next one.
    pub fn reserve_for_every(mut self, every: NonZeroU64) -> Self {
        self.reserve = Some(every);
        self
    }

    /// Sets how writes are tracked, instead of the best tracker that works here. `TCASM_TRACKER`
    /// overrides both.
    pub fn tracker(mut self, tracker: TrackerKind) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// Sets when densely written chunks of 2 MiB are captured: inside publish, or after it has
    /// returned. Except with [`CaptureMode::Inline`], scattered chunks may also be assembled for
    /// many observers after publish has returned. `TCASM_CAPTURE` (`auto`, `inline`, `deferred`)
    /// overrides this.
    pub fn capture(mut self, mode: CaptureMode) -> Self {
        self.capture = mode;
        self
    }

    /// Makes publish wait for the capture of the last version if it still runs, instead of
    /// skipping.
    pub fn wait_for_capture(mut self, wait: bool) -> Self {
        self.wait_for_capture = wait;
        self
    }

    /// Promises that no system call writes into fields while they are captured: between
    /// [`Producer::publish`] and the end of the capture, for which [`Producer::wait_captured`]
    /// waits. Captures can then be deferred for ordinary users too. Without the promise this needs
    /// a right that most of them do not have (`tcasm doctor` says more). The default is no promise.
    ///
    /// Stores of the program are never restricted. System calls that write are, for example:
    ///
    /// - `read`, `recv` and other input straight into a field, as by `fread` of large blocks;
    /// - `process_vm_readv` and `process_vm_writev`, by which MPI libraries copy large messages
    ///   between the processes of a node;
    /// - `mlock`, and registering memory with a device, which touch every page as a write does;
    /// - `Version::read_bytes` of an observer, with a field to read into.
    ///
    /// If the promise is broken, that call fails with `EFAULT`, or transfers less than it was asked
    /// for. No version gets a wrong byte, and the field keeps what it had where nothing was
    /// transferred. The call can be repeated when the capture has ended: what it would have taken
    /// from a file, a pipe or a stream is still there. (A datagram is lost.)
    ///
    /// Where the user has the right, the gate also stops system calls, and they wait. Then a broken
    /// promise has no effect. [`ProducerStats::user_mode_only`](crate::ProducerStats) says which
    /// gate is used.
    pub fn no_kernel_writes(mut self, promised: bool) -> Self {
        self.no_kernel_writes = promised;
        self
    }

    /// Sets whether live memory that was not written for some versions is shared with the newest
    /// version, so that it exists once. The default is yes. It takes effect only where writes are
    /// tracked by `uffd-async`. `TCASM_SHARED_BACKING` (`0` or `1`) overrides this.
    ///
    /// A program can notice sharing in three ways:
    ///
    /// - The first store to a shared page copies it.
    /// - After `MADV_DONTNEED` on a part of a field, its content is undefined. It is not zero, as
    ///   elsewhere, but what some version held or will hold. Write zeros instead.
    /// - Settings that the program made for the mapping of a field (`mprotect`, `mbind`, advice)
    ///   are lost when a part of it is shared. Its pages stay on their nodes of memory.
    ///
    /// Nothing is shared while memory of the process may be locked for DMA: while it has registered
    /// I/O buffers or a device open.
    pub fn shared_backing(mut self, shared: bool) -> Self {
        self.shared_backing = shared;
        self
    }

    /// Sets which huge pages live memory may consist of (default: [`HugePages::Transparent`]).
    /// `TCASM_HUGE_PAGES` (`0`, `1` or `reserved`) overrides this.
    pub fn huge_pages(mut self, huge: HugePages) -> Self {
        self.huge_pages = huge;
        self
    }

    /// Sets half of the number of versions after which an undisturbed chunk is shared. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn cold_versions(mut self, versions: u32) -> Self {
        self.cold_versions = Some(versions);
        self
    }

    /// Sets half of the number of versions after which an unchanged chunk is compacted, and makes
    /// the keeper scan all the time. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn compact_after(mut self, versions: u32) -> Self {
        self.compact_after = Some(versions);
        self
    }

    /// Sets whether the keeper runs, which gives unused memory back. For tests that count memory.
    #[cfg(feature = "test-knobs")]
    pub fn keeper(mut self, keeper: bool) -> Self {
        self.keeper = keeper;
        self
    }

    /// Makes the copiers assemble scattered chunks for any number of observers. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn always_assemble(mut self) -> Self {
        self.always_assemble = true;
        self
    }

    /// Makes the keeper gather huge pages all the time, and does so even if it does nothing else.
    /// For tests.
    #[cfg(feature = "test-knobs")]
    pub fn gather_often(mut self) -> Self {
        self.gather_often = true;
        self
    }

    /// Sets how many threads copy captured pages (default: one for each two processors, at most
    /// four).
    pub fn copiers(mut self, threads: usize) -> Self {
        self.copiers.threads = Some(threads.max(1));
        self
    }

    /// Sets the nodes of memory, instead of those of this machine. For tests, which pretend to have
    /// several.
    #[cfg(feature = "test-knobs")]
    pub fn topology(mut self, topology: Arc<dyn Topology>) -> Self {
        self.topology = Some(topology);
        self
    }

    /// Sets the processors that copier threads run on. Default: any, or on a machine with several
    /// nodes of memory those near the memory that they copy.
    pub fn copier_affinity(mut self, processors: &[usize]) -> Self {
        self.copiers.processors = processors.to_vec();
        self
    }

    /// Sets the nice value of copier threads (default: that of the program).
    pub fn copier_nice(mut self, nice: i32) -> Self {
        self.copiers.nice = Some(nice);
        self
    }

    /// Sets whether to check that the program uses handed-over fields correctly (default: in builds
    /// with debug assertions).
    ///
    /// With the check, a store to a field that was published and not begun anew raises SIGSEGV at
    /// the store. Elements that a rewriting leaves out are bytes of 0xFF, which is NaN in floats.
    /// The check costs a fill per rewriting, and page faults.
    pub fn check_hand_over(mut self, check: bool) -> Self {
        self.check_hand_over = check;
        self
    }

    /// Sets which users may attach besides the producer's own.
    pub fn allow(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the most observers that may be attached at once (default 64). Each costs the producer
    /// two descriptors and a page.
    pub fn max_observers(mut self, observers: usize) -> Self {
        self.max_observers = observers;
        self
    }

    /// Sets an attribute of the region under any name, for example the simulation's name or a
    /// parameter.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.attrs.insert(name.to_owned(), value.into());
        self
    }
}
