//! What this machine offers, which tracker is taken, and why. `tcasm doctor` prints it.

use super::compare::Compare;
use super::cow::Cow;
use super::live::failed;
use super::uffd_async::UffdAsync;
use super::{Span, TrackError, Tracker, TrackerKind, behaviour};
use crate::sys::mem::{max_map_count, page_size};
use crate::sys::uffd::Origin;
use serde::Serialize;
use std::io;
use thiserror::Error;

/// The environment variable that names the tracker to use.
pub const ENV: &str = "TCASM_TRACKER";

/// Before this release, a scan that runs together with a store could lose the page
/// (CVE-2024-36943).
const SOUND_SCAN: [u32; 3] = [6, 8, 10];

/// Whether something can be used here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum Verdict {
    /// It was tried, and works.
    Usable,
    /// It was tried, and works, but is known to fail at times: taken only if asked for by name.
    Risky(String),
    /// It does not work: what failed, and what to do about it.
    Unusable(String),
}

impl Verdict {
    fn of<T>(trial: &Result<T, String>) -> Self {
        trial
            .as_ref()
            .map_or_else(|e| Verdict::Unusable(e.clone()), |_| Verdict::Usable)
    }

    /// Why not to use it, if there is a reason.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Usable => None,
            Verdict::Risky(reason) | Verdict::Unusable(reason) => Some(reason),
        }
    }
}

/// What was chosen, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The tracker; none if the environment asks for one that cannot be had.
    pub tracker: Option<TrackerKind>,
    /// In one sentence.
    pub why: String,
}

/// What this machine and this process's rights offer, by trial.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// The kernel's release.
    pub kernel: String,
    /// Bytes per page.
    pub page_size: usize,
    /// The user that the process runs as.
    pub uid: u32,
    /// The sysctl of that name: whether everybody may handle faults from inside the kernel.
    pub unprivileged_userfaultfd: Option<u32>,
    /// The largest number of mappings of a process.
    pub max_map_count: usize,
    /// How a userfaultfd is obtained; none if there is none.
    pub uffd_origin: Option<Origin>,
    /// Tracker `uffd-async`.
    pub uffd_async: Verdict,
    /// Tracker `cow`.
    pub cow: Verdict,
    /// Tracker `compare`: needs nothing.
    pub compare: Verdict,
    /// Whether writes from inside system calls can be made to wait, so that pages can be captured
    /// after `publish()`.
    pub kernel_faults: Verdict,
    /// Which tracker is used if the program asks for none.
    pub choice: Choice,
}

impl Probe {
    /// What was found out about one tracker.
    pub fn verdict(&self, kind: TrackerKind) -> &Verdict {
        match kind {
            TrackerKind::UffdAsync => &self.uffd_async,
            TrackerKind::Cow => &self.cow,
            TrackerKind::Compare => &self.compare,
        }
    }

    /// The best tracker that is usable, and what is wrong with the better ones.
    fn best(&self) -> (TrackerKind, String) {
        let mut why = String::from("the best tracker that works here");
        for kind in TrackerKind::ALL {
            match self.verdict(kind).reason() {
                None => return (kind, why),
                Some(reason) => why += &format!("; not {kind}: {reason}"),
            }
        }
        (TrackerKind::Compare, why)
    }
}

/// Try everything out. Takes well under a millisecond or two, and leaves nothing behind.
pub fn probe() -> Probe {
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into());
    let uffd = behaviour::uffd_async();
    let mut probe = Probe {
        page_size: page_size(),
        uid: nix::unistd::Uid::current().as_raw(),
        unprivileged_userfaultfd: read("/proc/sys/vm/unprivileged_userfaultfd")
            .and_then(|text| text.parse().ok()),
        max_map_count: max_map_count(),
        uffd_async: doubt(Verdict::of(&uffd), &kernel),
        uffd_origin: uffd.ok(),
        cow: Verdict::of(&behaviour::cow()),
        compare: Verdict::Usable,
        kernel_faults: Verdict::of(&behaviour::kernel_faults()),
        choice: Choice {
            tracker: None,
            why: String::new(),
        },
        kernel,
    };
    probe.choice = match decide(None, environment().as_deref(), &probe) {
        Ok((kind, why)) => Choice {
            tracker: Some(kind),
            why,
        },
        Err(e) => Choice {
            tracker: None,
            why: e.to_string(),
        },
    };
    probe
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_string())
}

