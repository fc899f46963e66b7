//! The tier that checkpoints are drained to, and which of its files are known to be readable.

use super::contents::Entry;
use super::open::Tier;
use super::stored;
use crate::error::{ReadError, WriteError};
use crate::file::{Fault, seal};
use crate::format::names::Found;
use std::collections::BTreeMap;
use std::io;

/// The slower tier, open for writing.
#[derive(Debug)]
pub struct Slow {
    /// The tier.
    pub tier: Tier,
    /// The seals of the files whose structure was checked since the tier was opened, by step.
    sound: BTreeMap<u64, String>,
}

/// The reason why a file is not the checkpoint that the manifest says.
enum Flaw {
    /// The file is gone, or another file has its name.
    Lost(String),
    /// The file is damaged.
    Damaged(String),
}

impl Slow {
    /// Returns `tier` with no file known to be readable yet.
    pub fn new(tier: Tier) -> Self {
        let sound = BTreeMap::new();
        Slow { tier, sound }
    }

    /// Returns true if `is_wanted` accepts the checkpoint of `step`, and it can be read from this
    /// tier alone. A file that is found to be gone or damaged is taken out of the manifest, so that
    /// it can be drained again.
    pub fn restores(
        &mut self,
        step: u64,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<bool, WriteError> {
        let contents = self.tier.contents();
        let item = contents.items.get(&step);
        if !item.is_some_and(|item| is_wanted(&item.entry)) || !contents.is_whole(step) {
            return Ok(false);
        }
        let chain: Vec<Entry> = contents.chain(step).cloned().collect();
        for entry in &chain {
            match self.flaw(entry)? {
                None => {}
                Some(Flaw::Lost(why)) => return self.tier.forget(entry.step, &why).map(|()| false),
                Some(Flaw::Damaged(why)) => {
                    return self.tier.set_aside(entry.step, &why).map(|()| false);
                }
            }
        }
        Ok(true)
    }

    /// Enters a copy whose bytes were verified.
    pub fn complete(&mut self, entry: &Entry) -> Result<(), WriteError> {
        self.tier.complete(entry.clone())?;
        self.sound.insert(entry.step, entry.seal.clone());
        Ok(())
    }

    /// Returns the flaw of the file of `entry`, if it has one.
    fn flaw(&mut self, entry: &Entry) -> Result<Option<Flaw>, WriteError> {
        let path = self.tier.path(entry);
        match seal::identity(&path) {
            Ok(Some(seal)) if seal == entry.seal => {}
            Ok(_) => return Ok(Some(Flaw::Lost("its file was replaced".to_owned()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Flaw::Lost("its file is gone".to_owned())));
            }
            Err(error) => return Err(Fault::from(error).at(&path)),
        }
        if self.sound.get(&entry.step) == Some(&entry.seal) {
            return Ok(None);
        }
        match Found::at(&path).map(|found| stored::describe(&found)) {
            // The file may be unreachable for now, so this is an error and not a flaw.
            Some(Err(error @ ReadError::Io { .. })) => Err(WriteError::Copy(error)),
            Some(Err(error)) => Ok(Some(Flaw::Damaged(error.to_string()))),
            _ => {
                self.sound.insert(entry.step, entry.seal.clone());
                Ok(None)
            }
        }
    }
}
