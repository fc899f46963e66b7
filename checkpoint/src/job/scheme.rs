//! The redundancy between the nodes of a set: which chunks of which files become which parity.
//!
//! The file of each node is cut into as many chunks as the scheme says, all of one length, the last
//! ones filled up with zeros. A *stripe* has at most one chunk of each node, and parity of these
//! chunks on other nodes. Stripe `s` of a set of `n` nodes:
//!
//! ```text
//! partner        data: node s-1 (its whole file)              parity: node s
//! xor            data: all nodes but s                        parity: node s
//! reed-solomon   data: all nodes but s and s+1                parity: nodes s and s+1
//! ```
//!
//! Each node uses its chunks in the order in which the stripes follow each other after its own
//! number.

use serde::{Deserialize, Serialize};

/// The redundancy between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Redundancy {
    /// None. A checkpoint survives the loss of a node only if it is drained.
    None,
    /// Each node has a copy of the file of the node before it in its set. Survives the loss of a
    /// node per set, and of more that are not neighbours. Takes as much room as the files.
    Partner,
    /// Parity by exclusive or, with rotating chunks. Survives the loss of one node per set. In a
    /// set of n nodes, takes 1/(n-1) of the room of the files.
    #[default]
    Xor,
    /// Reed-Solomon codes. Survives the loss of two nodes per set. In a set of n nodes, takes
    /// 2/(n-2) of the room of the files.
    ReedSolomon,
}

/// A stripe of a set: chunks of its members, and the members that have their parity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// The members with data, and the number of the chunk of each.
    pub data: Vec<(usize, usize)>,
    /// The members with parity.
    pub parity: Vec<usize>,
}

impl Stripe {
    /// Returns the number of the chunk that the stripe has of a member's file.
    pub fn chunk_of(&self, member: usize) -> Option<usize> {
        let mut data = self.data.iter();
        data.find(|(m, _)| *m == member).map(|(_, chunk)| *chunk)
    }
}

impl Redundancy {
    /// Returns how many nodes a set must have.
    pub fn least_nodes(self) -> usize {
        match self {
            Redundancy::None => 1,
            Redundancy::Partner | Redundancy::Xor => 2,
            Redundancy::ReedSolomon => 3,
        }
    }

    /// Returns how many nodes of a set may be lost, whichever they are.
    pub fn losses(self) -> usize {
        match self {
            Redundancy::None => 0,
            Redundancy::Partner | Redundancy::Xor => 1,
            Redundancy::ReedSolomon => 2,
        }
    }

    /// Returns the number of chunks of each file in a set of `n` nodes.
    pub(super) fn chunks(self, n: usize) -> usize {
        match self {
            Redundancy::None | Redundancy::Partner => 1,
            Redundancy::Xor | Redundancy::ReedSolomon => n.saturating_sub(self.losses()).max(1),
        }
    }

    /// Returns the stripes of a set of `n` nodes, which must be enough for the scheme.
    pub(super) fn stripes(self, n: usize) -> Vec<Stripe> {
        let stripe = |s: usize| match self {
            Redundancy::None => None,
            Redundancy::Partner => Some(Stripe {
                data: vec![((s + n - 1) % n, 0)],
                parity: vec![s],
            }),
            Redundancy::Xor | Redundancy::ReedSolomon => {
                let parity: Vec<usize> = (0..self.losses()).map(|i| (s + i) % n).collect();
                let data = (0..n).filter(|member| !parity.contains(member));
                // The stripes of a member follow its own number, so its first chunk is in the
                // stripe after it.
                let chunk = |member: usize| (member, (s + n - member - 1) % n);
                let data = data.map(chunk).collect();
                Some(Stripe { data, parity })
            }
        };
        (0..n).filter_map(stripe).collect()
    }

    /// Returns the name of the scheme.
    pub fn name(self) -> &'static str {
        match self {
            Redundancy::None => "none",
            Redundancy::Partner => "partner",
            Redundancy::Xor => "xor",
            Redundancy::ReedSolomon => "reed-solomon",
        }
    }

    /// Returns true if all chunks of the file of `member` can be had. `files` and `parities` say
    /// which members have a file and parity.
    pub(super) fn can_rebuild(self, member: usize, files: &[bool], parities: &[bool]) -> bool {
        let mut own = self.stripes(files.len());
        own.retain(|stripe| stripe.data.iter().any(|(m, _)| *m == member));
        let is_enough = |stripe: &Stripe| {
            let lost = stripe.data.iter().filter(|(m, _)| !files[*m]);
            let parity = stripe.parity.iter().filter(|m| parities[**m]);
            lost.count() <= parity.count()
        };
        files[member] || !own.is_empty() && own.iter().all(is_enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ALL: [Redundancy; 3] = [
        Redundancy::Partner,
        Redundancy::Xor,
        Redundancy::ReedSolomon,
    ];

    #[test]
    fn each_chunk_is_in_one_stripe_and_no_stripe_has_a_node_twice() {
        for scheme in ALL {
            for n in scheme.least_nodes()..9 {
                let stripes = scheme.stripes(n);
                let all: Vec<_> = stripes.iter().flat_map(|s| s.data.clone()).collect();
                let chunks = scheme.chunks(n);
                let wanted: BTreeSet<_> = (0..n)
                    .flat_map(|m| (0..chunks).map(move |c| (m, c)))
                    .collect();
                assert_eq!(all.len(), wanted.len(), "{scheme:?} {n}");
                assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), wanted);
                for Stripe { data, parity } in stripes {
                    let members = data.iter().map(|(member, _)| member).chain(&parity);
                    assert_eq!(
                        members.collect::<BTreeSet<_>>().len(),
                        data.len() + parity.len()
                    );
                }
            }
        }
    }

    #[test]
    fn schemes_survive_the_losses_that_they_promise() {
        for scheme in ALL {
            for n in scheme.least_nodes()..9 {
                for lost in 0..1_u32 << n {
                    let there: Vec<bool> = (0..n).map(|node| lost >> node & 1 == 0).collect();
                    let can = (0..n).all(|member| scheme.can_rebuild(member, &there, &there));
                    if lost.count_ones() as usize <= scheme.losses() {
                        assert!(can, "{scheme:?} {n} {lost:b}");
                    } else if scheme != Redundancy::Partner {
                        assert!(!can, "{scheme:?} {n} {lost:b}");
                    }
                }
            }
        }
        assert!(!Redundancy::None.can_rebuild(1, &[true, false], &[true, true]));
    }
}
