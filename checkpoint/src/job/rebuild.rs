//! Rebuilds files of lost nodes from the files and the parity of the others.

use super::code;
use super::error::JobError;
use super::hashed;
use super::parity_file::{Header, Parity, data_piece, pieces};
use super::record::FileEntry;
use super::scheme::{Redundancy, Stripe};
use crate::error::WriteError;
use crate::file::{Fault, Mode, atomic, regular};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The rest of a set: for each member, the path of its file and its parity, if they are whole.
pub struct Left<'l> {
    /// The scheme of the set.
    pub redundancy: Redundancy,
    /// The files as they were, in the order of the set.
    pub entries: Vec<&'l FileEntry>,
    /// The paths of the files.
    pub files: Vec<Option<PathBuf>>,
    /// The parity of these files.
    pub parities: Vec<Option<Parity>>,
}

impl Left<'_> {
    /// Returns which members have their file, and which have their parity.
    pub fn there(&self) -> (Vec<bool>, Vec<bool>) {
        let files = self.files.iter().map(Option::is_some);
        let parities = self.parities.iter().map(Option::is_some);
        (files.collect(), parities.collect())
    }

    /// Returns true if the file of `member` can be rebuilt. With the redundancy that is left, that
    /// of another lost member may not be.
    pub fn is_enough_for(&self, member: usize) -> bool {
        let (files, parities) = self.there();
        self.redundancy.can_rebuild(member, &files, &parities)
    }

    /// Rebuilds the file of `member` in the folder `into`. It gets its name when its hash is right.
    pub fn rebuild(&self, member: usize, into: &Path, mode: Mode) -> Result<PathBuf, JobError> {
        let path = into.join(&self.entries[member].file);
        let fault = |e: io::Error| Fault::from(e).at(&path);
        let opened = Opened::of(self).map_err(fault)?;
        let chunk = opened.chunk;
        atomic::write(&path, mode, |pending| {
            for stripe in self.redundancy.stripes(self.files.len()) {
                let own = stripe.data.iter().position(|(m, _)| *m == member);
                let Some(own) = own else { continue };
                let start = stripe.data[own].1 as u64 * chunk;
                for (at, length) in pieces(chunk) {
                    let piece = opened.piece(&stripe, own, at, length)?;
                    pending.file().write_all_at(&piece, start + at)?;
                }
            }
            pending.file().set_len(self.entries[member].bytes)?;
            let found = hashed::check(&pending.here(), self.entries[member]);
            found.map_err(|why| {
                Fault::Write(WriteError::NotWritten {
                    path: path.clone(),
                    why,
                })
            })
        })?;
        Ok(path)
    }
}

/// The open files of a set.
struct Opened<'l> {
    files: Vec<Option<File>>,
    parities: &'l [Option<Parity>],
    chunk: u64,
}

impl<'l> Opened<'l> {
    fn of(left: &'l Left<'_>) -> io::Result<Self> {
        let files = left
            .files
            .iter()
            .map(|path| path.as_deref().map(regular::open).transpose());
        Ok(Opened {
            files: files.collect::<io::Result<_>>()?,
            parities: &left.parities,
            chunk: Header::chunk(left.redundancy, left.entries.iter().copied()),
        })
    }

    /// Returns a piece of data number `own` of a stripe.
    fn piece(&self, stripe: &Stripe, own: usize, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let data = stripe.data.iter().map(|(member, chunk)| {
            let file = self.files[*member].as_ref();
            file.map(|file| data_piece(file, self.chunk, *chunk, at, length))
                .transpose()
        });
        let parity = stripe.parity.iter().map(|member| {
            let parity = self.parities[*member].as_ref();
            parity
                .map(|parity| self.parity(parity, stripe, at, length))
                .transpose()
        });
        let data = data.collect::<io::Result<_>>()?;
        let parity = parity.collect::<io::Result<_>>()?;
        let mut all = code::decode(data, parity).map_err(io::Error::other)?;
        Ok(all.swap_remove(own))
    }

    /// Returns a piece of the parity of a stripe.
    fn parity(&self, of: &Parity, stripe: &Stripe, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let header = &of.header;
        let stripes = header.redundancy.stripes(header.set.len());
        let slots = header.stripes();
        let slot = slots.iter().position(|(s, _)| stripes[*s] == *stripe);
        let slot = slot.ok_or(io::ErrorKind::NotFound)?;
        of.get(slot, at, length)
    }
}
