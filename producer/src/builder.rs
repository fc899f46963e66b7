//! The builder of a region: name, capacity, address, bounds, who may attach, tracker.

use crate::adapt::{Adaptive, CaptureMode};
use crate::calm::Calm;
use crate::claim::Claim;
use crate::error::CreateError;
use crate::keeper::{self, Keeper, lock};
use crate::producer::{Parts, Producer};
use crate::region::Region;
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

/// Who may attach.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Processes of the producer's own user (and root).
    #[default]
    SameUser,
    /// These users, by uid, besides the producer's own. They must be able to enter the folder of the socket: set
    /// `TCASM_RUNTIME_DIR` to one that they can.
    Users(Vec<u32>),
    /// Every user who can reach the socket.
    Everyone,
}

impl Access {
    /// Whether `uid` may attach to a producer of user `own`.
    pub(crate) fn allows(&self, uid: u32, own: u32) -> bool {
        let other = match self {
            Access::SameUser => false,
            Access::Users(list) => list.contains(&uid),
            Access::Everyone => true,
        };
        uid == own || uid == 0 || other
    }
}

/// The environment variable that says when densely written chunks are captured.
const CAPTURE_ENV: &str = "TCASM_CAPTURE";
/// The environment variable that says whether live memory may rest on planes.
const SHARED_ENV: &str = "TCASM_SHARED_BACKING";

/// The largest number that the first version can have: far more can follow than ever will.
pub(crate) const LAST_FIRST: u64 = u64::MAX >> 2;

/// Pages that a region has more than its capacity asks for: fields start on pages, so each is rounded up.
const ROUNDING_PAGES: usize = 64;

