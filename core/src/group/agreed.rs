//! The region in which the agent of a host publishes what the agents of the job have agreed on.
//!
//! The region of group `heat` is called `heat.group`. Each of its versions stands for one agreed
//! step: it has that step and its simulated time, the attributes of [`AgreedAttrs`], and the field
//! [`BLOCKS`].

use super::{GROUP, RANKS, RUN};
use crate::field::Attr;
use std::collections::BTreeMap;

/// The name of the field with the block table: JSON in UTF-8, of variable length.
pub const BLOCKS: &str = "blocks";

const AGENTS: &str = "agents";
const NEWEST: &str = "newest";

/// The attributes of an agreed step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreedAttrs {
    /// The name of the group.
    pub group: String,
    /// The name of the run that the step is of.
    pub run: String,
    /// The number of ranks on all hosts.
    pub ranks: u32,
    /// The number of agents.
    pub agents: u32,
    /// The newest step that any rank had when this step was agreed.
    pub newest: u64,
}

impl AgreedAttrs {
    /// Returns the attributes of the region that say all this.
    pub fn attrs(&self) -> [(&'static str, Attr); 5] {
        [
            (GROUP, Attr::Text(self.group.clone())),
            (RUN, Attr::Text(self.run.clone())),
            (RANKS, Attr::Int(self.ranks.into())),
            (AGENTS, Attr::Int(self.agents.into())),
            // A number beyond the range of signed ones is shown as the largest.
            (
                NEWEST,
                Attr::Int(i64::try_from(self.newest).unwrap_or(i64::MAX)),
            ),
        ]
    }

    /// Reads them. The error says what is wrong with them.
    pub fn from_attrs(attrs: &BTreeMap<String, Attr>) -> Result<AgreedAttrs, String> {
        let text = |name: &str| match attrs.get(name) {
            Some(Attr::Text(text)) => Ok(text.clone()),
            other => Err(format!("its attribute {name:?} is {other:?}, not a text")),
        };
        let number = |name: &str| match attrs.get(name) {
            Some(Attr::Int(n)) if *n >= 0 => Ok(n.unsigned_abs()),
            other => Err(format!("its attribute {name:?} is {other:?}, not a number")),
        };
        let small = |name: &str| {
            u32::try_from(number(name)?).map_err(|_| format!("its {name:?} is too large"))
        };
        Ok(AgreedAttrs {
            group: text(GROUP)?,
            run: text(RUN)?,
            ranks: small(RANKS)?,
            agents: small(AGENTS)?,
            newest: number(NEWEST)?,
        })
    }
}

/// Returns the name of the region of agreed steps of `group`.
pub fn agreed_region(group: &str) -> String {
    format!("{group}.group")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_say_everything_about_an_agreed_step() {
        let agreed = AgreedAttrs {
            group: "heat".into(),
            run: "job 7".into(),
            ranks: 8,
            agents: 3,
            newest: 12,
        };
        let owned = agreed.attrs().map(|(name, value)| (name.to_owned(), value));
        let attrs = BTreeMap::from(owned);
        assert_eq!(AgreedAttrs::from_attrs(&attrs), Ok(agreed));
        for name in attrs.keys() {
            let mut fewer = attrs.clone();
            fewer.remove(name);
            let why = AgreedAttrs::from_attrs(&fewer).unwrap_err();
            assert!(why.contains(&format!("{name:?}")), "{why}");
        }
        let mut negative = attrs;
        negative.insert(NEWEST.into(), Attr::Int(-1));
        assert!(AgreedAttrs::from_attrs(&negative).is_err());
    }

    #[test]
    fn region_of_agreed_steps_is_no_member() {
        assert_eq!(super::super::rank_of("heat", &agreed_region("heat")), None);
    }
}
