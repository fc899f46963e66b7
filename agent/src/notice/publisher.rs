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
    /// The step that is published, with its pins, and the newest step when it was agreed.
    published: Option<(Pinned, u64)>,
    /// The same of a step that is not published yet.
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
            self.published = self.next.take();
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
            self.next = self.published.clone();
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
                .is_none_or(|(old, _)| old.of != agreed.of)
        {
            self.own = BlockTable::of(&self.whose.host, &agreed.pin);
            self.next = Some((agreed.clone(), round.decision.newest(agreed.of)));
            self.publish()?;
        }
        let is_old = |(old, _): &(Pinned, u64)| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{Agreed, Decision, Held};
    use crate::regions::RunId;
    use crate::transport::Suspicion;
    use std::sync::Arc;
    use tcasm_core::group::agreed_region;
    use tcasm_observer::{GroupObserver, Observer};
    use tcasm_producer::{Group, Producer};
    use tcasm_tests::{PublishVisible, name};

    /// The exchange of a job with one agent.
    #[derive(Default)]
    struct Alone(Option<Vec<u8>>);

    impl Exchange for Alone {
        fn begin(&mut self, mine: Vec<u8>) -> Result<(), Suspicion> {
            self.0 = Some(mine);
            Ok(())
        }

        fn poll(&mut self) -> Result<Option<Vec<Vec<u8>>>, Suspicion> {
            Ok(self.0.take().map(|mine| vec![mine]))
        }
    }

    /// Returns the decision that a step is agreed which the fastest rank has passed by `lag`.
    fn decision(of: Agreed, lag: u64) -> Decision {
        Decision {
            round: 1,
            whole: true,
            agreed: Some(of),
            ranks: Some(1),
            is_new: true,
            lag: Some(lag),
            appointment: None,
            appointed: None,
            committed: None,
            wishes: 0,
        }
    }

    #[test]
    fn step_that_is_published_again_with_a_table_keeps_its_newest_step() {
        let group = name("notice");
        let member = Producer::builder(&group).group(Group::new(0, 1));
        let mut rank = member.capacity(1 << 20).create().unwrap();
        rank.publish_visible(5, 0.5).unwrap();
        let mut observer = GroupObserver::attach(&group).unwrap();
        let run = RunId(1);
        let of = Agreed { run, step: 5 };
        let pin = observer.latest().unwrap();
        let pinned = Arc::new(Held { of, pin });
        let whose = Whose {
            group: group.clone(),
            host: "a".to_owned(),
            agents: 1,
        };
        let mut notice = Notice::new(whose, Alone::default(), Shown::default()).unwrap();
        let decision = decision(of, 3);
        let round = Round {
            decision: &decision,
            agreed: Some(&pinned),
            idle: true,
            called: false,
            lost: false,
        };
        notice.decided(round).unwrap();
        assert!(notice.turn().unwrap().call);
        let called = true;
        notice.decided(Round { called, ..round }).unwrap();
        assert!(!notice.turn().unwrap().busy);
        let agreed = observer.agreed_step().unwrap();
        assert_eq!((agreed.step, agreed.newest), (5, 8));
        let mut region = Observer::attach(&agreed_region(&group)).unwrap();
        assert_eq!(region.latest().unwrap().number(), 2, "published twice");
    }
}
