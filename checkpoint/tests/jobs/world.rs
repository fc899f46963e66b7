//! A job, and its folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcasm_checkpoint::job::{JobCheckpoint, JobError, JobSettings, Places, Redundancy, committed};
use xxhash_rust::xxh3::xxh3_64;

/// The columns of the global array `u`, and the rows of each rank.
pub const COLUMNS: usize = 300;
pub const ROWS: usize = 8;

/// A job.
#[derive(Clone)]
pub struct World {
    pub root: PathBuf,
    pub nodes: usize,
    pub ranks_per_node: u32,
    pub change: Arc<dyn Fn(&mut JobSettings) + Send + Sync>,
    /// True if nodes write increments where they may.
    pub increments: bool,
    /// False if `u` has no place in a global array.
    pub global: bool,
    /// False if ranks have no field `v`.
    pub vector: bool,
    /// True if ranks have named meshes.
    pub meshes: bool,
    /// The step from which on a rank has one more field, and the rank.
    pub more: Option<(u64, u32)>,
    /// The step at which the memory of `list` of rank 1 is lost.
    pub lost: Option<u64>,
    /// The values of `u` at a step, by global row and column.
    pub u: Arc<dyn Fn(u64, usize, usize) -> f64 + Send + Sync>,
}

impl World {
    pub fn new(root: &Path, nodes: usize, redundancy: Redundancy) -> World {
        for node in 0..nodes {
            std::fs::create_dir_all(root.join(format!("node{node}"))).unwrap();
        }
        std::fs::create_dir_all(root.join("slow")).unwrap();
        std::fs::create_dir_all(root.join("spare")).unwrap();
        World {
            root: root.to_owned(),
            nodes,
            ranks_per_node: 2,
            change: Arc::new(move |settings| settings.redundancy = redundancy),
            increments: false,
            global: true,
            vector: true,
            meshes: false,
            more: None,
            lost: None,
            u: Arc::new(|step, row, column| {
                (step * 1_000_000) as f64 + (row * 1000 + column) as f64
            }),
        }
    }

    /// Returns the same job with other settings.
    pub fn with(self, change: impl Fn(&mut JobSettings) + Send + Sync + 'static) -> World {
        let before = self.change.clone();
        World {
            change: Arc::new(move |settings| {
                before(settings);
                change(settings);
            }),
            ..self
        }
    }

    pub fn ranks(&self) -> u32 {
        self.nodes as u32 * self.ranks_per_node
    }

    pub fn rows(&self) -> usize {
        self.ranks() as usize * ROWS
    }

    pub fn local(&self, node: usize) -> PathBuf {
        self.root.join(format!("node{node}"))
    }

    pub fn slow(&self) -> PathBuf {
        self.root.join("slow")
    }

    pub fn settings(&self, node: usize) -> JobSettings {
        let mut settings = JobSettings::new("heat", self.local(node), self.slow());
        settings.drain_every = 0;
        (self.change)(&mut settings);
        settings
    }

    /// Returns the places of the files, with a folder for rebuilt ones.
    pub fn places(&self) -> Places {
        let locals: Vec<PathBuf> = (0..self.nodes).map(|node| self.local(node)).collect();
        Places::new(self.slow(), &locals).rebuild_in(self.root.join("spare"))
    }

    pub fn find(&self) -> Result<JobCheckpoint, JobError> {
        JobCheckpoint::find("heat", &self.places(), None)
    }

    /// Returns the committed steps.
    pub fn steps(&self) -> Vec<u64> {
        let steps = committed(&self.slow(), "heat").unwrap().into_iter();
        steps.map(|found| found.commit.step).collect()
    }

    /// Gives the job a manifest of more than 1 MiB, of which almost no line says anything.
    pub fn lengthen_manifest(&self) {
        let line = |json: &str| format!("{json}#{:016x}\n", xxh3_64(json.as_bytes()));
        let begin = line(r#"{"event":"begin","format":1,"group":"heat","created":1}"#);
        let removed = line(r#"{"event":"removed","step":1}"#);
        let text = begin + &removed.repeat((1 << 20) / removed.len() + 1);
        std::fs::write(self.manifest(), text).unwrap();
    }

    pub fn manifest(&self) -> PathBuf {
        self.slow().join("heat.job")
    }

    /// Removes the folder of a node with all that is in it.
    pub fn lose(&self, node: usize) {
        std::fs::remove_dir_all(self.local(node)).unwrap();
        std::fs::create_dir(self.local(node)).unwrap();
    }

    /// Empties the folder of rebuilt files.
    pub fn forget_rebuilt(&self) {
        std::fs::remove_dir_all(self.root.join("spare")).unwrap();
        std::fs::create_dir(self.root.join("spare")).unwrap();
    }

    /// Compares all values of a checkpoint with those of its step.
    pub fn check(&self, found: &JobCheckpoint) {
        assert_eq!(found.ranks(), self.ranks());
        for rank in 0..self.ranks() {
            let state = self.state(found.step(), rank);
            assert_eq!(found.rank(rank).unwrap().table, state.table);
            for (name, bytes) in &state.bytes {
                let mut read = vec![0; bytes.len()];
                found.read_block(rank, name, &mut read).unwrap();
                assert!(read == *bytes, "step {}, rank {rank}, {name}", found.step());
            }
        }
    }
}
