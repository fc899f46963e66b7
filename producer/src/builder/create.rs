//! Creates a region: claims its name, takes its memory, and starts its threads.

use super::{Builder, HugePages, gate};
use crate::claim::Claim;
use crate::error::{CreateError, LAST_FIRST};
use crate::keeper::{Duties, Gatherer, Keeper};
use crate::live::{Allowed, LiveMemory};
use crate::policy::{Assembly, CaptureMode, CapturePolicy, ColdChunks};
use crate::producer::{Parts, Producer};
use crate::service::Service;
use crate::stream::Stream;
use std::sync::Arc;
use tcasm_core::capture::{Copiers, Settings};
use tcasm_core::format::index::HeaderInfo;
use tcasm_core::place::{ROUNDING_PAGES, addresses, check_name, socket_path};
use tcasm_core::store::{Bounds, RESERVED_VERSIONS, Store};
use tcasm_core::sys::lock::Lock;
use tcasm_core::sys::mem::{MapError, Mapping, page_size};
use tcasm_core::sys::time::unix_ns;
use tcasm_core::testing::ablation::{Mechanism, without};
use tcasm_core::track::{self, Span, TrackerKind};

/// The environment variable that sets when densely written chunks are captured.
const CAPTURE_ENV: &str = "TCASM_CAPTURE";
/// The environment variable that sets whether live memory may be shared with planes.
const SHARED_ENV: &str = "TCASM_SHARED_BACKING";

impl Builder {
    /// Creates the region and lets observers attach.
    pub fn create(mut self) -> Result<Producer, CreateError> {
        check_name(&self.name)?;
        if let Some(member) = &self.member {
            member.check()?;
            self.attrs.extend(member.attrs());
        }
        let huge_pages = self.huge_pages.or_environment()?;
        let pages = self.pages(huge_pages)?;
        let bounds = self.bounds(pages * page_size())?;
        if !(1..=LAST_FIRST).contains(&self.first_version) {
            let version = self.first_version;
            return Err(CreateError::FirstVersion { version });
        }
        let probe = track::probe();
        let kind = huge_pages.tracker(self.tracker, &probe)?;
        let mode = capture_mode(self.capture)?;
        let shared = shared_backing(self.shared_backing)? && kind == TrackerKind::UffdAsync;
        let huge = huge_pages.are_gathered(kind, &probe);
        // Claim the name before taking memory: a name in use is the likeliest error, and it costs
        // little to find out. Claiming also removes a stale socket.
        let claim = Claim::take(&self.name, socket_path(&self.name), &self.access)?;
        let reservation = self.reserve(pages, huge_pages)?;
        let span = Span {
            base: reservation.addr(),
            pages,
            page_size: page_size(),
        };
        let mut store = Store::create(&self.header(span.base, kind), pages, page_size(), bounds)?;
        store.check_hand_over(self.check_hand_over);
        if let Some(every) = self.reserve {
            store.reserve_for_every(every);
        }
        if let Some(topology) = &self.topology {
            store.set_topology(topology.clone());
        }
        let gate = gate::open(mode, kind, &probe, self.no_kernel_writes, huge)?;
        let assembly = self.assembly(mode);
        let mode = match gate {
            Some(_) => mode,
            None => CaptureMode::Inline,
        };
        let gathers = huge && (self.keeper || self.gather_often);
        if gathers {
            store.allow_huge_pages();
        }
        let allowed = Allowed {
            sharing: shared,
            huge_pages: huge,
        };
        let mut live = LiveMemory::create(
            reservation,
            kind,
            span,
            store.segments().clone(),
            gate.clone(),
            allowed,
        )?;
        huge_pages.take(&mut live)?;
        let settings = Settings {
            nodes: store.processors_of_nodes(),
            ..self.copiers.clone()
        };
        let copiers = Copiers::start(&settings, gate).map_err(CreateError::Thread)?;
        let cold = (shared || huge).then(|| ColdChunks::new(pages, self.cold_versions));
        let objects = store.read_only().map_err(CreateError::Share)?;
        let service = Service::start(claim, objects, self.access.clone(), self.max_observers)?;
        let store = Arc::new(Lock::new(store));
        let keeper = self.start_keeper(&store, &service, gathers.then_some(span))?;
        let parts = Parts {
            keeper,
            copiers,
            policy: CapturePolicy::new(pages, mode, assembly, cold),
            live,
            store,
            service,
            stream: Stream::new(self.first_version, self.wait_for_capture),
        };
        Ok(Producer::new(self.name, self.attrs, parts))
    }

