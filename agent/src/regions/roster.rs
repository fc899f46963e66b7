//! The ranks of a node, in numbers that can be added up over nodes.

/// The identity of a run: a hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl RunId {
    /// Returns the identity of the run with this name (FNV-1a, 64 bits).
    pub fn of(name: &str) -> RunId {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        RunId(hash)
    }
}

/// The ranks of one node, or of several.
///
/// Their number alone would not show that one rank is there twice while another is missing. So each
/// rank has a mark too, a pseudo-random number, and the marks are added up as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roster {
    /// The run of these ranks.
    pub run: RunId,
    /// The number of ranks of the whole job.
    pub ranks: u64,
    /// The number of these ranks.
    pub present: u64,
    /// The sum of their marks.
    pub marks: u64,
}

impl Roster {
    /// Describes `local`, which are some of the `ranks` ranks of a run.
    pub fn new(run: RunId, ranks: u32, local: impl IntoIterator<Item = u32>) -> Roster {
        let count = |(present, marks): (u64, u64), rank: u32| {
            (present + 1, marks.wrapping_add(mark(rank.into())))
        };
        let (present, marks) = local.into_iter().fold((0, 0), count);
        Roster {
            run,
            ranks: ranks.into(),
            present,
            marks,
        }
    }
}

/// Returns the sum of the marks of all ranks of a job.
pub(crate) fn marks_of_all(ranks: u64) -> u64 {
    (0..ranks).map(mark).fold(0, u64::wrapping_add)
}

/// Returns the mark of a rank (the mixing function of SplitMix64).
fn mark(rank: u64) -> u64 {
    let mut z = (rank + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_a_double_rank_from_a_missing_one() {
        let of = |ranks: &[u32]| Roster::new(RunId(1), 4, ranks.iter().copied());
        let all = of(&[2, 0, 3, 1]);
        assert_eq!((all.present, all.marks), (4, marks_of_all(4)));
        let double = of(&[0, 1, 2, 2]);
        assert_eq!(double.present, 4);
        assert_ne!(double.marks, marks_of_all(4));
    }

    #[test]
    fn runs_of_other_names_have_other_identities() {
        let names = ["", "a", "b", "ab", "ba", "job 7", "job 8"];
        for (i, one) in names.iter().enumerate() {
            for other in &names[i + 1..] {
                assert_ne!(RunId::of(one), RunId::of(other), "{one:?} {other:?}");
            }
        }
    }
}