/// Settings of a region to be: see [`Producer::builder`].
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
    calm_versions: Option<u32>,
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
            calm_versions: None,
            compact_after: None,
            keeper: true,
            copiers: Settings::default(),
            check_hand_over: cfg!(debug_assertions),
            access: Access::SameUser,
            max_observers: 64,
            attrs: BTreeMap::new(),
        }
    }

    /// Bytes of all fields and buffers together. What is never touched takes no memory, only address space; but each publish
    /// looks at every 2 MiB of it, about a millisecond for 64 GiB.
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// Place the region at this address instead of the one that follows from its name.
    pub fn base(mut self, address: usize) -> Self {
        self.base = Some(address);
        self
    }

    /// Place the region where another one lay, and make it as large: one that is rebuilt.
    pub fn extent(mut self, extent: Extent) -> Self {
        let rounding = (ROUNDING_PAGES * page_size()) as u64;
        self.capacity = extent.bytes.saturating_sub(rounding).max(1) as usize;
        self.base = Some(extent.base as usize);
        self
    }

    /// Most versions alive at once, the newest included (2 to 64; 8 unless set). At the bound publish skips.
    pub fn versions(mut self, versions: usize) -> Self {
        self.versions = versions;
        self
    }

    /// Versions kept besides the newest although nobody pins them (1 unless set).
    pub fn history(mut self, history: usize) -> Self {
        self.history = history;
        self
    }

    /// The number of the first version (1 unless set): a program that was restarted from version `n` of another run goes on
    /// with `n + 1`.
    pub fn first_version(mut self, version: u64) -> Self {
        self.first_version = version;
        self
    }

    /// Most bytes of memory that all versions together may hold (four times the capacity unless set). At the bound publish skips.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How writes are tracked, instead of the best way that works here. `TCASM_TRACKER` overrides both.
    pub fn tracker(mut self, tracker: TrackerKind) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// When chunks of 2 MiB are captured that are written densely: inside publish, or after it has returned.
    /// `TCASM_CAPTURE` (`auto`, `now`, `later`) overrides this.
    pub fn capture(mut self, mode: CaptureMode) -> Self {
        self.capture = mode;
        self
    }

    /// Have publish wait for the capture of the last version, when that still goes on, instead of skipping.
    pub fn wait_for_capture(mut self, wait: bool) -> Self {
        self.wait_for_capture = wait;
        self
    }

    /// Whether live memory that has not been written for some versions exists once, in the newest version and for the program
    /// (unless set, yes, where writes are tracked by `uffd-async`). `TCASM_SHARED_BACKING` (`0` or `1`) overrides this.
    ///
    /// A program notices it in three ways. A first store to such a page copies it. After `MADV_DONTNEED` on a part of a field
    /// its content is undefined: it is not zeros, as elsewhere, but what some version held, or another will; so write zeros
    /// instead. And what a program has set for the mapping of a field (`mprotect`, `mbind`, advice) is lost when a part of it
    /// comes to rest. Nothing comes to rest while devices may have memory of the process pinned: while it has registered I/O
    /// buffers, or a device open.
    pub fn shared_backing(mut self, shared: bool) -> Self {
        self.shared_backing = shared;
        self
    }

    /// Half of the versions after which chunks that nobody disturbed come to rest: for tests.
    #[doc(hidden)]
    pub fn calm_versions(mut self, versions: u32) -> Self {
        self.calm_versions = Some(versions);
        self
    }

    /// Half of the versions after which chunks that did not change are put together, and the keeper looks all the time: for
    /// tests.
    #[doc(hidden)]
    pub fn compact_after(mut self, versions: u32) -> Self {
        self.compact_after = Some(versions);
        self
    }

    /// Whether memory that nobody needs is given back by and by: for tests that count it.
    #[doc(hidden)]
    pub fn keeper(mut self, keeper: bool) -> Self {
        self.keeper = keeper;
        self
    }

    /// How many threads copy what is captured (unless set, one for each two processors, four at most).
    pub fn copiers(mut self, threads: usize) -> Self {
        self.copiers.threads = Some(threads.max(1));
        self
    }

    /// The processors that copier threads run on (any, unless set).
    pub fn copier_affinity(mut self, processors: &[usize]) -> Self {
        self.copiers.processors = processors.to_vec();
        self
    }

    /// The nice value of copier threads (the program's own, unless set).
    pub fn copier_nice(mut self, nice: i32) -> Self {
        self.copiers.nice = Some(nice);
        self
    }

    /// Whether to check that the program keeps to what handed-over fields ask of it (unless set, in builds with debug
    /// assertions): a store to one that was published and not begun anew is a SIGSEGV at its place, and elements that a
    /// rewriting leaves out are bytes of 0xFF, NaN in floats. It costs a fill per rewriting and page faults.
    pub fn check_hand_over(mut self, check: bool) -> Self {
        self.check_hand_over = check;
        self
    }

    /// Who may attach besides processes of the same user.
    pub fn allow(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Most observers at once (64 unless set): each costs the producer two descriptors and a page.
    pub fn max_observers(mut self, observers: usize) -> Self {
        self.max_observers = observers;
        self
    }

    /// A free attribute of the region: the simulation's name, a parameter.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Create the region and let observers attach.
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
        // The name before the memory: the likeliest error is cheap, and a stale socket is gone.
        let claim = Claim::take(&self.name, socket_path(&self.name), &self.access)?;
        let reservation = self.reserve(pages)?;
        let span = Span {
            base: reservation.addr(),
            pages,
            page_size: page_size(),
        };
        let mut store = Store::create(&self.header(span.base, kind), pages, page_size(), bounds)?;
        store.check_hand_over(self.check_hand_over);
        let region = Region::create(reservation, kind, span)?;
        let gate = open_gate(mode, kind, &probe)?;
        let copiers = Copiers::start(&self.copiers, gate.clone()).map_err(CreateError::Thread)?;
        let objects = store.read_only().map_err(CreateError::Share)?;
        let service = Service::start(claim, objects, self.access.clone(), self.max_observers)?;
        let store = Arc::new(Lock::new(store));
        let keeper = self.start_keeper(&store, &service)?;
        let parts = Parts {
            keeper,
            copiers,
            adaptive: Adaptive::new(pages, mode, gate),
            calm: shared.then(|| Calm::new(pages, self.calm_versions)),
            wait_for_capture: self.wait_for_capture,
            first_version: self.first_version,
            region,
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

    /// Reserve the region's addresses: those asked for or none; else those of the name, or the next that are free.
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

/// The way of capture that the environment names, or else the program.
fn capture_mode(set: CaptureMode) -> Result<CaptureMode, CreateError> {
    match std::env::var(CAPTURE_ENV).as_deref() {
        Err(_) => Ok(set),
        Ok("auto") => Ok(CaptureMode::Auto),
        Ok("now") => Ok(CaptureMode::Now),
        Ok("later") => Ok(CaptureMode::Later),
        Ok(other) => Err(CreateError::UnknownCapture(other.to_owned())),
    }
}

/// Whether live memory may rest on planes, as the environment says, or else the program.
fn shared_backing(set: bool) -> Result<bool, CreateError> {
    match std::env::var(SHARED_ENV).as_deref() {
        Err(_) => Ok(set),
        Ok("0") => Ok(false),
        Ok("1") => Ok(true),
        Ok(other) => Err(CreateError::UnknownSharing(other.to_owned())),
    }
}

/// The gate for captures after publish: only where writes from inside system calls were seen to wait there, too. Elsewhere
/// everything is captured inside publish, unless the program insists.
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
        (CaptureMode::Later, Some(reason)) => Err(CreateError::NoLaterCapture { reason }),
        (CaptureMode::Now, _) | (_, Some(_)) => Ok(None),
        // Opened right after another was: only descriptors can have run out, and then there is the other way.
        _ => Ok(Gate::open().ok().map(Arc::new)),
    }
}
