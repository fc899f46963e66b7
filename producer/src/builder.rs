//! The builder of a region: its name, capacity, address, bounds, access rights and tracker.

use crate::claim::Claim;
use crate::error::CreateError;
use crate::keeper::{self, Keeper, lock};
use crate::live::LiveMemory;
use crate::policy::{CaptureMode, CapturePolicy, ColdChunks};
use crate::producer::{Parts, Producer};
use crate::service::Service;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::capture::{Copiers, Gate, Settings};
use tcasm_core::field::Attr;
use tcasm_core::index::HeaderInfo;
use tcasm_core::place::{Extent, addresses, check_name, socket_path};
use tcasm_core::store::{Bounds, Store};
use tcasm_core::sys::lock::Lock;
use tcasm_core::sys::mem::{MapError, Mapping, page_size};
use tcasm_core::sys::time::unix_ns;
use tcasm_core::track::{self, Probe, Span, TrackerKind};

/// Which users may attach.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Processes of the producer's own user (and root).
    #[default]
    SameUser,
    /// These users, by uid, besides the producer's own user and root. They must be able to enter
    /// the folder of the socket: set `TCASM_RUNTIME_DIR` to a folder that they can enter.
    Users(Vec<u32>),
    /// Every user who can reach the socket.
    Everyone,
}

impl Access {
    /// Returns true if user `uid` may attach to a producer of user `own`.
    pub(crate) fn allows(&self, uid: u32, own: u32) -> bool {
        let other = match self {
            Access::SameUser => false,
            Access::Users(list) => list.contains(&uid),
            Access::Everyone => true,
        };
        uid == own || uid == 0 || other
    }
}

/// The environment variable that sets when densely written chunks are captured.
const CAPTURE_ENV: &str = "TCASM_CAPTURE";
/// The environment variable that sets whether live memory may be shared with planes.
const SHARED_ENV: &str = "TCASM_SHARED_BACKING";

/// The largest number that the first version can have. The numbers that follow cannot run out
/// within the life of a run.
pub(crate) const LAST_FIRST: u64 = u64::MAX >> 2;

/// The pages that a region has in addition to its capacity. Fields start on pages, so the size of
/// each is rounded up.
const ROUNDING_PAGES: usize = 64;

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
    tracker: Option<TrackerKind>,
    capture: CaptureMode,
    wait_for_capture: bool,
    shared_backing: bool,
    cold_versions: Option<u32>,
    compact_after: Option<u32>,
    keeper: bool,
    copiers: Settings,
    check_hand_over: bool,
    access: Access,
    max_observers: usize,
    attrs: BTreeMap<String, Attr>,
}

impl Builder {
    pub(crate) fn new(name: &str) -> Self {
        Builder {
            name: name.to_owned(),
            capacity: 0,
            base: None,
            versions: 8,
            history: 1,
            first_version: 1,
            memory: None,
            tracker: None,
            capture: CaptureMode::Auto,
            wait_for_capture: false,
            shared_backing: true,
            cold_versions: None,
            compact_after: None,
            keeper: true,
            copiers: Settings::default(),
            check_hand_over: cfg!(debug_assertions),
            access: Access::SameUser,
            max_observers: 64,
            attrs: BTreeMap::new(),
        }
    }

    /// Sets the capacity: the bytes of all fields and buffers together. Memory that is never
    /// touched takes only address space. But each publish looks at every 2 MiB of the capacity,
    /// which takes about a millisecond for 64 GiB.
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// Places the region at this address instead of the one that follows from its name.
    pub fn base(mut self, address: usize) -> Self {
        self.base = Some(address);
        self
    }

    /// Places the region where another one lay, with the same size. Used to rebuild a region.
    pub fn extent(mut self, extent: Extent) -> Self {
        let rounding = (ROUNDING_PAGES * page_size()) as u64;
        self.capacity = extent.bytes.saturating_sub(rounding).max(1) as usize;
        self.base = Some(extent.base as usize);
        self
    }

    /// Sets the most versions that are alive at once, the newest included (2 to 64; default 8). At
    /// the bound publish skips.
    pub fn versions(mut self, versions: usize) -> Self {
        self.versions = versions;
        self
    }

