//! The probe: tests what this machine offers, and chooses a tracker. `tcasm doctor` prints the
//! result.

use super::behaviour;
use super::grant::Grant;
use super::huge;
use super::kind::TrackerKind;
use crate::sys::mem::{max_map_count, page_size};
use crate::sys::uffd::Origin;
use nix::unistd::Uid;
use serde::Serialize;
use thiserror::Error;

/// The environment variable that names the tracker to use.
pub const ENV: &str = "TCASM_TRACKER";

/// The first kernel release in which a scan that runs at the same time as a store cannot lose the
/// page (CVE-2024-36943).
const SOUND_SCAN: [u32; 3] = [6, 8, 10];

/// The result of testing whether something can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum Verdict {
    /// The trial succeeded.
    Usable,
    /// The trial succeeded, but the feature is known to fail at times, for the given reason. It is
    /// used only if it is asked for by name.
    Risky(String),
    /// The trial failed. The text says what failed, and what to do about it.
    Unusable(String),
}

impl Verdict {
    fn of<T>(trial: &Result<T, String>) -> Self {
        trial
            .as_ref()
            .map_or_else(|e| Verdict::Unusable(e.clone()), |_| Verdict::Usable)
    }

    /// Returns the reason against using it, if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Usable => None,
            Verdict::Risky(reason) | Verdict::Unusable(reason) => Some(reason),
        }
    }
}

/// The chosen tracker, and the reason for the choice.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The tracker, or `None` if the environment asks for one that cannot be used.
    pub tracker: Option<TrackerKind>,
    /// The reason, in one sentence.
    pub why: String,
}

/// The trackers and features that this process can use on this machine, as found by trials.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// The release of the kernel.
    pub kernel: String,
    /// Bytes per page.
    pub page_size: usize,
    /// The user that the process runs as.
    pub uid: u32,
    /// The sysctl `vm.unprivileged_userfaultfd`: 1 if every user may handle faults from inside the
    /// kernel.
    pub unprivileged_userfaultfd: Option<u32>,
    /// The largest number of mappings that a process may have.
    pub max_map_count: usize,
    /// How a userfaultfd is obtained, or `None` if none can be.
    pub uffd_origin: Option<Origin>,
    /// The verdict on the tracker `uffd-async`.
    pub uffd_async: Verdict,
    /// The verdict on the tracker `cow`.
    pub cow: Verdict,
    /// The verdict on the tracker `compare`, which needs nothing and is always usable.
    pub compare: Verdict,
    /// The verdict on deferred capture: usable if writes from inside system calls can be made to
    /// wait.
    pub kernel_faults: Verdict,
    /// The verdict on deferred capture in user mode only, for programs that promise that no system
    /// call writes into fields meanwhile: usable if stores can be made to wait, and such calls fail
    /// and change nothing.
    pub user_faults: Verdict,
    /// The verdict on huge pages under `uffd-async`: usable if the kernel protects and reports them
    /// as a whole.
    pub huge_pages: Verdict,
    /// The right by which writes from inside system calls can be made to wait, if they can be.
    pub kernel_faults_by: Option<Grant>,
    /// The tracker that is used if the program asks for none.
    pub choice: Choice,
}

impl Probe {
    /// Returns the verdict on one tracker.
    pub fn verdict(&self, kind: TrackerKind) -> &Verdict {
        match kind {
            TrackerKind::UffdAsync => &self.uffd_async,
            TrackerKind::Cow => &self.cow,
            TrackerKind::Compare => &self.compare,
        }
    }

    /// Returns the best usable tracker, and a text that says why no better one is used.
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

/// Runs all trials. Takes less than two milliseconds, and leaves nothing behind.
pub fn probe() -> Probe {
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into());
    let uffd = behaviour::uffd_async();
    let faults = behaviour::kernel_faults();
    let sysctl =
        read("/proc/sys/vm/unprivileged_userfaultfd").and_then(|text| text.parse::<u32>().ok());
    let grant = |origin| Grant::of(origin, sysctl, Uid::effective().is_root());
    let mut probe = Probe {
        page_size: page_size(),
        uid: Uid::current().as_raw(),
        unprivileged_userfaultfd: sysctl,
        max_map_count: max_map_count(),
        uffd_async: doubt(Verdict::of(&uffd), &kernel),
        uffd_origin: uffd.ok(),
        cow: Verdict::of(&behaviour::cow()),
        compare: Verdict::Usable,
        kernel_faults: Verdict::of(&faults),
        kernel_faults_by: faults.ok().map(grant),
        user_faults: Verdict::of(&behaviour::user_faults()),
        huge_pages: Verdict::of(&huge::huge_pages()),
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

/// Turns a verdict on a kernel with the race of [`SOUND_SCAN`] from usable to risky. The release
/// decides, because a trial of a millisecond cannot show a race that is lost once in a million.
fn doubt(verdict: Verdict, kernel: &str) -> Verdict {
    if verdict == Verdict::Usable && release(kernel) < SOUND_SCAN {
        return Verdict::Risky(format!(
            "Linux {kernel} can lose written pages in PAGEMAP_SCAN (fixed in 6.8.10 and 6.9); if \
             your distribution has the fix, set {ENV}=uffd-async"
        ));
    }
    verdict
}

/// Returns the three numbers at the beginning of a release, 0 for each missing one.
fn release(text: &str) -> [u32; 3] {
    let mut numbers = text
        .split(['.', '-', '+', '_'])
        .map_while(|part| part.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// The reason why no tracker was chosen.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// The environment variable names something that is not a tracker.
    #[error(
        "{ENV}={0:?} names no tracker; set it to uffd-async, cow, compare or auto, or unset it"
    )]
    Unknown(String),
    /// A tracker was asked for that does not work on this machine.
    #[error(
        "tracker {kind} was asked for ({by}) but cannot be used here: {reason}. Ask for another \
         tracker, or for none to get the best one that works"
    )]
    Unusable {
        /// The tracker.
        kind: TrackerKind,
        /// "by the program" or "by the environment".
        by: &'static str,
        /// The reason that the probe gives.
        reason: String,
    },
}

/// Returns the tracker to use: the one that the environment variable [`ENV`] names, else the one
/// that the program forces, else the best usable one. The environment comes first, so that the user
/// who runs the program decides.
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
    fn all_trackers_work_on_this_machine() {
        let probe = probe();
        for kind in TrackerKind::ALL {
            assert_eq!(probe.verdict(kind), &Verdict::Usable, "{kind}");
        }
        assert_eq!(probe.user_faults, Verdict::Usable);
        assert_eq!(probe.page_size, page_size());
        assert!(probe.uffd_origin.is_some());
    }

    #[test]
    fn best_usable_tracker_is_chosen_and_the_reason_is_given() {
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
    fn unusable_tracker_is_refused_even_if_it_is_forced() {
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
    fn uffd_async_on_a_kernel_that_loses_pages_is_used_only_if_it_is_asked_for() {
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
    fn probe_is_serialized_with_field_names() {
        let bytes = rmp_serde::to_vec_named(&probe()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for name in ["kernel", "uffd_async", "state", "usable", "choice", "why"] {
            assert!(text.contains(name), "{name} in {text}");
        }
    }
}