    /// Returns whether chunks are assembled, if the program chose `mode`.
    fn assembly(&self, mode: CaptureMode) -> Assembly {
        match mode {
            CaptureMode::Inline => Assembly::Never,
            _ if self.always_assemble => Assembly::Always,
            _ => Assembly::WhereWorthIt { pause: 0 },
        }
    }

    fn start_keeper(
        &self,
        store: &Arc<Lock<Store>>,
        service: &Service,
        huge: Option<Span>,
    ) -> Result<Option<Keeper>, CreateError> {
        // Without the scan, pages stay small.
        let huge = huge.and_then(|span| Gatherer::new(span).ok());
        if let Some(versions) = self.compact_after {
            store.lock().compact_after(versions);
        }
        if !self.keeper && huge.is_none() {
            return Ok(None);
        }
        let duties = match (self.keeper, self.compact_after) {
            (false, _) => Duties::only_gathering(huge),
            (true, Some(_)) => Duties::all_the_time(huge),
            (true, None) if self.gather_often => Duties::gathering_often(huge),
            (true, None) => Duties::usual(huge),
        };
        Keeper::start(store.clone(), service.pins(), duties)
            .map(Some)
            .map_err(CreateError::Thread)
    }

    fn pages(&self, huge_pages: HugePages) -> Result<usize, CreateError> {
        if self.capacity == 0 {
            return Err(CreateError::NoCapacity);
        }
        let pages = self.capacity.div_ceil(page_size()) + ROUNDING_PAGES;
        let pages = pages.next_multiple_of(huge_pages.unit() / page_size());
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
        if self.reserve.is_some() && history + RESERVED_VERSIONS >= versions {
            return Err(CreateError::Reserve { history, versions });
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
            first_version: self.first_version,
        }
    }

    /// Reserves the region's addresses. If the program asks for an address, uses that one or fails.
    /// Otherwise uses the address of the name, or the next one that is free.
    fn reserve(&self, pages: usize, huge_pages: HugePages) -> Result<Mapping, CreateError> {
        let bytes = pages * page_size();
        if let Some(base) = self.base {
            let page_size = huge_pages.unit();
            if !base.is_multiple_of(page_size) || base == 0 {
                return Err(CreateError::Base { base, page_size });
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
        _ if without(Mechanism::Deferral) => Ok(CaptureMode::Inline),
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
    match without(Mechanism::Sharing) {
        true => Ok(false),
        false => switch(SHARED_ENV, set).map_err(CreateError::UnknownSharing),
    }
}

/// Returns true if the environment variable `name` is 1, false if it is 0, and `set` if there is no
/// such variable. The error is its value.
fn switch(name: &str, set: bool) -> Result<bool, String> {
    match std::env::var(name).as_deref() {
        Err(_) => Ok(set),
        Ok("0") => Ok(false),
        Ok("1") => Ok(true),
        Ok(other) => Err(other.to_owned()),
    }
}

#[cfg(all(test, feature = "ablation"))]
mod tests {
    use super::*;
    use tcasm_core::testing::ablation::leave_out;

    #[test]
    fn all_capture_is_inline_where_deferral_is_left_out() {
        let mode = || capture_mode(CaptureMode::Deferred).unwrap();
        assert_eq!(mode(), CaptureMode::Deferred);
        let _left = leave_out(Mechanism::Deferral);
        assert_eq!(mode(), CaptureMode::Inline);
    }

    #[test]
    fn no_memory_is_shared_where_sharing_is_left_out() {
        assert!(shared_backing(true).unwrap());
        let _left = leave_out(Mechanism::Sharing);
        assert!(!shared_backing(true).unwrap());
    }
}
