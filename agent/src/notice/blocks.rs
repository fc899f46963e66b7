//! The block table: which rank of which host has which part of each global array.
//!
//! It is JSON, so that any program can read it:
//!
//! ```json
//! {"hosts":[{"host":"node1","ranks":[0,1]}],
//!  "blocks":[{"field":"u","dtype":"f64","rank":0,"global":[100,8],"offset":[0,0],"count":[50,8]}]}
//! ```

use serde::{Deserialize, Serialize};
use tcasm_observer::GroupVersion;

/// The ranks of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRow {
    /// The name of the host.
    pub host: String,
    /// Its ranks, in ascending order.
    pub ranks: Vec<u32>,
}

/// The block that one rank has of one global array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRow {
    /// The name of the field.
    pub field: String,
    /// The type of its values.
    pub dtype: String,
    /// The rank.
    pub rank: u32,
    /// The shape of the global array.
    pub global: Vec<usize>,
    /// The global index of the first value of the block that is no ghost.
    pub offset: Vec<usize>,
    /// The extents of the block without ghosts.
    pub count: Vec<usize>,
}

/// The blocks of some hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTable {
    /// The hosts.
    pub hosts: Vec<HostRow>,
    /// The blocks, in the order of hosts and ranks.
    pub blocks: Vec<BlockRow>,
}

impl BlockTable {
    /// Returns the table of one host, whose ranks have these versions.
    pub fn of(host: &str, version: &GroupVersion) -> BlockTable {
        let ranks = version.members().map(|(rank, _)| rank).collect();
        let mut blocks = Vec::new();
        for (rank, member) in version.members() {
            for field in &member.table().fields {
                let Some(place) = &field.global else { continue };
                blocks.push(BlockRow {
                    field: field.name.clone(),
                    dtype: field.dtype.to_string(),
                    rank,
                    global: place.shape.clone(),
                    offset: place.offset.clone(),
                    count: field.interior_shape(),
                });
            }
        }
        let host = host.to_owned();
        BlockTable {
            hosts: vec![HostRow { host, ranks }],
            blocks,
        }
    }

    /// Returns the tables of several hosts as one. Hosts without ranks are left out.
    pub fn joined(tables: impl IntoIterator<Item = BlockTable>) -> BlockTable {
        let mut all = BlockTable::default();
        for table in tables {
            let with_ranks = |host: &HostRow| !host.ranks.is_empty();
            all.hosts.extend(table.hosts.into_iter().filter(with_ranks));
            all.blocks.extend(table.blocks);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(host: &str, rank: u32) -> BlockTable {
        BlockTable {
            hosts: vec![HostRow {
                host: host.into(),
                ranks: vec![rank],
            }],
            blocks: vec![BlockRow {
                field: "u".into(),
                dtype: "f64".into(),
                rank,
                global: vec![20],
                offset: vec![10 * rank as usize],
                count: vec![10],
            }],
        }
    }

    #[test]
    fn joined_tables_have_all_hosts_with_ranks_and_survive_json() {
        let idle = BlockTable {
            hosts: vec![HostRow {
                host: "idle".into(),
                ranks: vec![],
            }],
            blocks: vec![],
        };
        let all = BlockTable::joined([table("a", 0), idle, table("b", 1)]);
        let hosts: Vec<_> = all.hosts.iter().map(|h| h.host.as_str()).collect();
        assert_eq!(hosts, ["a", "b"]);
        assert_eq!(all.blocks[1].offset, [10]);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<BlockTable>(&text).unwrap(), all);
    }
}
