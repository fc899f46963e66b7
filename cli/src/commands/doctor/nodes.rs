//! The nodes of memory of this machine (NUMA), and whether memory can be placed on them.

use serde::Serialize;
use tcasm_core::sys::numa;

/// The nodes, and why memory is not placed on them.
#[derive(Debug, Serialize)]
pub struct Nodes {
    pub nodes: Vec<Node>,
    /// The reason why the kernel does not place memory on nodes for this process, if there is one.
    pub refused: Option<String>,
}

/// One node.
#[derive(Debug, Serialize)]
pub struct Node {
    pub number: u32,
    pub processors: Vec<usize>,
}

impl Nodes {
    /// Reads the nodes, and tries to place a page on one.
    pub fn check() -> Self {
        let node = |node: &numa::Node| Node {
            number: node.number,
            processors: node.processors.clone(),
        };
        Nodes {
            nodes: numa::nodes().iter().map(node).collect(),
            refused: numa::refusal(),
        }
    }

    /// Describes the nodes in one line.
    pub fn text(&self) -> String {
        let node = |node: &Node| {
            let (number, processors) = (node.number, node.processors.len());
            format!("node {number}: {processors} processors")
        };
        let list: Vec<String> = self.nodes.iter().map(node).collect();
        match (self.nodes.len(), &self.refused) {
            (0, _) => "unknown".to_owned(),
            (1, _) => "1".to_owned(),
            (n, None) => format!("{n} ({}); frames follow live memory", list.join(", ")),
            (n, Some(_)) => format!("{n} ({}); not used: see below", list.join(", ")),
        }
    }

    /// Returns what to do if the kernel refuses to place memory on one of several nodes.
    pub fn advice(&self) -> Vec<String> {
        let refused = self.refused.iter().filter(|_| self.nodes.len() > 1);
        let advice = refused.map(|reason| {
            format!(
                "for memory on several nodes: {reason}; allow mbind and move_pages, in a container \
                 by its seccomp profile"
            )
        });
        advice.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: u32, refused: Option<&str>) -> Nodes {
        let node = |number| Node {
            number,
            processors: vec![2 * number as usize, 2 * number as usize + 1],
        };
        Nodes {
            nodes: (0..count).map(node).collect(),
            refused: refused.map(str::to_owned),
        }
    }

    #[test]
    fn a_refusal_matters_only_where_there_are_several_nodes() {
        let one = nodes(1, Some("no mbind"));
        assert_eq!((one.text().as_str(), one.advice().len()), ("1", 0));
        let two = nodes(2, Some("no mbind"));
        assert!(two.text().contains("see below"), "{}", two.text());
        assert!(two.advice()[0].contains("no mbind"));
        let two = nodes(2, None);
        let wanted = "2 (node 0: 2 processors, node 1: 2 processors); frames follow live memory";
        assert_eq!((two.text().as_str(), two.advice().len()), (wanted, 0));
        assert_eq!(nodes(0, None).text(), "unknown");
    }
}
