//! The end of the program by `exit`, after its own handlers and destructors have run.

use crate::guard::guarded;
use crate::region::Region;
use crate::regions::Regions;

/// Ends the streams of all regions, so that observers know that no version follows. The memory
/// stays: other threads may still use it. If another thread is in a call of this library, the
/// regions end as those of a killed program do.
pub fn end_all() {
    guarded(|| {
        let mut locked = Regions::existing()?.try_lock()?;
        locked.all().for_each(Region::close);
        Some(())
    });
}
