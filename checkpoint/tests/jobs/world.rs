//! A job whose nodes are threads, and the values that it has at each step.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcasm_checkpoint::Snapshot;
use tcasm_checkpoint::job::{
    Channels, JobCheckpoint, JobError, JobSettings, JobWriter, Messages, NodeSnapshot, Places,
    Redundancy, channels,
};
use tcasm_core::field::{Attr, Centering, DType, FieldDesc, FieldTable, GlobalPlace, Mesh, Order};
use tcasm_core::format::stamp::Stamp;
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

/// The fields of a rank, and their bytes.
pub struct State {
    pub table: FieldTable,
    pub bytes: BTreeMap<String, Vec<u8>>,
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

    /// Returns what a rank has at a step.
    pub fn state(&self, step: u64, rank: u32) -> State {
        let first = rank as usize * ROWS;
        let mut u = FieldDesc::new("u", DType::F64, &[ROWS + 2, COLUMNS]);
        u.ghosts = vec![[1, 1], [0, 0]];
        u.mesh = Some(Mesh {
            origin: [0.0, first as f64 * 0.5, 0.0],
            spacing: [0.25, 0.5, 1.0],
        });
        u.global = self
            .global
            .then(|| place([self.rows(), COLUMNS], [first, 0]));
        // A vector in Fortran order, in blocks along its second axis.
        let mut v = FieldDesc::new("v", DType::F32, &[5, 4]);
        (v.order, v.components, v.centering) = (Order::F, 3, Centering::Cell);
        v.global = Some(place(
            [5, 4 * self.ranks() as usize],
            [0, 4 * rank as usize],
        ));
        let mut list = FieldDesc::new("list", DType::I64, &[1 + rank as usize]);
        list.lost = rank == 1 && self.lost == Some(step);
        let rows = (first..first + ROWS + 2).map(|row| row as isize - 1);
        let u_values: Vec<f64> = rows
            .flat_map(|row| (0..COLUMNS).map(move |column| (row, column)))
            .map(|(row, column)| match usize::try_from(row) {
                Ok(row) if row < self.rows() => (self.u)(step, row, column),
                _ => -1.0,
            })
            .collect();
        let v_values: Vec<f32> = (0..60)
            .map(|i| v_value(step, i % 3, i / 3 % 5, rank as usize * 4 + i / 15))
            .collect();
        let list_values: Vec<i64> = (0..=i64::from(rank))
            .map(|i| step as i64 * 100 + i)
            .collect();
        let mut state = State {
            table: FieldTable {
                attrs: BTreeMap::from([("rank".to_owned(), Attr::Int(rank.into()))]),
                ..FieldTable::default()
            },
            bytes: BTreeMap::new(),
        };
        state.add(u, &u_values);
        if self.vector {
            state.add(v, &v_values);
        }
        state.add(list, &list_values);
        if self
            .more
            .is_some_and(|(from, of)| from <= step && of == rank)
        {
            state.add(FieldDesc::new("w", DType::F64, &[1]), &[step as f64]);
        }
        if self.meshes {
            crate::meshes::add(&mut state, step, rank);
        }
        state
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

impl State {
    /// Adds a field with its values, behind those that are there.
    pub fn add<T: bytemuck::NoUninit>(&mut self, mut field: FieldDesc, values: &[T]) {
        let last = self.table.fields.last();
        field.offset = last.map_or(0, |f| (f.offset + f.bytes()).next_multiple_of(4096));
        let bytes = bytemuck::cast_slice(values).to_vec();
        assert_eq!(bytes.len() as u64, field.bytes(), "{}", field.name);
        self.bytes.insert(field.name.clone(), bytes);
        self.table.fields.push(field);
    }
}

pub fn v_value(step: u64, component: usize, i: usize, j: usize) -> f32 {
    (step as usize * 10_000 + component * 1000 + i * 100 + j) as f32
}

fn place(shape: [usize; 2], offset: [usize; 2]) -> GlobalPlace {
    GlobalPlace {
        shape: shape.to_vec(),
        offset: offset.to_vec(),
    }
}

/// The writer of one node, and its part in rounds.
pub struct Node {
    pub world: World,
    pub writer: JobWriter<Channels>,
    pub rounds: Channels,
}

impl Node {
    /// Prepares a step, and learns by a round whether all nodes have prepared it.
    pub fn step(&mut self, step: u64) -> Result<bool, JobError> {
        let prepared = self.prepare(step);
        if let Err(JobError::Lost(lost)) = prepared {
            return Err(lost.into());
        }
        let all = self.round(prepared.is_ok())?;
        if all {
            self.writer.committed(step)?;
        }
        prepared.map(|()| all)
    }

    /// Prepares a step.
    pub fn prepare(&mut self, step: u64) -> Result<(), JobError> {
        let (world, node) = (&self.world, self.writer.node() as u32);
        let ranks = node * world.ranks_per_node..(node + 1) * world.ranks_per_node;
        let states: Vec<(u32, State)> = ranks.map(|rank| (rank, world.state(step, rank))).collect();
        let stamp = Stamp {
            version: step / 10,
            step,
            time: step as f64 / 100.0,
        };
        let members = states.iter().map(|(rank, state)| {
            let name = if *rank == 0 { "heat.0" } else { "heat.n" };
            let snapshot =
                Snapshot::new(name, stamp, &state.table, |field| &state.bytes[&field.name]);
            (*rank, snapshot)
        });
        let snapshot = NodeSnapshot {
            run: "run 1",
            ranks: world.ranks(),
            step,
            members: members.collect(),
        };
        let base = self.writer.base().filter(|_| world.increments);
        let older = |rank| base.map(|base| world.state(base, rank));
        let changed = |rank: u32, field: &str| {
            let (_, new) = states.iter().find(|(r, _)| *r == rank).unwrap();
            let older = older(rank).unwrap();
            changed_pages(&older.bytes[field], &new.bytes[field])
        };
        match base {
            Some(_) => self.writer.prepare(&snapshot, Some(&changed)),
            None => self.writer.prepare(&snapshot, None),
        }
    }

    /// Returns true if all nodes say so.
    fn round(&mut self, own: bool) -> Result<bool, JobError> {
        let node = self.rounds.node();
        let others: Vec<usize> = (0..self.rounds.nodes()).filter(|n| *n != node).collect();
        for other in &others {
            self.rounds.send(*other, vec![own.into()])?;
        }
        let mut all = own;
        for other in others {
            all &= self.rounds.receive(other)? == [1];
        }
        Ok(all)
    }
}

/// Returns the pages of a field that differ.
pub fn changed_pages(old: &[u8], new: &[u8]) -> Vec<Range<u64>> {
    const PAGE: usize = 4096;
    let pages = old.chunks(PAGE).zip(new.chunks(PAGE)).enumerate();
    let changed = pages.filter(|(_, (old, new))| old != new);
    changed
        .map(|(i, (_, new))| (i * PAGE) as u64..(i * PAGE + new.len()) as u64)
        .collect()
}

/// Runs a job: each node is a thread that runs `body`. Returns what each returned, `None` for
/// threads that panicked.
pub fn run<R: Send + 'static>(
    world: &World,
    body: impl Fn(&mut Node) -> R + Send + Sync + Clone + 'static,
) -> Vec<Option<R>> {
    let ends = channels(world.nodes).into_iter().zip(channels(world.nodes));
    let threads: Vec<_> = ends
        .enumerate()
        .map(|(node, (messages, rounds))| {
            let (world, body) = (world.clone(), body.clone());
            std::thread::spawn(move || {
                let group = format!("host{node}");
                let writer = JobWriter::connect(world.settings(node), &group, messages).unwrap();
                let mut node = Node {
                    world,
                    writer,
                    rounds,
                };
                body(&mut node)
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().ok())
        .collect()
}

/// Runs a job through these steps, all of which must be committed.
pub fn run_steps(world: &World, steps: &[u64]) {
    let steps = steps.to_vec();
    let done = run(world, move |node| {
        for step in &steps {
            assert!(node.step(*step).unwrap(), "step {step}");
        }
    });
    assert!(done.iter().all(Option::is_some));
}
