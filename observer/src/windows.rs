//! The windows of one attachment. When a view is dropped its window is parked. The next view takes
//! the window and changes only chunks that differ.

use crate::error::ViewError;
use crate::pin::Pin;
use crate::session::Session;
use crate::window::{Place, Window};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_core::format::layout::Layout;
use tcasm_core::sys::mem::MapError;

/// The most parked windows that are kept.
const PARKED: usize = 4;

/// The windows that no view uses at the moment.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    parked: Mutex<Vec<Window>>,
}

impl Windows {
    /// Returns a window that shows the version of `pin`.
    pub(crate) fn show(&self, pin: &Pin, place: Place) -> Result<Window, ViewError> {
        let session = &pin.session;
        if session.forked() {
            return Err(ViewError::Forked);
        }
        let layout = *session.index()?.layout();
        let mut window = self.take(session, place, &layout)?;
        match window.show(pin, window.most()) {
            Err(ViewError::Map(MapError::TooManyMappings { .. })) => {
                // Other code has taken more than half of the process's mappings. Dropping the
                // parked windows frees theirs. A new window replaces this one, which is mapped in
                // part. All fragmented chunks are copied.
                drop(window);
                self.lock().clear();
                window = Window::reserve(session, place, &layout)?;
                window.show(pin, 0)?;
            }
            result => result?,
        }
        Ok(window)
    }

    /// Takes a parked window, or reserves a new one.
    fn take(&self, session: &Session, place: Place, layout: &Layout) -> Result<Window, ViewError> {
        let mut parked = self.lock();
        // The window that was parked last shows the newest version, so it has the least to change.
        let found = parked.iter().rposition(|w| w.place() == place);
        match found {
            Some(i) => Ok(parked.remove(i)),
            None => Window::reserve(session, place, layout),
        }
    }

    /// Parks `window` for the next view. In a forked child it is dropped instead: another thread of
    /// the parent may have held the lock at the fork, and then no thread of the child ever releases
    /// it.
    pub(crate) fn park(&self, window: Window, session: &Session) {
        if session.forked() {
            return;
        }
        let mut parked = self.lock();
        parked.push(window);
        if parked.len() > PARKED {
            parked.remove(0);
        }
    }

    /// Locks the parked windows. A panic while they were locked leaves them usable: windows are
    /// only pushed and removed.
    fn lock(&self) -> MutexGuard<'_, Vec<Window>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
