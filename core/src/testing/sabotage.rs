//! Guards that tests switch off, to check that the test of an invariant fails without its guard.
//!
//! Only the tests enable the feature `sabotage`. Without it [`off`] is always false, and no code of
//! this module remains.

/// A step that guards an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Guard {
    /// I1: a frame that a live version refers to is not chosen for a new page.
    FrameInUse,
    /// I2: the version becomes visible after its bytes, map and table are stored.
    VisibleLast,
    /// I3: a pinned version is not reclaimed.
    PinCheck,
    /// I4: the harvested set is kept until its version is visible.
    KeepHarvest,
    /// I5: nothing on the publish path waits for an observer.
    NeverWait,
    /// I6: an error of the tracker means that everything may have changed.
    ErrorMeansAll,
    /// I7: memory is bounded.
    Bound,
    /// I8: the messages of observers are checked.
    CheckMessages,
    /// I9: the numbers in the index are checked.
    CheckIndex,
    /// I10: a piece of live memory is released only after it was saved.
    SaveFirst,
    /// I11: a page that is shared with a plane does not count as changed.
    SharedInPlace,
    /// I8: descriptors are refused where none are expected.
    RefuseDescriptors,
    /// I8: descriptors from untrusted peers are closed on a thread that nothing waits for.
    CloseElsewhere,
    /// I12: the first and the last page of an adopted array are compared in every version.
    AdoptedEdges,
    /// I12: an adopted array is looked for before and after it is copied.
    AdoptedGone,
    /// I12: bytes beside an adopted array are left out.
    AdoptedOnly,
    /// I13: slots and memory are kept free for appointed steps.
    KeepReserve,
}

#[cfg(feature = "sabotage")]
mod on {
    use super::Guard;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static OFF: LazyLock<AtomicU64> = LazyLock::new(|| {
        let number = std::env::var("TCASM_SABOTAGE")
            .ok()
            .and_then(|n| n.parse::<u8>().ok());
        AtomicU64::new(number.map_or(0, |n| 1 << (n % 64)))
    });

    /// Returns true if `guard` is switched off: by [`switch_off`], or in a child process by
    /// `TCASM_SABOTAGE=<number>`.
    pub fn off(guard: Guard) -> bool {
        OFF.load(Ordering::Relaxed) >> guard as u8 & 1 == 1
    }

    /// Switches `guard` off until the result is dropped.
    pub fn switch_off(guard: Guard) -> Off {
        OFF.fetch_or(1 << guard as u8, Ordering::SeqCst);
        Off(guard)
    }

    /// Switches its guard on again when dropped.
    pub struct Off(Guard);

    impl Drop for Off {
        fn drop(&mut self) {
            OFF.fetch_and(!(1 << self.0 as u8), Ordering::SeqCst);
        }
    }
}

#[cfg(feature = "sabotage")]
pub use on::{Off, off, switch_off};

/// Returns true if `guard` is switched off, which never happens in a build without the feature
/// `sabotage`.
#[cfg(not(feature = "sabotage"))]
#[inline(always)]
pub const fn off(_guard: Guard) -> bool {
    false
}