/// No trial of a millisecond shows a race that is lost once in a million: here the release has to
/// be asked.
fn doubt(verdict: Verdict, kernel: &str) -> Verdict {
    if verdict == Verdict::Usable && release(kernel) < SOUND_SCAN {
        return Verdict::Risky(format!(
            "Linux {kernel} can lose written pages in PAGEMAP_SCAN (fixed in 6.8.10 and 6.9); if \
             your distribution has the fix, set {ENV}=uffd-async"
        ));
    }
    verdict
}

/// The three numbers that a release begins with; 0 for what is missing.
fn release(text: &str) -> [u32; 3] {
    let mut numbers = text
        .split(['.', '-', '+', '_'])
        .map_while(|part| part.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// Why no tracker was chosen.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum ChooseError {
    /// The environment names something that is no tracker.
    #[error(
        "{ENV}={0:?} names no tracker; set it to uffd-async, cow, compare or auto, or unset it"
    )]
    Unknown(String),
    /// A tracker was asked for that does not work here.
    #[error(
        "tracker {kind} was asked for ({by}) but cannot be used here: {reason}. Ask for another \
         one, or for none to have the best that works"
    )]
    Unusable {
        /// The tracker.
        kind: TrackerKind,
        /// Who asked for it.
        by: &'static str,
        /// What the probe says of it.
        reason: String,
    },
}

/// The tracker to use: the one that the environment variable [`ENV`] names (whoever runs the program
/// has the last word), else the one that the program forces, else the best that is usable.
pub fn choose(forced: Option<TrackerKind>, probe: &Probe) -> Result<TrackerKind, ChooseError> {
    decide(forced, environment().as_deref(), probe).map(|(kind, _)| kind)
}

fn environment() -> Option<String> {
    std::env::var_os(ENV).map(|value| value.to_string_lossy().into_owned())
}

fn decide(
    forced: Option<TrackerKind>,
    environment: Option<&str>,
    probe: &Probe,
) -> Result<(TrackerKind, String), ChooseError> {
    let (kind, by) = match (environment, forced) {
        (None | Some("" | "auto"), None) => return Ok(probe.best()),
        (None | Some("" | "auto"), Some(kind)) => (kind, "by the program"),
        (Some(name), _) => {
            let kind = name
                .parse()
                .map_err(|_| ChooseError::Unknown(name.to_string()))?;
            (kind, "by the environment")
        }
    };
    match probe.verdict(kind) {
        Verdict::Unusable(reason) => Err(ChooseError::Unusable {
            kind,
            by,
            reason: reason.clone(),
        }),
        _ => Ok((kind, format!("asked for {by}"))),
    }
}

/// Make a tracker of this kind for the span.
///
/// # Safety
/// The span must be a reservation of the caller's, used by nothing else as long as the tracker
/// lives: the tracker maps memory over parts of it when told, and drops and restores pages there.
/// It does not unmap anything when dropped.
pub unsafe fn create(kind: TrackerKind, span: Span) -> Result<Box<dyn Tracker>, TrackError> {
    check(span).map_err(failed("preparing to track live memory"))?;
    match kind {
        TrackerKind::UffdAsync => {
            // SAFETY: handed on to the caller.
            let tracker = unsafe { UffdAsync::new(span) };
            boxed(tracker.map_err(|e| failed("preparing userfaultfd")(io::Error::other(e))))
        }
        TrackerKind::Cow => {
            // SAFETY: handed on to the caller.
            boxed(unsafe { Cow::new(span) }.map_err(failed("preparing copy on write")))
        }
        TrackerKind::Compare => {
            // SAFETY: handed on to the caller.
            boxed(Ok(unsafe { Compare::new(span) }))
        }
    }
}

