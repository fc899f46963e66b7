//! The contribution of one agent to a round, and the result of the round, which has the same form.

use super::steps::Steps;
use crate::regions::{Roster, Span};

/// The most steps that an agent offers.
pub const MOST_HELD: usize = 32;
/// The most prepared steps that an agent names.
pub const MOST_PREPARED: usize = 16;

/// The contribution of one agent, or several merged ones.
///
/// [`merge`](Self::merge) is commutative and associative, and [`NOTHING`](Self::NOTHING) is its
/// identity. So a reduction may merge the offers in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The number of ranks that have the held steps.
    pub present: u64,
    /// The sum of the marks of these ranks (see [`Roster`]).
    pub marks: u64,
    /// The numbers of ranks that their jobs have. They must be the same.
    pub ranks: Span,
    /// The runs of these ranks. They must be the same.
    pub run: Span,
    /// The newest steps of ranks: the greatest, and that of the slowest rank.
    pub newest: Span,
    /// The wishes of all, one bit each.
    pub wishes: u64,
    /// The steps whose versions all these ranks have, pinned.
    pub held: Steps<MOST_HELD>,
    /// The steps that are prepared for a commit on all these nodes.
    pub prepared: Steps<MOST_PREPARED>,
}

impl Offer {
    /// The offer of an agent without regions.
    pub const NOTHING: Offer = Offer {
        present: 0,
        marks: 0,
        ranks: Span::EMPTY,
        run: Span::EMPTY,
        newest: Span::EMPTY,
        wishes: 0,
        held: Steps::ALL,
        prepared: Steps::ALL,
    };

    /// Returns the offer of an agent with regions of these ranks.
    pub fn of(roster: &Roster, newest: Span, held: impl IntoIterator<Item = u64>) -> Offer {
        Offer {
            present: roster.present,
            marks: roster.marks,
            ranks: Span::one(roster.ranks),
            run: Span::one(roster.run.0),
            newest,
            wishes: 0,
            held: Steps::greatest(held),
            prepared: Steps::greatest([]),
        }
    }

    /// Returns both offers as one.
    pub fn merge(self, other: &Offer) -> Offer {
        Offer {
            present: self.present.wrapping_add(other.present),
            marks: self.marks.wrapping_add(other.marks),
            ranks: self.ranks.with(other.ranks),
            run: self.run.with(other.run),
            newest: self.newest.with(other.newest),
            wishes: self.wishes | other.wishes,
            held: self.held.common(&other.held),
            prepared: self.prepared.common(&other.prepared),
        }
    }
}
