//! The windows of one attachment. Views of the same version share a window if it shows all that
//! they need. When the last of them is dropped its window is parked. The next view of the same part
//! takes the window and changes only chunks that differ.

use crate::budget::{Usage, default_budget};
use crate::error::ViewError;
use crate::forced::Bounds;
use crate::part::Part;
use crate::pin::Pin;
use crate::session::Session;
use crate::window::{Place, Window};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tcasm_core::format::layout::Layout;
use tcasm_core::sys::mem::MapError;

/// The most parked windows that are kept of whole regions, and the most of parts.
const PARKED: usize = 4;
/// If a copy was refused, windows that were parked this many views ago are dropped with their
/// copies: the program had more views at once before than it has now.
const IDLE: u64 = 16;

/// The windows of one attachment.
#[derive(Debug)]
pub(crate) struct Windows {
    lists: Mutex<Lists>,
    usage: Arc<Usage>,
}

#[derive(Debug, Default)]
struct Lists {
    /// The windows that no view uses, each with the value of `made` when it was parked.
    parked: Vec<(u64, Window)>,
    /// The windows that views use. Some may be gone.
    used: Vec<Used>,
    /// How many views were made that did not share a window.
    made: u64,
}

/// A window that views use.
#[derive(Debug)]
struct Used {
    version: u64,
    place: Place,
    part: Part,
    window: Weak<Window>,
}

/// The version and the part of it that a view shows, and where.
struct Wanted<'v> {
    /// The version.
    pin: &'v Pin,
    place: Place,
    part: &'v Part,
    layout: Layout,
}

impl Windows {
    /// Returns the windows over a region of `bytes` bytes. There are none yet.
    pub(crate) fn new(bytes: usize) -> Self {
        Windows {
            lists: Mutex::default(),
            usage: Arc::new(Usage::new(default_budget(bytes))),
        }
    }

    /// Returns what the windows have taken.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Returns the number of windows.
    pub(crate) fn count(&self) -> usize {
        let lists = self.lock();
        let used = lists.used.iter().filter(|u| u.window.strong_count() > 0);
        lists.parked.len() + used.count()
    }

    /// Returns a window that shows at least `part` of the version of `pin`.
    pub(crate) fn show(
        &self,
        pin: &Pin,
        place: Place,
        part: &Part,
    ) -> Result<Arc<Window>, ViewError> {
        let (session, version) = (&pin.session, pin.stamp.version);
        if session.forked() {
            return Err(ViewError::Forked);
        }
        if let Some(window) = self.find(version, place, part) {
            return Ok(window);
        }
        let wanted = Wanted {
            pin,
            place,
            part,
            layout: *session.index()?.layout(),
        };
        let taken = self.take(&wanted);
        let shown = taken.and_then(|mut window| {
            window.show(pin, window.bounds())?;
            Ok(window)
        });
        let window = match shown {
            Err(error) if is_lack(&error) => self.show_flat(&wanted, needed(&error))?,
            shown => shown?,
        };
        Ok(self.lend(window, version))
    }

    /// Returns a window in which views show version number `version` at `place`, and `part` or more
    /// of it, if there is one.
    fn find(&self, version: u64, place: Place, part: &Part) -> Option<Arc<Window>> {
        let lists = self.lock();
        let mut same = lists
            .used
            .iter()
            .filter(|u| u.version == version && u.place == place && u.part.covers(part));
        same.find_map(|used| used.window.upgrade())
    }

    /// Takes a parked window of the same part, or reserves a new one, also in place of a window
    /// that is flat for a lack of mappings which has ended.
    fn take(&self, wanted: &Wanted<'_>) -> Result<Window, ViewError> {
        let mut lists = self.lock();
        // The window that was parked last shows the newest version, so it has the least to change.
        let fits = |(_, w): &(u64, Window)| w.place() == wanted.place && w.part() == wanted.part;
        if let Some(i) = lists.parked.iter().rposition(fits) {
            let window = lists.parked.remove(i).1;
            if !window.need_not_be_flat(lists.parked_mappings()) {
                return Ok(window);
            }
            lists.parked.clear();
        }
        self.reserve(wanted, false)
    }

