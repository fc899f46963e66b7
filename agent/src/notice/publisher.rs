//! Publishes each agreed step, and keeps its pins until the next one is published.

use super::blocks::BlockTable;
use super::region::{NoticeError, Region};
use crate::node::{Pinned, Progress, Round, Use, UseError};
use crate::relay::Shown;
use crate::transport::Exchange;
use tcasm_core::group::AgreedAttrs;

/// The place of an agent in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// The name of the group.
    pub group: String,
    /// The name of this host.
    pub host: String,
    /// The number of agents.
    pub agents: u32,
}

/// The use of agreed steps that publishes them on this host.
pub struct Notice<X> {
    whose: Whose,
    region: Region,
    exchange: X,
    /// An exchange of tables is in progress.
    exchanging: bool,
    /// The own table as the last exchange had it, and as it is now.
    given: BlockTable,
    own: BlockTable,
    /// The step that is published, with its pins.
    published: Option<Pinned>,
    /// A step that is not published yet, and the newest step when it was agreed.
    next: Option<(Pinned, u64)>,
    /// On an analysis node, the next step of its mirrors.
    shown: Shown,
}

impl<X: Exchange> Notice<X> {
    /// Creates the region. `exchange` is only for this. On a node without ranks, the steps are
    /// those that come as `shown`.
    pub fn new(whose: Whose, exchange: X, shown: Shown) -> Result<Self, NoticeError> {
        Ok(Notice {
            region: Region::create(&whose.group)?,
            whose,
            exchange,
            exchanging: false,
            given: BlockTable::default(),
            own: BlockTable::default(),
            published: None,
            next: None,
            shown,
        })
    }

    /// Publishes the next step, if there is one.
    fn publish(&mut self) -> Result<(), NoticeError> {
        let Some((next, newest)) = &self.next else {
            return Ok(());
        };
        let version = &next.pin;
        let attrs = AgreedAttrs {
            group: self.whose.group.clone(),
            run: version.run().to_owned(),
            ranks: version.ranks(),
            agents: self.whose.agents,
            newest: *newest,
        };
        if self
            .region
            .publish(version.step(), version.time(), &attrs)?
        {
            self.published = self.next.take().map(|(step, _)| step);
        }
        Ok(())
    }

    /// Takes the tables of all agents if they have come.
    fn exchange(&mut self) -> Result<(), UseError> {
        if !self.exchanging {
            return Ok(());
        }
        let Some(all) = self.exchange.poll()? else {
            return Ok(());
        };
        self.exchanging = false;
        let read = |(agent, bytes): (usize, &Vec<u8>)| {
            let table = serde_json::from_slice::<BlockTable>(bytes);
            table.map_err(|source| NoticeError::Table { agent, source })
        };
        let tables = all.iter().enumerate().map(read);
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        self.region.set_blocks(&BlockTable::joined(tables))?;
        // The newest step is published again, with the table.
        if self.next.is_none() {
            let newest = |step: Pinned| {
                let newest = step.of.step;
                (step, newest)
            };
            self.next = self.published.clone().map(newest);
        }
        Ok(())
    }
}

impl<X: Exchange> Use for Notice<X> {
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError> {
        if let Some(agreed) = round.agreed
            && self
                .published
                .as_ref()
                .is_none_or(|old| old.of != agreed.of)
        {
            self.own = BlockTable::of(&self.whose.host, &agreed.pin);
            self.next = Some((agreed.clone(), round.decision.newest(agreed.of)));
            self.publish()?;
        }
        let is_old = |old: &Pinned| {
            round
                .decision
                .agreed
                .is_some_and(|new| new.run != old.of.run)
        };
        if round.agreed.is_none() && self.published.as_ref().is_some_and(is_old) {
            // Mirrors of the next run need the memory.
            self.published = None;
        }
        // All agents have called together, so all begin now.
        if round.called && round.idle {
            self.given = self.own.clone();
            self.exchange
                .begin(serde_json::to_vec(&self.given).unwrap_or_default())?;
            self.exchanging = true;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<Progress, UseError> {
        self.exchange()?;
        if let Some(shown) = self.shown.take() {
            self.next = Some(shown);
        }
        self.publish()?;
        Ok(Progress {
            busy: self.exchanging,
            call: !self.exchanging && self.own != self.given,
            prepared: Vec::new(),
        })
    }
}
