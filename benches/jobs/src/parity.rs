//! The volumes and times of the redundancy that protects the files of a node against its loss.

/// The nodes of a set.
const SET: f64 = 8.0;

/// A redundancy between the nodes of a set. All volumes are in bytes of the node's own file.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// The name that `tcasm-agent --redundancy` knows.
    pub name: &'static str,
    /// The parity that a node keeps.
    pub parity: f64,
    /// The messages that a node sends, and receives.
    pub sent: f64,
    /// The GiB of files for which one processor makes the parity per second: reads the file, sends
    /// and receives, codes, writes and hashes. It was measured by the bench `parity`, with eight
    /// nodes that are threads, on two processors, on a file system in memory.
    pub rate: f64,
}

/// The schemes.
pub const SCHEMES: [Scheme; 3] = [
    Scheme {
        name: "partner",
        parity: 1.0,
        sent: 1.0,
        rate: 0.49,
    },
    Scheme {
        name: "xor",
        parity: 1.0 / (SET - 1.0),
        sent: 1.0,
        rate: 1.21,
    },
    Scheme {
        name: "reed-solomon",
        parity: 2.0 / (SET - 2.0),
        sent: 2.0,
        rate: 0.43,
    },
];

impl Scheme {
    /// Returns the seconds that a node needs for files of so many GiB, if it sends `network` GiB
    /// per second while its processor waits.
    pub fn seconds(&self, gib: f64, network: f64) -> f64 {
        gib / self.rate + gib * self.sent / network
    }
}
