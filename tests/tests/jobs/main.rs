//! Checkpoints of a job with real regions, agents and processes: each node is a process with a
//! runtime folder of its own, which stands for a host.

mod mesh;
mod node;

use node::{COLUMNS, ROWS, boundary, value};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tcasm_checkpoint::job::{JobCheckpoint, JobError, Places, committed};
use tcasm_producer::{Group, Producer};
use tcasm_restart::{ContinueJob, Load, RankState, RestoreError, Start};
use tcasm_tests::name;

/// The nodes of a job, and its ranks per node.
const NODES: usize = 3;
const RANKS: u32 = 6;

fn local(root: &Path, node: usize) -> PathBuf {
    root.join(format!("node{node}"))
}

fn places(root: &Path) -> Places {
    let locals: Vec<PathBuf> = (0..NODES).map(|node| local(root, node)).collect();
    Places::new(root.join("slow"), &locals).rebuild_in(root.join("spare"))
}

fn make_folders(root: &Path) {
    let others = ["slow", "spare"].map(|name| root.join(name));
    let locals = (0..NODES).map(|node| local(root, node));
    locals
        .chain(others)
        .for_each(|dir| std::fs::create_dir_all(dir).unwrap());
}

/// Starts the nodes of a job, which goes on from its last checkpoint up to step `until`.
fn start(root: &Path, run: &str, until: u64) -> Vec<Child> {
    let start = |node: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "node::main", "--ignored", "--nocapture"])
            .env("TCASM_RUNTIME_DIR", root.join(format!("run-{run}-{node}")))
            .env("JOB_ROOT", root)
            .env("JOB_RUN", run)
            .env("JOB_NODE", node.to_string())
            .env("JOB_UNTIL", until.to_string())
            .stdout(Stdio::piped())
            // Nodes whose neighbour is killed end with an error.
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    (0..NODES).map(start).collect()
}

/// Reads the steps that a node says are committed, until `last`, or all of them.
fn wait_for(node: &mut Child, last: Option<u64>) -> Vec<u64> {
    let mut steps = Vec::new();
    let lines = BufReader::new(node.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let step = line
            .split("committed ")
            .nth(1)
            .and_then(|step| step.trim().parse().ok());
        steps.extend(step);
        if last.is_some() && step == last {
            break;
        }
    }
    steps
}

/// Compares all values of a checkpoint.
fn check(found: &JobCheckpoint) {
    let u = found
        .read::<f64>("u", &[0..ROWS * RANKS as usize, 0..COLUMNS])
        .unwrap();
    let u = u.into_dimensionality::<ndarray::Ix2>().unwrap();
    for ((row, column), x) in u.indexed_iter() {
        assert_eq!(
            *x,
            value(found.step(), row, column),
            "step {}",
            found.step()
        );
    }
    for rank in 0..RANKS {
        let mut own = [0; 8];
        found.read_block(rank, "own", &mut own).unwrap();
        assert_eq!(
            i64::from_le_bytes(own),
            found.step() as i64 * 10 + i64::from(rank)
        );
    }
}

#[test]
fn job_goes_on_after_a_node_and_its_disk_are_lost_and_on_another_number_of_ranks() {
    name("jobs"); // makes the runtime folder of this process
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    make_folders(root);
    // The first start is killed in the middle: one node at once, and the others end then.
    let mut nodes = start(root, "first", 1000);
    let seen = wait_for(&mut nodes[0], Some(12));
    nodes[1].kill().unwrap();
    nodes.iter_mut().for_each(|node| drop(node.wait()));
    std::fs::remove_dir_all(local(root, 1)).unwrap();
    std::fs::create_dir(local(root, 1)).unwrap();
    let found = JobCheckpoint::find("heat", &places(root), None).unwrap();
    assert!(Some(&found.step()) >= seen.last() && found.ranks() == RANKS);
    check(&found);
    let increments = committed(&root.join("slow"), "heat").unwrap();
    let increments = increments.iter().flat_map(|found| &found.commit.parts);
    assert!(increments.filter(|part| part.base.is_some()).count() > 0);
    // The second start goes on from there.
    let until = found.step() + 4;
    drop(found);
    let mut nodes = start(root, "second", until);
    let steps = wait_for(&mut nodes[0], None);
    assert!(nodes.iter_mut().all(|node| node.wait().unwrap().success()));
    assert_eq!(steps, (until - 3..=until).collect::<Vec<_>>());
    let found = JobCheckpoint::find("heat", &places(root), None).unwrap();
    assert_eq!(found.step(), until);
    check(&found);
    on_other_ranks(&found);
}

