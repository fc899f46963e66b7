//! The process of one node: two ranks that compute and publish, an agent, and the writer of
//! checkpoints. They take turns in one thread.

use crate::mesh::{Mesh, Rounds};
use crate::{NODES, RANKS, local, places};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tcasm_agent::{Agent, Decision, Observed, RunId, Settings};
use tcasm_checkpoint::job::{JobSettings, JobWriter, NodeSnapshot};
use tcasm_checkpoint::{Snapshot, changed_bytes};
use tcasm_observer::{GroupVersion, View};
use tcasm_producer::ndarray::{Ix1, Ix2};
use tcasm_producer::{Group, Producer};
use tcasm_restart::{ContinueJob, Start};
use tcasm_tests::PublishVisible;

pub const COLUMNS: usize = 600;
pub const ROWS: usize = 5;

/// Returns the value of `u` at a step. One row of each rank changes at each step.
pub fn value(step: u64, row: usize, column: usize) -> f64 {
    let (own, rows) = ((row % ROWS) as u64, ROWS as u64);
    let last = if step < own {
        0
    } else {
        step - (step - own) % rows
    };
    (last * 1_000_000) as f64 + (row * 1000 + column) as f64
}

/// Returns the value of a ghost layer, which never changes.
pub fn boundary(rank: u32, row: usize) -> f64 {
    -f64::from(rank * 10) - row as f64
}

type Rank = (Producer, u32);
type JobAgent = Agent<Observed, Rounds>;

#[test]
#[ignore = "a part of other tests"]
fn main() {
    let Ok(root) = std::env::var("JOB_ROOT").map(PathBuf::from) else {
        return;
    };
    let get = |name: &str| std::env::var(name).unwrap();
    let (node, run) = (get("JOB_NODE").parse().unwrap(), get("JOB_RUN"));
    let until: u64 = get("JOB_UNTIL").parse().unwrap();
    let (mut ranks, start) = begin(&root, node, &run);
    let sockets = root.join(format!("sockets-{run}"));
    std::fs::create_dir_all(&sockets).unwrap();
    let mesh = Mesh::connect(&sockets, "rounds", node, NODES);
    let rounds = Rounds { mesh, own: None };
    let settings = Settings {
        patience: Duration::ZERO,
        ..Settings::default()
    };
    let mut agent = Agent::new(Observed::new("heat"), rounds, settings);
    let mut settings = JobSettings::new("heat", local(&root, node), root.join("slow"));
    (settings.drain_every, settings.most_files) = (5, 4);
    let mesh = Mesh::connect(&sockets, "files", node, NODES);
    let mut writer = JobWriter::connect(settings, &format!("host {node}"), mesh).unwrap();
    let mut base: Option<GroupVersion> = None;
    for step in start + 1..=until {
        compute(&mut ranks, step);
        turn_until(&mut agent, |d| d.agreed.is_some_and(|of| of.step == step));
        let agreed = agent.agreed().unwrap().clone();
        prepare(&mut writer, &agreed.pin, base.as_ref());
        agent.prepared(agreed.of);
        assert_eq!(agreed.of.run, RunId::of(agreed.pin.run()));
        turn_until(&mut agent, |d| d.committed == Some(agreed.of));
        writer.committed(step).unwrap();
        println!("committed {step}");
        base = Some(agreed.pin.clone());
    }
}

/// Starts the ranks of this node where the last checkpoint of the job is, or at step 0.
fn begin(root: &std::path::Path, node: usize, run: &str) -> (Vec<Rank>, u64) {
    let first = node as u32 * 2;
    let mut step = 0;
    let ranks = (first..first + 2).map(|rank| {
        let group = Group::new(rank, RANKS).local_ranks(2).run(run);
        let builder = Producer::builder("heat").group(group.clone());
        let builder = builder.capacity(1 << 20).history(4).versions(12);
        let mut places = places(root);
        // Each node rebuilds for itself.
        places.rebuild_in = Some(root.join(format!("spare-{run}-{node}")));
        std::fs::create_dir_all(places.rebuild_in.as_ref().unwrap()).unwrap();
        match builder.restore_job_or_begin(&group, &places).unwrap() {
            Start::Restored(last) => {
                step = last.stamp.step;
                (last.producer, rank)
            }
            Start::New(producer) => (fresh(producer, rank), rank),
        }
    });
    (ranks.collect(), step)
}

