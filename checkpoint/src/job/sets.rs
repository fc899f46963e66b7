//! Sets of nodes that protect each other. No two nodes of a set are in the same failure group, that
//! is, fail together.

use super::error::JobError;

/// Divides nodes into sets of about `size` nodes of different failure groups. `groups` has the name
/// of the failure group of each node. All sets have the same number of nodes, or one more. They are
/// smaller than `size` if a failure group has more nodes than there would be sets.
///
/// Fails if a set would have fewer than `least` nodes.
pub fn sets(groups: &[String], size: usize, least: usize) -> Result<Vec<Vec<usize>>, JobError> {
    let mut nodes: Vec<usize> = (0..groups.len()).collect();
    // The nodes of a failure group stand side by side, so they get different sets if there are as
    // many sets as nodes in the group.
    nodes.sort_by_key(|node| (&groups[*node], *node));
    let same = nodes.chunk_by(|a, b| groups[*a] == groups[*b]);
    let largest = same.max_by_key(|group| group.len()).unwrap_or_default();
    let count = (groups.len() / size.max(1)).max(largest.len()).max(1);
    if groups.len() / count < least {
        return Err(JobError::FewNodes {
            nodes: groups.len(),
            group: largest.first().map_or("", |node| &groups[*node]).to_owned(),
            of_group: largest.len(),
            least,
        });
    }
    let mut sets = vec![Vec::new(); count];
    for (i, node) in nodes.into_iter().enumerate() {
        sets[i % count].push(node);
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(groups: &[u8]) -> Vec<String> {
        groups.iter().map(|g| format!("rack{g}")).collect()
    }

    proptest! {
        #[test]
        fn sets_have_all_nodes_once_and_no_two_of_a_failure_group(
            groups in prop::collection::vec(0..20_u8, 1..60),
            size in 1..12_usize,
        ) {
            let groups = named(&groups);
            if let Ok(sets) = sets(&groups, size, 2) {
                let mut all = sets.concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..groups.len()).collect::<Vec<_>>());
                for set in sets {
                    prop_assert!(set.len() >= 2);
                    let mut names: Vec<_> = set.iter().map(|node| &groups[*node]).collect();
                    names.sort();
                    names.dedup();
                    prop_assert_eq!(names.len(), set.len());
                }
            }
        }
    }

    #[test]
    fn nodes_that_fail_together_cannot_protect_each_other() {
        let error = sets(&named(&[1, 1, 1, 2]), 8, 2).unwrap_err().to_string();
        assert!(
            error.contains("3 of the 4 nodes") && error.contains("rack1"),
            "{error}"
        );
        assert_eq!(sets(&named(&[1, 1, 2, 2]), 8, 2).unwrap(), [[0, 2], [1, 3]]);
        assert_eq!(sets(&named(&[1, 2, 3, 4, 5]), 2, 2).unwrap().len(), 2);
    }
}