fn boxed<T: Tracker + 'static>(
    made: Result<T, TrackError>,
) -> Result<Box<dyn Tracker>, TrackError> {
    made.map(|tracker| Box::new(tracker) as _)
}

fn check(span: Span) -> io::Result<()> {
    let Span {
        base,
        pages,
        page_size: size,
    } = span;
    let fits = pages
        .checked_mul(size)
        .and_then(|len| base.checked_add(len))
        .is_some();
    if fits && base != 0 && size == page_size() && base.is_multiple_of(size) {
        return Ok(());
    }
    let text = format!(
        "{pages} pages of {size} bytes at {base:#x} cannot be tracked: pages have {} bytes here, \
         and the address must be a multiple of that",
        page_size()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Probe {
        let bad = || Verdict::Unusable("broken".into());
        Probe {
            uffd_async: bad(),
            cow: bad(),
            ..probe()
        }
    }

    #[test]
    fn everything_works_on_this_machine() {
        let probe = probe();
        for kind in TrackerKind::ALL {
            assert_eq!(probe.verdict(kind), &Verdict::Usable, "{kind}");
        }
        assert_eq!(probe.page_size, page_size());
        assert!(probe.uffd_origin.is_some());
    }

    #[test]
    fn the_best_usable_tracker_is_chosen_and_the_reason_is_told() {
        let sound = Probe {
            uffd_async: Verdict::Usable,
            ..probe()
        };
        assert_eq!(
            decide(None, None, &sound).unwrap().0,
            TrackerKind::UffdAsync
        );
        let (kind, why) = decide(None, Some("auto"), &broken()).unwrap();
        assert_eq!(kind, TrackerKind::Compare);
        assert!(
            why.contains("not uffd-async: broken; not cow: broken"),
            "{why}"
        );
    }

    #[test]
    fn the_environment_comes_before_the_program() {
        let probe = probe();
        let forced = Some(TrackerKind::Compare);
        assert_eq!(
            decide(forced, Some("cow"), &probe).unwrap().0,
            TrackerKind::Cow
        );
        assert_eq!(
            decide(forced, Some("auto"), &probe).unwrap().0,
            TrackerKind::Compare
        );
    }

    #[test]
    fn an_unusable_tracker_is_refused_even_if_forced() {
        let error = decide(Some(TrackerKind::Cow), None, &broken()).unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
    }

    #[test]
    fn an_unknown_name_in_the_environment_is_an_error_that_lists_the_names() {
        let error = decide(None, Some("uffd"), &probe())
            .unwrap_err()
            .to_string();
        for name in ["\"uffd\"", "uffd-async", "cow", "compare", "auto", ENV] {
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_kernel_that_loses_pages_is_used_only_if_asked_for() {
        let risky = doubt(Verdict::Usable, "6.8.0-31-generic");
        let probe = Probe {
            uffd_async: risky,
            ..probe()
        };
        assert_eq!(decide(None, None, &probe).unwrap().0, TrackerKind::Cow);
        let forced = Some(TrackerKind::UffdAsync);
        assert_eq!(
            decide(forced, None, &probe).unwrap().0,
            TrackerKind::UffdAsync
        );
        for sound in ["6.8.10", "6.9.0-rc1", "6.12-amd64", "7.0"] {
            assert_eq!(doubt(Verdict::Usable, sound), Verdict::Usable, "{sound}");
        }
    }

    #[test]
    fn a_span_that_no_kernel_could_map_is_refused() {
        let size = page_size();
        for (base, pages, page_size) in [
            (0, 1, size),
            (size + 8, 1, size),
            (size, 1, size / 2),
            (size, usize::MAX, size),
        ] {
            let span = Span {
                base,
                pages,
                page_size,
            };
            for kind in TrackerKind::ALL {
                // SAFETY: the span is refused before anything is done with it.
                assert!(unsafe { create(kind, span) }.is_err(), "{span:?}");
            }
        }
    }

    #[test]
    fn the_report_can_be_stored_with_names() {
        let bytes = rmp_serde::to_vec_named(&probe()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for name in ["kernel", "uffd_async", "state", "usable", "choice", "why"] {
            assert!(text.contains(name), "{name} in {text}");
        }
    }
}
