//! One step of all ranks of a group.

use super::error::GroupError;
use crate::version::Version;
use tcasm_core::field::FieldDesc;
use tcasm_core::group::Member;

/// One step of a group: the versions of all ranks of this host that have this step, all pinned.
/// Clones share the pins. Dropping the last clone releases the versions.
#[derive(Clone, Debug)]
pub struct GroupVersion {
    /// The place of the first rank.
    first: Member,
    /// The versions by rank, of at least one rank.
    ranks: Vec<(u32, Version)>,
}

/// The part of a field that one rank has.
#[derive(Clone, Copy, Debug)]
pub struct FieldBlock<'v> {
    /// The rank.
    pub rank: u32,
    /// The version of the rank, whose views show the field.
    pub version: &'v Version,
    /// The description of the field in this rank.
    pub field: &'v FieldDesc,
}

impl GroupVersion {
    /// Combines the versions of `ranks`, which have the same step. Fails unless they are members of
    /// the same run of `group`, and all that are on this host. `why` says why others are absent.
    pub(super) fn new(
        group: &str,
        ranks: Vec<(u32, Version)>,
        why: impl Fn() -> String,
    ) -> Result<Self, GroupError> {
        let mut first: Option<Member> = None;
        for (rank, version) in &ranks {
            let member = member(group, *rank, version)?;
            same(first.get_or_insert_with(|| member.clone()), &member)?;
        }
        match first {
            Some(first) if first.local_ranks as usize == ranks.len() => {
                Ok(GroupVersion { first, ranks })
            }
            first => Err(GroupError::Absent {
                group: group.to_owned(),
                came: ranks.len(),
                wanted: first.map_or(0, |first| first.local_ranks),
                why: why(),
            }),
        }
    }

    /// Returns the name of the group.
    pub fn group(&self) -> &str {
        &self.first.group
    }

    /// Returns the name of the run that all ranks belong to, which may be empty.
    pub fn run(&self) -> &str {
        &self.first.run
    }

    /// Returns the number of ranks on all hosts.
    pub fn ranks(&self) -> u32 {
        self.first.ranks
    }

    /// Returns the step of the simulation, which is the same in all ranks.
    pub fn step(&self) -> u64 {
        self.ranks[0].1.step()
    }

    /// Returns the simulated time of the first rank.
    pub fn time(&self) -> f64 {
        self.ranks[0].1.time()
    }

    /// Returns the ranks of this host with their versions, in ascending order.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (u32, &Version)> {
        self.ranks.iter().map(|(rank, version)| (*rank, version))
    }

    /// Returns the version of one rank, if it is on this host.
    pub fn member(&self, rank: u32) -> Option<&Version> {
        let at = self.ranks.binary_search_by_key(&rank, |(rank, _)| *rank);
        at.ok().map(|at| &self.ranks[at].1)
    }

    /// Returns the blocks of field `name`, one of each rank that has such a field, in ascending
    /// order of ranks. Ranks may have different fields, and fields of the same name may have
    /// different shapes.
    pub fn blocks(&self, name: &str) -> impl Iterator<Item = FieldBlock<'_>> {
        self.members().filter_map(move |(rank, version)| {
            let field = version.field(name)?;
            Some(FieldBlock {
                rank,
                version,
                field,
            })
        })
    }
}

/// Returns the place of a version in the group.
fn member(group: &str, rank: u32, version: &Version) -> Result<Member, GroupError> {
    let wrong = |why| GroupError::NotMember {
        region: version.region().to_owned(),
        why,
    };
    let member = Member::from_attrs(&version.table().attrs).map_err(wrong)?;
    match member.group == group && member.rank == rank {
        true => Ok(member),
        false => Err(wrong(format!(
            "it is rank {} of group {:?}",
            member.rank, member.group
        ))),
    }
}

/// Checks that two members belong together.
fn same(one: &Member, other: &Member) -> Result<(), GroupError> {
    let regions = || [one.region(), other.region()];
    if one.run != other.run {
        return Err(GroupError::OtherRun {
            regions: regions(),
            runs: [one.run.clone(), other.run.clone()],
        });
    }
    for (what, found) in [
        ("ranks", [one.ranks, other.ranks]),
        ("ranks on this host", [one.local_ranks, other.local_ranks]),
    ] {
        if found[0] != found[1] {
            return Err(GroupError::Sizes {
                what,
                regions: regions(),
                found,
            });
        }
    }
    Ok(())
}
