//! Groups: regions of several processes (ranks) whose versions belong together by their steps. Here
//! is how producers name and describe them, so that observers find them.

mod agreed;

pub use agreed::{AgreedAttrs, BLOCKS, agreed_region};

use crate::field::Attr;
use std::collections::BTreeMap;
use thiserror::Error;

/// The names of the attributes that describe a member of a group.
const GROUP: &str = "group";
const RANK: &str = "rank";
const RANKS: &str = "ranks";
const LOCAL_RANKS: &str = "local_ranks";
const RUN: &str = "run";

/// The reason why a group cannot have such a member.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
pub enum BadMember {
    /// The rank is not one of the group's.
    #[error("rank {rank} is not one of {ranks} ranks: they are numbered from 0")]
    Rank {
        /// The rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// The number of ranks on this host is not possible.
    #[error("{local_ranks} ranks on this host do not fit {ranks} ranks in all")]
    LocalRanks {
        /// The number of ranks on this host.
        local_ranks: u32,
        /// The number of ranks.
        ranks: u32,
    },
}

/// The place of a region in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the group.
    pub group: String,
    /// The number of this member, from 0.
    pub rank: u32,
    /// The number of members on all hosts.
    pub ranks: u32,
    /// The number of members on this host.
    pub local_ranks: u32,
    /// The name of the run, which is the same in all members that were started together.
    pub run: String,
}

impl Member {
    /// Checks that there can be such a member.
    pub fn check(&self) -> Result<(), BadMember> {
        let (rank, ranks, local_ranks) = (self.rank, self.ranks, self.local_ranks);
        if rank >= ranks {
            return Err(BadMember::Rank { rank, ranks });
        }
        match (1..=ranks).contains(&local_ranks) {
            true => Ok(()),
            false => Err(BadMember::LocalRanks { local_ranks, ranks }),
        }
    }

    /// Returns the name of the region.
    pub fn region(&self) -> String {
        region_name(&self.group, self.rank)
    }

    /// Returns the attributes of the region that say all this.
    pub fn attrs(&self) -> [(String, Attr); 5] {
        let number = |name: &str, n: u32| (name.to_owned(), Attr::Int(n.into()));
        [
            (GROUP.to_owned(), Attr::Text(self.group.clone())),
            number(RANK, self.rank),
            number(RANKS, self.ranks),
            number(LOCAL_RANKS, self.local_ranks),
            (RUN.to_owned(), Attr::Text(self.run.clone())),
        ]
    }

    /// Reads the place of a region from its attributes. The error says what is wrong with them.
    pub fn from_attrs(attrs: &BTreeMap<String, Attr>) -> Result<Member, String> {
        let text = |name: &str| match attrs.get(name) {
            Some(Attr::Text(text)) => Ok(text.clone()),
            other => Err(format!("its attribute {name:?} is {other:?}, not a text")),
        };
        let number = |name: &str| match attrs.get(name) {
            Some(Attr::Int(n)) => u32::try_from(*n).map_err(|_| format!("its {name:?} is {n}")),
            other => Err(format!("its attribute {name:?} is {other:?}, not a number")),
        };
        let member = Member {
            group: text(GROUP)?,
            rank: number(RANK)?,
            ranks: number(RANKS)?,
            local_ranks: number(LOCAL_RANKS)?,
            run: text(RUN)?,
        };
        member.check().map_err(|bad| bad.to_string())?;
        Ok(member)
    }
}

/// Returns the name of the region of `rank` in `group`.
pub fn region_name(group: &str, rank: u32) -> String {
    format!("{group}.{rank}")
}

/// Returns the rank in `group` whose region has this name.
pub fn rank_of(group: &str, region: &str) -> Option<u32> {
    let rank = region
        .strip_prefix(group)?
        .strip_prefix('.')?
        .parse()
        .ok()?;
    // Other texts of the same number, such as "+1" and "01", are other names.
    (region_name(group, rank) == region).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        Member {
            group: "heat".into(),
            rank: 3,
            ranks: 8,
            local_ranks: 4,
            run: "job 7".into(),
        }
    }

    #[test]
    fn attributes_say_everything_about_a_member() {
        let attrs = BTreeMap::from(member().attrs());
        assert_eq!(Member::from_attrs(&attrs), Ok(member()));
        for name in attrs.keys() {
            let mut fewer = attrs.clone();
            fewer.remove(name);
            let why = Member::from_attrs(&fewer).unwrap_err();
            assert!(why.contains(&format!("{name:?}")), "{why}");
        }
        for wrong in [-1, i64::from(u32::MAX) + 1, 8] {
            let mut attrs = attrs.clone();
            attrs.insert(RANK.into(), Attr::Int(wrong));
            let why = Member::from_attrs(&attrs).unwrap_err();
            assert!(why.contains(&wrong.to_string()), "{why}");
        }
    }

    #[test]
    fn impossible_members_are_refused() {
        let check = |rank, ranks, local_ranks| {
            let counts = Member {
                rank,
                ranks,
                local_ranks,
                ..member()
            };
            counts.check().is_ok()
        };
        assert!(check(0, 1, 1) && check(7, 8, 1) && check(0, 8, 8));
        assert!(!check(0, 0, 0) && !check(8, 8, 8) && !check(0, 8, 0) && !check(0, 8, 9));
    }

    #[test]
    fn only_the_names_that_members_have_are_found() {
        assert_eq!(rank_of("heat", &member().region()), Some(3));
        for other in [
            "heat", "heat.", "heat.x", "heat.01", "heat.+1", "heat.2.1", "heats.1",
        ] {
            assert_eq!(rank_of("heat", other), None, "{other}");
        }
        assert_eq!(rank_of("heat.2", "heat.2.1"), Some(1));
    }
}
