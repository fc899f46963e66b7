//! A lost file of a node, and what is left of its set to rebuild it: files and parity, which one or
//! several processes have.

use super::code;
use super::parity_file::{Header, Parity, data_piece};
use super::plan::Key;
use super::record::{Commit, FileEntry};
use super::scheme::Stripe;
use crate::file::regular;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

/// A lost file, and the processes that have the rest of its set.
pub struct LostFile<'c> {
    commit: &'c Commit,
    set: &'c [usize],
    /// The member whose file is lost.
    member: usize,
    /// The length of the chunks of the set's files.
    chunk: u64,
    /// For each member, the process that has its file, and the one that has its parity.
    files: &'c [Option<usize>],
    parities: &'c [Option<usize>],
}

/// A stripe of a set, with its number.
pub type Numbered = (usize, Stripe);

/// A piece of a stripe.
#[derive(Clone, Copy)]
pub enum Piece {
    /// Of this chunk of the file of a member.
    Data { member: usize, chunk: usize },
    /// Of the parity that a member has of a stripe.
    Parity { member: usize, stripe: usize },
}

/// The bytes of a piece, or `None` if they could not be read.
pub type Bytes = Option<Vec<u8>>;

/// The files and the parity of a set that one process has, open.
pub struct Own {
    files: Vec<Option<File>>,
    parities: Vec<Option<Parity>>,
    chunk: u64,
}

impl Own {
    /// Reads a piece of a chunk.
    pub fn read(&self, piece: Piece, (at, length): (u64, u64)) -> Bytes {
        match piece {
            Piece::Data { member, chunk } => {
                let file = self.files.get(member)?.as_ref()?;
                data_piece(file, self.chunk, chunk, at, length).ok()
            }
            Piece::Parity { member, stripe } => {
                let parity = self.parities.get(member)?.as_ref()?;
                let stripes = parity.header.stripes();
                let slot = stripes.iter().position(|(number, _)| *number == stripe)?;
                parity.get(slot, at, length).ok()
            }
        }
    }
}

impl<'c> LostFile<'c> {
    /// Returns the file of `node`, and the processes that have the file and the parity of each
    /// member of its set, or `None` if it is in no set, or one of other members.
    pub fn new(
        commit: &'c Commit,
        node: usize,
        files: &'c [Option<usize>],
        parities: &'c [Option<usize>],
    ) -> Option<Self> {
        let set = commit.set_of(node)?;
        let entry = |node: &usize| commit.part(*node).map(|part| &part.file);
        let entries: Option<Vec<&FileEntry>> = set.iter().map(entry).collect();
        let is_one = set.len() == files.len() && set.len() == parities.len();
        is_one.then_some(LostFile {
            commit,
            set,
            member: set.iter().position(|other| *other == node)?,
            chunk: Header::chunk(commit.redundancy, entries?),
            files,
            parities,
        })
    }

    /// Returns true if it can be rebuilt. With the redundancy that is left, that of another lost
    /// node may not be.
    pub fn is_enough(&self) -> bool {
        let there = |all: &[Option<usize>]| all.iter().map(Option::is_some).collect::<Vec<_>>();
        let (files, parities) = (there(self.files), there(self.parities));
        let redundancy = self.commit.redundancy;
        redundancy.can_rebuild(self.member, &files, &parities)
    }

    /// Says what else is lost of its set, for an error.
    pub fn rest(&self) -> String {
        let gone = |holders: &[Option<usize>]| {
            let all = self.set.iter().zip(holders);
            let gone = all.filter(|(_, holder)| holder.is_none());
            gone.map(|(node, _)| *node).collect::<Vec<_>>()
        };
        format!(
            ". Of its set {:?}, with redundancy {}, the files of nodes {:?} and the parity of \
             nodes {:?} are lost",
            self.set,
            self.commit.redundancy.name(),
            gone(self.files),
            gone(self.parities)
        )
    }

    /// Opens what a process has of the set, which was found to be `whole` there.
    pub fn own(&self, process: usize, group: &str, whole: &BTreeMap<Key, PathBuf>) -> Own {
        let step = self.commit.step;
        let path = |node: &usize, is_parity| {
            let node = *node;
            whole.get(&Key {
                step,
                node,
                is_parity,
            })
        };
        let is_own = |holder: &Option<usize>| *holder == Some(process);
        let file = |(node, holder): (&usize, &Option<usize>)| {
            regular::open(path(node, false).filter(|_| is_own(holder))?).ok()
        };
        let parity = |(node, holder): (&usize, &Option<usize>)| {
            let header = Header::of(group, self.commit, *node)?;
            Parity::open(path(node, true).filter(|_| is_own(holder))?, &header).ok()
        };
        Own {
            files: self.set.iter().zip(self.files).map(file).collect(),
            parities: self.set.iter().zip(self.parities).map(parity).collect(),
            chunk: self.chunk,
        }
    }

    /// Returns the length of the chunks of the set's files.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Returns the stripes that have data of the lost file, and the number of its chunk in each.
    pub fn stripes(&self) -> Vec<(Numbered, usize)> {
        let all = self.commit.redundancy.stripes(self.set.len()).into_iter();
        let own = |(number, stripe): Numbered| {
            let chunk = stripe.chunk_of(self.member)?;
            Some(((number, stripe), chunk))
        };
        all.enumerate().filter_map(own).collect()
    }

    /// Returns the pieces of a stripe that are left, each with the process that has it. All
    /// processes have the same order.
    pub fn sources(&self, (number, stripe): &Numbered) -> Vec<(usize, Piece)> {
        let data = stripe.data.iter().filter_map(|&(member, chunk)| {
            let holder = self.files.get(member).copied().flatten()?;
            Some((holder, Piece::Data { member, chunk }))
        });
        let parity = stripe.parity.iter().filter_map(|&member| {
            let holder = self.parities.get(member).copied().flatten()?;
            let stripe = *number;
            Some((holder, Piece::Parity { member, stripe }))
        });
        data.chain(parity).collect()
    }

    /// Computes a piece of the lost file from pieces of a stripe.
    pub fn compute(&self, stripe: &Stripe, found: Vec<(Piece, Bytes)>) -> Result<Vec<u8>, String> {
        let mut data = vec![None; stripe.data.len()];
        let mut parity = vec![None; stripe.parity.len()];
        for (piece, bytes) in found {
            let (all, place) = match piece {
                Piece::Data { member, .. } => {
                    let is_it = |other: &(usize, usize)| other.0 == member;
                    (&mut data, stripe.data.iter().position(is_it))
                }
                Piece::Parity { member, .. } => {
                    let is_it = |other: &usize| *other == member;
                    (&mut parity, stripe.parity.iter().position(is_it))
                }
            };
            if let Some(place) = place {
                all[place] = bytes;
            }
        }
        let own = |(member, _): &(usize, usize)| *member == self.member;
        let own = stripe.data.iter().position(own);
        let piece = own.and_then(|own| {
            code::decode(data, parity)
                .map(|all| all.into_iter().nth(own))
                .transpose()
        });
        piece.unwrap_or_else(|| Err("a piece was not computed".to_owned()))
    }
}