    /// Sets how many versions besides the newest are kept although nobody pins them (default 1).
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

    /// Sets how writes are tracked, instead of the best tracker that works here. `TCASM_TRACKER`
    /// overrides both.
    pub fn tracker(mut self, tracker: TrackerKind) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// Sets when densely written chunks of 2 MiB are captured: inside publish, or after it has
    /// returned. `TCASM_CAPTURE` (`auto`, `inline`, `deferred`) overrides this.
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
    ///   are lost when a part of it is shared.
    ///
    /// Nothing is shared while memory of the process may be locked for DMA: while it has registered
    /// I/O buffers or a device open.
    pub fn shared_backing(mut self, shared: bool) -> Self {
        self.shared_backing = shared;
        self
    }

    /// Sets half of the number of versions after which an undisturbed chunk is shared. For tests.
    #[doc(hidden)]
    pub fn cold_versions(mut self, versions: u32) -> Self {
        self.cold_versions = Some(versions);
        self
    }

    /// Sets half of the number of versions after which an unchanged chunk is compacted, and makes
    /// the keeper scan all the time. For tests.
    #[doc(hidden)]
    pub fn compact_after(mut self, versions: u32) -> Self {
        self.compact_after = Some(versions);
        self
    }

    /// Sets whether the keeper runs, which gives unused memory back. For tests that count memory.
    #[doc(hidden)]
    pub fn keeper(mut self, keeper: bool) -> Self {
        self.keeper = keeper;
        self
    }

    /// Sets how many threads copy captured pages (default: one for each two processors, at most
    /// four).
    pub fn copiers(mut self, threads: usize) -> Self {
        self.copiers.threads = Some(threads.max(1));
        self
    }

    /// Sets the processors that copier threads run on (default: any).
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

    /// Creates the region and lets observers attach.
    pub fn create(self) -> Result<Producer, CreateError> {
        check_name(&self.name)?;
        let pages = self.pages()?;
        let bounds = self.bounds(pages * page_size())?;
        if !(1..=LAST_FIRST).contains(&self.first_version) {
            let version = self.first_version;
            return Err(CreateError::FirstVersion { version });
        }
        let probe = track::probe();
        let kind = track::choose(self.tracker, &probe)?;
        let mode = capture_mode(self.capture)?;
        let shared = shared_backing(self.shared_backing)? && kind == TrackerKind::UffdAsync;
        // Claim the name before taking memory: a name in use is the likeliest error, and it costs
        // little to find out. Claiming also removes a stale socket.
        let claim = Claim::take(&self.name, socket_path(&self.name), &self.access)?;
        let reservation = self.reserve(pages)?;
        let span = Span {
            base: reservation.addr(),
            pages,
            page_size: page_size(),
        };
        let mut store = Store::create(&self.header(span.base, kind), pages, page_size(), bounds)?;
        store.check_hand_over(self.check_hand_over);
        let gate = open_gate(mode, kind, &probe)?;
        let mode = match gate {
            Some(_) => mode,
            None => CaptureMode::Inline,
        };
        let live = LiveMemory::create(reservation, kind, span, gate.clone())?;
        let copiers = Copiers::start(&self.copiers, gate).map_err(CreateError::Thread)?;
        let cold = shared.then(|| ColdChunks::new(pages, self.cold_versions));
        let objects = store.read_only().map_err(CreateError::Share)?;
        let service = Service::start(claim, objects, self.access.clone(), self.max_observers)?;
        let store = Arc::new(Lock::new(store));
        let keeper = self.start_keeper(&store, &service)?;
        let parts = Parts {
            keeper,
            copiers,
            policy: CapturePolicy::new(pages, mode, cold),
            wait_for_capture: self.wait_for_capture,
            first_version: self.first_version,
            live,
            store,
            service,
        };
        Ok(Producer::new(self.name, self.attrs, parts))
    }

    fn start_keeper(
        &self,
        store: &Arc<Lock<Store>>,
        service: &Service,
    ) -> Result<Option<Keeper>, CreateError> {
        let mut period = keeper::PERIOD;
        if let Some(versions) = self.compact_after {
            lock(store).compact_after(versions);
            period = Duration::from_millis(1);
        }
        let start = || Keeper::start(store.clone(), period, service.pins());
        self.keeper
            .then(start)
            .transpose()
            .map_err(CreateError::Thread)
    }

