//! The end of an analysis node: stores what comes in mirror regions, and publishes each step in all
//! of them.

use super::layout::analysis_node;
use super::mirror::Mirror;
use super::wire::{self, Head, Received};
use crate::node::UseError;
use crate::transport::Post;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tcasm_core::field::FieldTable;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 32;
/// How long a step may wait for observers of mirrors to leave room for it.
const ROOM: Duration = Duration::from_secs(1);

/// The receiver.
pub(super) struct Receiver {
    /// The number of this analysis node, and of all.
    place: (usize, usize),
    mirrors: BTreeMap<u32, Mirror>,
    /// The ranks whose step this node receives now.
    receiving: Option<Vec<u32>>,
    /// When all of the step had come.
    came: Option<Instant>,
}

impl Receiver {
    pub(super) fn new(place: (usize, usize)) -> Receiver {
        Receiver {
            place,
            mirrors: BTreeMap::new(),
            receiving: None,
            came: None,
        }
    }

    /// Expects a step of a job of so many ranks.
    pub(super) fn begin(&mut self, ranks: u64) {
        let here = |rank: &u32| analysis_node(*rank, ranks, self.place.1) == self.place.0;
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        let own: Vec<u32> = (0..ranks).filter(here).collect();
        // Mirrors of ranks that do not exist any more end.
        self.mirrors.retain(|rank, _| own.contains(rank));
        self.receiving = Some(own);
    }

    /// Receives what has come. Returns true if the step is not published yet.
    pub(super) fn turn(&mut self, post: &mut impl Post) -> Result<bool, UseError> {
        let Some(own) = &self.receiving else {
            return Ok(false);
        };
        let own = own.clone();
        for _ in 0..PER_TURN {
            let Some(message) = post.receive()? else {
                break;
            };
            self.take(&message.bytes, own.len())?;
        }
        let complete = |rank: &u32| self.mirrors.get(rank).is_some_and(|m| m.complete);
        if !own.iter().all(complete) {
            return Ok(true);
        }
        let since = *self.came.get_or_insert_with(Instant::now);
        let mut published = true;
        for mirror in self.mirrors.values_mut() {
            published &= mirror.publish()?;
        }
        if !published && since.elapsed() < ROOM {
            return Ok(true);
        }
        (self.receiving, self.came) = (None, None);
        self.mirrors
            .values_mut()
            .for_each(|mirror| mirror.complete = false);
        Ok(false)
    }

    fn take(&mut self, message: &[u8], local: usize) -> Result<(), UseError> {
        match wire::read(message)? {
            Received::Begin(head, table) => self.begin_rank(*head, *table, local),
            Received::Data(rank, pieces) => {
                let mirror = self.mirror(rank)?;
                pieces.iter().try_for_each(|piece| mirror.store(piece))?;
                Ok(())
            }
            Received::End(rank) => {
                self.mirror(rank)?.complete = true;
                Ok(())
            }
        }
    }

    /// Begins a version of a rank, in a new region if its own cannot show it.
    fn begin_rank(&mut self, head: Head, table: FieldTable, local: usize) -> Result<(), UseError> {
        let rank = head.rank;
        if let Some(mirror) = self.mirrors.get_mut(&rank)
            && mirror.begin(&head, &table)?
        {
            return Ok(());
        }
        // The name must be free first.
        self.mirrors.remove(&rank);
        let local = u32::try_from(local).unwrap_or(u32::MAX);
        self.mirrors
            .insert(rank, Mirror::create(head, table, local)?);
        Ok(())
    }

    fn mirror(&mut self, rank: u32) -> Result<&mut Mirror, UseError> {
        let mirror = self.mirrors.get_mut(&rank);
        Ok(mirror.ok_or("a message is of a rank that has not begun")?)
    }
}