/// Adds the fields of a rank, with the values of step 0.
fn fresh(mut producer: Producer, rank: u32) -> Producer {
    let first = rank as usize * ROWS;
    let u = producer
        .field::<f64, _>("u", [ROWS + 2, COLUMNS])
        .ghosts(&[[1, 1], [0, 0]])
        .global([ROWS * RANKS as usize, COLUMNS])
        .at([first, 0])
        .add()
        .unwrap();
    producer.field::<i64, _>("own", [1]).add().unwrap();
    let mut u = producer.view_mut(u).unwrap();
    for ((i, column), x) in u.indexed_iter_mut() {
        *x = match i {
            1..=ROWS => value(0, first + i - 1, column),
            _ => boundary(rank, i),
        };
    }
    producer
}

/// Computes a step in place: the rows that change, as a simulation does that continues.
fn compute(ranks: &mut [Rank], step: u64) {
    for (producer, rank) in ranks {
        let u = producer.handle::<f64, Ix2>("u").unwrap();
        let own = producer.handle::<i64, Ix1>("own").unwrap();
        let mut view = producer.view_mut(u).unwrap();
        for row in 0..ROWS {
            let global = *rank as usize * ROWS + row;
            if value(step, global, 0) != value(step - 1, global, 0) {
                let values = (0..COLUMNS).map(|column| value(step, global, column));
                view.row_mut(row + 1)
                    .iter_mut()
                    .zip(values)
                    .for_each(|(x, v)| *x = v);
            }
        }
        producer.view_mut(own).unwrap()[0] = step as i64 * 10 + i64::from(*rank);
        producer.publish_visible(step, step as f64 * 0.1).unwrap();
    }
}

/// Takes part in rounds until a decision is as wanted.
fn turn_until(agent: &mut JobAgent, wanted: impl Fn(&Decision) -> bool) {
    let start = Instant::now();
    loop {
        let decision = agent.turn(start.elapsed()).unwrap();
        if decision.is_some_and(|decision| wanted(&decision)) {
            return;
        }
    }
}

/// Prepares the agreed step, as an increment if that may be.
fn prepare(writer: &mut JobWriter<Mesh>, of: &GroupVersion, base: Option<&GroupVersion>) {
    let views: Vec<(u32, View)> = of.members().map(|(r, v)| (r, v.view().unwrap())).collect();
    let members = views.iter().map(|(rank, view)| {
        let version = of.member(*rank).unwrap();
        let bytes = |field: &_| view.bytes_of(field).unwrap();
        let snapshot = Snapshot::new(version.region(), view.stamp(), view.table(), bytes);
        (*rank, snapshot.at(version.extent()))
    });
    let snapshot = NodeSnapshot {
        run: of.run(),
        ranks: of.ranks(),
        step: of.step(),
        members: members.collect(),
    };
    let base = base.filter(|base| writer.base() == Some(base.step()));
    let Some(base) = base else {
        return writer.prepare(&snapshot, None).unwrap();
    };
    let changed = |rank: u32, name: &str| {
        let (_, view) = views.iter().find(|(r, _)| *r == rank).unwrap();
        let older = base.member(rank).unwrap();
        let pages = view.changes_since(older).unwrap().pages;
        let field = view.table().get(name).unwrap();
        changed_bytes(field, older.table(), &pages, view.page_size().unwrap())
    };
    writer.prepare(&snapshot, Some(&changed)).unwrap();
}