    /// Shows the version in a new flat window, which needs the fewest mappings. Another window
    /// would need `unless_flat` mappings, if that is known.
    fn show_flat(
        &self,
        wanted: &Wanted<'_>,
        unless_flat: Option<usize>,
    ) -> Result<Window, ViewError> {
        // Dropping the parked windows frees their mappings.
        self.lock().parked.clear();
        let reserve = || -> Result<Window, ViewError> {
            let mut window = self.reserve(wanted, true)?;
            window.unless_flat = unless_flat;
            Ok(window)
        };
        let mut window = reserve()?;
        match window.show(wanted.pin, window.bounds()) {
            Err(ViewError::Map(MapError::TooManyMappings { .. })) => {
                // Other code has taken more than half of the process's mappings. A new window
                // replaces this one, which is mapped in part. All scattered chunks are copied.
                drop(window);
                window = reserve()?;
                window.show(wanted.pin, Bounds::FEWEST)?;
            }
            shown => shown?,
        }
        Ok(window)
    }

    /// Reserves a new window, which may be flat.
    fn reserve(&self, wanted: &Wanted<'_>, flat: bool) -> Result<Window, ViewError> {
        let kind = (wanted.place, wanted.part, flat);
        Window::reserve(&wanted.pin.session, kind, &wanted.layout, &self.usage)
    }

    /// Makes a window that shows version number `version` available to all views of it.
    fn lend(&self, mut window: Window, version: u64) -> Arc<Window> {
        let refused = window.was_refused();
        let window = Arc::new(window);
        let mut lists = self.lock();
        lists.made += 1;
        if refused {
            lists.drop_idle();
        }
        lists.used.retain(|used| used.window.strong_count() > 0);
        lists.used.push(Used {
            version,
            place: window.place(),
            part: window.part().clone(),
            window: Arc::downgrade(&window),
        });
        window
    }

    /// Parks `window` for the next view. In a forked child it is dropped instead: another thread of
    /// the parent may have held the lock at the fork, and then no thread of the child ever releases
    /// it.
    pub(crate) fn park(&self, window: Window, session: &Session) {
        if session.forked() {
            return;
        }
        let mut lists = self.lock();
        let made = lists.made;
        let whole = window.part().is_whole();
        lists.parked.push((made, window));
        lists.drop_oldest(whole);
    }

    /// Locks the lists. A panic while they were locked leaves them usable: windows are only pushed
    /// and removed.
    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a flat window may be possible where another window failed with `error`: it needs
/// fewer mappings, and its copies need less memory.
fn is_lack(error: &ViewError) -> bool {
    matches!(
        error,
        ViewError::TooManyMappings { .. }
            | ViewError::CopyMemory { .. }
            | ViewError::Map(MapError::TooManyMappings { .. })
    )
}

/// Returns the number of mappings that a window needed which failed with `error`, if it says so.
fn needed(error: &ViewError) -> Option<usize> {
    match error {
        ViewError::TooManyMappings { needed, .. } => Some(*needed),
        _ => None,
    }
}

impl Lists {
    /// Returns the number of mappings of the parked windows.
    fn parked_mappings(&self) -> usize {
        let windows = self.parked.iter();
        windows.map(|(_, window)| window.share.mappings()).sum()
    }

    /// Drops the oldest parked window of whole regions, or of parts, if there are too many of them.
    /// So views of many different parts do not cost the program the window of its whole views.
    fn drop_oldest(&mut self, whole: bool) {
        let parked = self.parked.iter().enumerate();
        let same = parked.filter(|(_, (_, window))| window.part().is_whole() == whole);
        let same: Vec<usize> = same.map(|(i, _)| i).collect();
        if same.len() > PARKED {
            self.parked.remove(same[0]);
        }
    }

    /// Drops parked windows that have copies and were not used lately.
    fn drop_idle(&mut self) {
        let made = self.made;
        let stays = |(at, w): &(u64, Window)| made - at <= IDLE || w.copied_bytes() == 0;
        self.parked.retain(stays);
    }
}
