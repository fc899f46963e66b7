//! The choice of huge pages for live memory, and what follows from it for the region.

use crate::error::CreateError;
use crate::live::LiveMemory;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_core::sys::reserved::ReservedPages;
use tcasm_core::testing::ablation::{Mechanism, without};
use tcasm_core::track::{self, Probe, TrackerKind, Verdict};

/// The environment variable that sets which huge pages live memory may consist of.
const ENV: &str = "TCASM_HUGE_PAGES";

/// The huge pages (2 MiB) that live memory may consist of. A program reads memory in huge pages
/// faster at random addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// None, except in chunks whose capture is deferred.
    Off,
    /// The kernel's own (transparent) huge pages. Memory that is not being written is gathered into
    /// them while the program computes. This takes effect where the kernel can track huge pages
    /// (`tcasm doctor` says whether it can), and not with the tracker `cow`.
    ///
    /// A program can notice it in two ways:
    ///
    /// - A store to a page that is being gathered waits for less than a millisecond.
    /// - The first store to a huge page after a publish splits it, which takes longer than the
    ///   first store to a small page.
    #[default]
    Transparent,
    /// Huge pages that an administrator has reserved (`vm.nr_hugepages`). All memory of the region
    /// consists of them from the start, scratch buffers included, and no store splits them. Only
    /// the memory of handed-over buffers is part of versions, and so consists of other pages.
    ///
    /// - The region takes the pages for its whole capacity when it is created, rounded up. If there
    ///   are too few, that is an error.
    /// - Each publish compares all fields with the newest version, as with the tracker `compare`,
    ///   because the kernel does not report all changes in such pages. So its time follows the size
    ///   of the fields, not what was written, and all capture is inside the call.
    /// - No memory is shared with versions, so it exists twice.
    Reserved,
}

impl HugePages {
    /// Returns the choice that the environment names, or else this one.
    pub(super) fn or_environment(self) -> Result<Self, CreateError> {
        let chosen = match std::env::var(ENV).as_deref() {
            Err(_) => self,
            Ok("0") => HugePages::Off,
            Ok("1") => HugePages::Transparent,
            Ok("reserved") => HugePages::Reserved,
            Ok(other) => return Err(CreateError::UnknownHugePages(other.to_owned())),
        };
        Ok(match chosen {
            HugePages::Transparent if without(Mechanism::HugePages) => HugePages::Off,
            chosen => chosen,
        })
    }

    /// Returns the number of bytes of which the address and the size of the region are multiples.
    pub(super) fn unit(self) -> usize {
        match self {
            HugePages::Reserved => HUGE_PAGE,
            HugePages::Off | HugePages::Transparent => page_size(),
        }
    }

    /// Returns the tracker to use, where the program asks for `asked`. Reserved huge pages need
    /// `compare`.
    pub(super) fn tracker(
        self,
        asked: Option<TrackerKind>,
        probe: &Probe,
    ) -> Result<TrackerKind, CreateError> {
        if self != HugePages::Reserved {
            return Ok(track::choose(asked, probe)?);
        }
        match track::choose(asked.or(Some(TrackerKind::Compare)), probe)? {
            TrackerKind::Compare => Ok(TrackerKind::Compare),
            kind => Err(CreateError::ReservedTracker { kind }),
        }
    }

    /// Returns true if live memory is gathered into huge pages. `cow` needs small ones, and
    /// `uffd-async` a kernel that tracks huge ones.
    pub(super) fn are_gathered(self, kind: TrackerKind, probe: &Probe) -> bool {
        self == HugePages::Transparent
            && match kind {
                TrackerKind::UffdAsync => probe.huge_pages == Verdict::Usable,
                TrackerKind::Cow => false,
                TrackerKind::Compare => true,
            }
    }

    /// Takes the reserved huge pages that the region needs, if it is to have them.
    pub(super) fn take(self, live: &mut LiveMemory) -> Result<(), CreateError> {
        if self != HugePages::Reserved {
            return Ok(());
        }
        let taken = live.memory.use_reserved_pages();
        taken.map_err(|source| CreateError::ReservedPages {
            needed: live.bytes() / HUGE_PAGE as u64,
            found: ReservedPages::read(),
            source,
        })
    }
}

#[cfg(all(test, feature = "ablation"))]
mod tests {
    use super::*;
    use tcasm_core::testing::ablation::leave_out;

    #[test]
    fn only_gathering_is_left_out_with_the_mechanism() {
        let chosen = |set: HugePages| set.or_environment().unwrap();
        assert_eq!(chosen(HugePages::Transparent), HugePages::Transparent);
        let _left = leave_out(Mechanism::HugePages);
        assert_eq!(chosen(HugePages::Transparent), HugePages::Off);
        assert_eq!(chosen(HugePages::Reserved), HugePages::Reserved);
    }
}
