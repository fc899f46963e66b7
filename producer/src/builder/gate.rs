//! Opens the gate for deferred captures, if this user can have one that suits the program.

use crate::error::CreateError;
use crate::policy::CaptureMode;
use std::sync::Arc;
use tcasm_core::capture::Gate;
use tcasm_core::sys::uffd::Faults;
use tcasm_core::track::{Probe, TrackerKind};

/// Opens the gate for deferred captures. Where there can be none, everything is captured inside
/// publish, and it is an error if the program insists on deferred capture. `promised` says that
/// system calls of the program do not write into fields during a capture. `huge` allows huge pages
/// in memory that the gate does not watch.
pub(super) fn open(
    mode: CaptureMode,
    kind: TrackerKind,
    probe: &Probe,
    promised: bool,
    huge: bool,
) -> Result<Option<Arc<Gate>>, CreateError> {
    let found = match kind {
        TrackerKind::UffdAsync => faults(probe, promised),
        kind => Err(format!("the tracker is {kind}, not uffd-async")),
    };
    match (mode, found) {
        (CaptureMode::Deferred, Err(reason)) => Err(CreateError::NoDeferredCapture { reason }),
        (CaptureMode::Inline, _) | (_, Err(_)) => Ok(None),
        // The probe has just opened such a gate, so only a lack of descriptors can make this fail.
        // Then everything is captured inside publish.
        (_, Ok(faults)) => Ok(Gate::open(faults, huge).ok().map(Arc::new)),
    }
}

/// Returns the faults that the gate has to stop. Writes from inside system calls must wait too,
/// unless the program makes no such calls. If they can wait, a broken promise has no effect.
fn faults(probe: &Probe, promised: bool) -> Result<Faults, String> {
    let Some(reason) = probe.kernel_faults.reason() else {
        return Ok(Faults::All);
    };
    match (probe.user_faults.reason(), promised) {
        (None, true) => Ok(Faults::User),
        (None, false) => Err(format!(
            "{reason}; or, if no system call writes into fields while they are captured, promise \
             so with no_kernel_writes()"
        )),
        (Some(also), true) => Err(format!("{reason}; in user mode only: {also}")),
        (Some(_), false) => Err(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::track::{Verdict, probe};

    fn machine(kernel_faults: bool, user_faults: bool) -> Probe {
        let verdict = |usable, reason: &str| match usable {
            true => Verdict::Usable,
            false => Verdict::Unusable(reason.to_owned()),
        };
        Probe {
            kernel_faults: verdict(kernel_faults, "no right"),
            user_faults: verdict(user_faults, "no call"),
            ..probe()
        }
    }

    #[test]
    fn gate_for_user_faults_needs_the_promise_and_is_the_second_choice() {
        for promised in [false, true] {
            assert_eq!(faults(&machine(true, true), promised), Ok(Faults::All));
        }
        assert_eq!(faults(&machine(false, true), true), Ok(Faults::User));
        let advice = faults(&machine(false, true), false).unwrap_err();
        assert!(advice.contains("no right") && advice.contains("no_kernel_writes()"));
    }

    #[test]
    fn promise_is_not_asked_for_where_it_would_not_help() {
        let reasons = faults(&machine(false, false), true).unwrap_err();
        assert!(reasons.contains("no right") && reasons.contains("no call"));
        let reason = faults(&machine(false, false), false).unwrap_err();
        assert_eq!(reason, "no right");
    }
}
