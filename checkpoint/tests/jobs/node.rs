//! The nodes of a job, which are threads.

use crate::state::State;
use crate::world::World;
use std::ops::Range;
use tcasm_checkpoint::Snapshot;
use tcasm_checkpoint::job::{Channels, JobError, JobWriter, Messages, NodeSnapshot, channels};
use tcasm_core::format::stamp::Stamp;

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
fn changed_pages(old: &[u8], new: &[u8]) -> Vec<Range<u64>> {
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
