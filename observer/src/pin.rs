//! A pin, and what was read of the version that it keeps.

use crate::error::ObserveError;
use crate::session::Session;
use std::sync::Arc;
use tcasm_core::field::FieldTable;
use tcasm_core::format::index::IndexError;
use tcasm_core::format::pagemap::PageMap;
use tcasm_core::format::stamp::Stamp;

/// A pin on a version, and what was read of the version. Dropping the pin releases the version.
pub(crate) struct Pin {
    pub(crate) session: Arc<Session>,
    /// The slot of the ring that holds the version.
    pub(crate) slot: usize,
    word: usize,
    pub(crate) stamp: Stamp,
    /// How many pages changed since the version before.
    pub(crate) changed: u64,
    /// When the version was published, in nanoseconds of the Unix epoch.
    pub(crate) published: u64,
    pub(crate) table: FieldTable,
}

impl Pin {
    /// Reads the properties of version `n` in slot `slot`, which pin word `word` holds. Releases
    /// the word if that fails.
    pub(crate) fn new(
        session: Arc<Session>,
        slot: usize,
        n: u64,
        word: usize,
    ) -> Result<Self, ObserveError> {
        let read = || -> Result<_, IndexError> {
            let index = session.index()?;
            Ok((
                index.stamp(slot)?,
                index.published(slot)?,
                index.table(slot)?,
            ))
        };
        match read() {
            Ok((stamp, (changed, published), table)) => {
                let stamp = Stamp {
                    version: n,
                    ..stamp
                };
                Ok(Pin {
                    session,
                    slot,
                    word,
                    stamp,
                    changed,
                    published,
                    table,
                })
            }
            Err(error) => {
                session.unpin(word);
                Err(error.into())
            }
        }
    }

    /// Returns the page map.
    pub(crate) fn map(&self) -> Result<PageMap<'_>, IndexError> {
        Ok(PageMap::new(self.session.index()?, self.slot))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.session.unpin(self.word);
    }
}