/// Loads the checkpoint into the regions of another number of ranks.
fn on_other_ranks(found: &JobCheckpoint) {
    let rows = ROWS * RANKS as usize;
    for ranks in [1, 4] {
        for rank in 0..ranks {
            let group = Group::new(rank, ranks).run("other");
            let own =
                rows * rank as usize / ranks as usize..rows * (rank as usize + 1) / ranks as usize;
            let builder = Producer::builder(&name("other"))
                .group(group.clone())
                .capacity(1 << 20);
            let mut producer = builder.create().unwrap();
            let u = producer
                .field::<f64, _>("u", [own.len() + 2, COLUMNS])
                .ghosts(&[[1, 1], [0, 0]])
                .global([rows, COLUMNS])
                .at([own.start, 0])
                .add()
                .unwrap();
            producer.field::<i64, _>("own", [1]).add().unwrap();
            producer.view_mut(u).unwrap().fill(-5.0);
            // The field that is local to its rank is in the way.
            let error = RankState::for_blocks(found, &group, &producer).unwrap_err();
            let RestoreError::Job(JobError::OtherRanks {
                field,
                stored,
                asked,
            }) = error
            else {
                panic!("{error}");
            };
            assert_eq!((&*field, stored, asked), ("own", RANKS, ranks));
            let state = RankState::of_global(found, &group, &producer).unwrap();
            let stamp = producer.load(&state).unwrap();
            assert_eq!(stamp.step, found.step());
            for ((i, column), x) in producer.view(u).unwrap().indexed_iter() {
                let row = (own.start + i).wrapping_sub(1);
                let wanted = match row < rows {
                    true => value(found.step(), row, column),
                    false => -5.0, // a ghost layer outside the array
                };
                assert_eq!(*x, wanted, "rank {rank} of {ranks}, {i} {column}");
            }
        }
    }
}

#[test]
fn rank_continues_with_all_of_its_region_or_begins() {
    name("jobs");
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    make_folders(root);
    let builder = |run, ranks| {
        let group = Group::new(4, ranks).run(run);
        let builder = Producer::builder("heat")
            .group(group.clone())
            .capacity(1 << 20);
        (group, builder)
    };
    let (group, first) = builder("0", RANKS);
    let begun = first.restore_job_or_begin(&group, &places(root)).unwrap();
    assert!(matches!(begun, Start::New(_)));
    drop(begun);
    let mut nodes = start(root, "first", 5);
    assert!(nodes.iter_mut().all(|node| node.wait().unwrap().success()));
    let (group, again) = builder("1", RANKS);
    let Start::Restored(restored) = again.restore_job_or_begin(&group, &places(root)).unwrap()
    else {
        panic!("it begins");
    };
    assert_eq!(
        (restored.stamp.step, restored.producer.name()),
        (5, "heat.4")
    );
    let producer = restored.producer;
    let u = producer.handle::<f64, ndarray::Ix2>("u").unwrap();
    for ((i, column), x) in producer.view(u).unwrap().indexed_iter() {
        let row = (4 * ROWS + i).wrapping_sub(1);
        assert_eq!(
            *x,
            if i == 0 || i > ROWS {
                boundary(4, i)
            } else {
                value(5, row, column)
            }
        );
    }
    drop(producer);
    let (group, again) = builder("2", RANKS);
    let at = |step| again.clone().restore_job_at(&group, &places(root), step);
    assert_eq!(at(4).unwrap().stamp.step, 4);
    let gone = at(6).unwrap_err();
    assert!(
        matches!(gone, RestoreError::Job(JobError::StepGone { step: 6, .. })),
        "{gone}"
    );
    let (group, other) = builder("3", RANKS + 1);
    let error = other
        .restore_job_or_begin(&group, &places(root))
        .unwrap_err();
    assert!(
        matches!(
            error,
            RestoreError::OtherRanks {
                stored: 6,
                asked: 7,
                ..
            }
        ),
        "{error}"
    );
}
