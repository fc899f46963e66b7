//! The analysis node of each rank.

/// Returns the number of the analysis node that mirrors a rank.
pub(super) fn analysis_node(rank: u32, ranks: u64, nodes: usize) -> usize {
    let at = u128::from(rank) * nodes as u128 / u128::from(ranks.max(1));
    usize::try_from(at).map_or(0, |at| at.min(nodes.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_analysis_node_has_ranks_that_follow_each_other() {
        let of = |ranks: u32, nodes| -> Vec<usize> {
            (0..ranks)
                .map(|r| analysis_node(r, ranks.into(), nodes))
                .collect()
        };
        assert_eq!(of(6, 1), [0; 6]);
        assert_eq!(of(6, 2), [0, 0, 0, 1, 1, 1]);
        assert_eq!(of(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(of(2, 4), [0, 2]);
    }
}