    fn pages(&self) -> Result<usize, CreateError> {
        if self.capacity == 0 {
            return Err(CreateError::NoCapacity);
        }
        let pages = self.capacity.div_ceil(page_size()) + ROUNDING_PAGES;
        match pages.checked_mul(page_size()) {
            Some(bytes) if bytes <= 1 << 46 => Ok(pages),
            _ => Err(CreateError::TooLarge {
                capacity: self.capacity,
            }),
        }
    }

    fn bounds(&self, region: usize) -> Result<Bounds, CreateError> {
        let (history, versions) = (self.history, self.versions);
        if history >= versions && versions >= 2 {
            return Err(CreateError::History { history, versions });
        }
        let bytes = self.memory.unwrap_or(region as u64 * 4);
        Ok(Bounds {
            versions,
            history,
            bytes,
        })
    }

    fn header(&self, base: usize, kind: TrackerKind) -> HeaderInfo {
        HeaderInfo {
            name: self.name.clone(),
            base: base as u64,
            pid: std::process::id().into(),
            created: unix_ns(),
            tracker: kind.to_string(),
        }
    }

    /// Reserves the region's addresses. If the program asks for an address, uses that one or fails.
    /// Otherwise uses the address of the name, or the next one that is free.
    fn reserve(&self, pages: usize) -> Result<Mapping, CreateError> {
        let bytes = pages * page_size();
        if let Some(base) = self.base {
            if base % page_size() != 0 || base == 0 {
                return Err(CreateError::Base {
                    base,
                    page_size: page_size(),
                });
            }
            return Ok(Mapping::reserve_at(base, bytes)?);
        }
        let mut refused = CreateError::TooLarge {
            capacity: self.capacity,
        };
        for address in addresses(&self.name, bytes as u64) {
            match Mapping::reserve_at(address as usize, bytes) {
                Ok(reservation) => return Ok(reservation),
                Err(error @ MapError::Taken { .. }) => refused = error.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused)
    }
}

/// Returns the capture mode that the environment names, or else the program's.
fn capture_mode(set: CaptureMode) -> Result<CaptureMode, CreateError> {
    match std::env::var(CAPTURE_ENV).as_deref() {
        Err(_) => Ok(set),
        Ok("auto") => Ok(CaptureMode::Auto),
        Ok("inline") => Ok(CaptureMode::Inline),
        Ok("deferred") => Ok(CaptureMode::Deferred),
        Ok(other) => Err(CreateError::UnknownCapture(other.to_owned())),
    }
}

/// Returns true if live memory may be shared with planes, as the environment or else the program
/// says.
fn shared_backing(set: bool) -> Result<bool, CreateError> {
    match std::env::var(SHARED_ENV).as_deref() {
        Err(_) => Ok(set),
        Ok("0") => Ok(false),
        Ok("1") => Ok(true),
        Ok(other) => Err(CreateError::UnknownSharing(other.to_owned())),
    }
}

/// Opens the gate for deferred captures. This needs a kernel on which writes from inside system
/// calls wait at the gate too, as the probe found out. Elsewhere everything is captured inside
/// publish, and it is an error if the program insists on deferred capture.
fn open_gate(
    mode: CaptureMode,
    kind: TrackerKind,
    probe: &Probe,
) -> Result<Option<Arc<Gate>>, CreateError> {
    let reason = match (kind, probe.kernel_faults.reason()) {
        (TrackerKind::UffdAsync, None) => None,
        (TrackerKind::UffdAsync, Some(reason)) => Some(reason.to_owned()),
        (kind, _) => Some(format!("the tracker is {kind}, not uffd-async")),
    };
    match (mode, reason) {
        (CaptureMode::Deferred, Some(reason)) => Err(CreateError::NoDeferredCapture { reason }),
        (CaptureMode::Inline, _) | (_, Some(_)) => Ok(None),
        // The probe has just opened a gate, so only a lack of descriptors can make this fail. Then
        // everything is captured inside publish.
        _ => Ok(Gate::open().ok().map(Arc::new)),
    }
}
