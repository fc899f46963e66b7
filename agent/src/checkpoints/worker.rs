//! The thread of the writer.

use super::mail::Letters;
use super::node::Mapped;
use crate::agreement::Agreed;
use crate::node::{Pinned, UseError};
use crate::regions::RunId;
use std::sync::mpsc::{Receiver, Sender, channel};
use tcasm_checkpoint::job::{JobError, JobSettings, JobWriter, Lost, Messages, committed};

/// A task of the writer. All nodes give the same tasks in the same order.
pub(super) enum Task {
    /// Write this step.
    Prepare(Pinned),
    /// The step that was written last is committed.
    Committed(u64),
}

/// A result of the writer. Each task has one result, and the start has two: `Found`, and how the
/// writers were connected.
pub(super) enum Done {
    /// The newest checkpoint that is committed at the start, if there is one.
    Found(Option<Agreed>),
    /// The writers of all nodes are connected, and have their files of the newest checkpoint.
    Connected,
    /// This node has written this step.
    Prepared(Agreed),
    /// Lost files were not rebuilt at the start, the checkpoint was not written, or what follows
    /// the commit was not done.
    Failed(JobError),
    /// The work after a commit is done.
    Noted,
    /// The writer cannot go on.
    Ended(JobError),
}

/// The agent's connection to the thread.
pub(super) struct Worker {
    tasks: Sender<Task>,
    done: Receiver<Done>,
    /// The tasks that have no result yet.
    open: usize,
}

impl Worker {
    /// Starts the thread, which connects the writers of all nodes first.
    pub(super) fn start(
        settings: JobSettings,
        failure_group: String,
        letters: Letters,
        increments: bool,
    ) -> Result<Worker, UseError> {
        let (tasks, given) = channel();
        let (results, done) = channel();
        let work = move || {
            let result = work(
                settings,
                &failure_group,
                letters,
                (given, &results),
                increments,
            );
            if let Err(error) = result {
                // The agent may have ended.
                let _ = results.send(Done::Ended(error));
            }
        };
        let thread = std::thread::Builder::new().name("checkpoints".to_owned());
        thread.spawn(work)?;
        Ok(Worker {
            tasks,
            done,
            open: 2,
        })
    }

    /// Gives the thread something to do.
    pub(super) fn give(&mut self, task: Task) {
        // If the thread has ended, it has said so.
        let _ = self.tasks.send(task);
        self.open += 1;
    }

    /// Returns the next result, if there is one.
    pub(super) fn next(&mut self) -> Option<Done> {
        let done = self.done.try_recv().ok()?;
        self.open = self.open.saturating_sub(1);
        Some(done)
    }

    /// Returns true if a task has no result yet.
    pub(super) fn is_busy(&self) -> bool {
        self.open > 0
    }
}

type Connection<'c> = (Receiver<Task>, &'c Sender<Done>);

/// Does what the agent says until that ends.
fn work(
    settings: JobSettings,
    failure_group: &str,
    mut letters: Letters,
    (tasks, results): Connection<'_>,
    increments: bool,
) -> Result<(), JobError> {
    let newest = newest(&settings, &mut letters)?;
    if results.send(Done::Found(newest)).is_err() {
        return Ok(());
    }
    let mut writer = JobWriter::connect(settings, failure_group, letters)?;
    // The step that was written last, and the one that increments are against.
    let (mut written, mut base): (Option<Pinned>, Option<Pinned>) = (None, None);
    // If this fails, committed checkpoints stay as they are.
    let mut result = match writer.rebuild() {
        Err(JobError::Lost(error)) => return Err(error.into()),
        Err(error) => Done::Failed(error),
        Ok(()) => Done::Connected,
    };
    loop {
        if results.send(result).is_err() {
            return Ok(());
        }
        let Ok(task) = tasks.recv() else {
            return Ok(());
        };
        let done = match task {
            Task::Prepare(step) => {
                let done = prepare(&mut writer, &step, base.as_ref());
                written = Some(step.clone()).filter(|_| increments);
                done.map(|()| Done::Prepared(step.of))
            }
            Task::Committed(step) => {
                base = written.take();
                writer.committed(step).map(|()| Done::Noted)
            }
        };
        result = match done {
            Err(JobError::Lost(error)) => return Err(error.into()),
            Err(error) => Done::Failed(error),
            Ok(done) => done,
        };
    }
}

/// Returns the newest committed checkpoint, as node 0 finds it. All nodes get the same.
fn newest(settings: &JobSettings, letters: &mut Letters) -> Result<Option<Agreed>, Lost> {
    if letters.node() != 0 {
        let text = letters.receive(0)?;
        let told: Option<(u64, u64)> = serde_json::from_slice(&text).map_err(|error| Lost {
            node: 0,
            why: format!("the newest step that it has found cannot be read: {error}"),
        })?;
        return Ok(told.map(|(run, step)| Agreed {
            run: RunId(run),
            step,
        }));
    }
    // An error is found again when the writers are connected.
    let all = committed(&settings.slow, &settings.group).unwrap_or_default();
    let newest = all.last().map(|found| Agreed {
        run: RunId::of(&found.commit.run),
        step: found.commit.step,
    });
    let told = newest.map(|newest| (newest.run.0, newest.step));
    let text = serde_json::to_vec(&told).unwrap_or_default();
    for node in 1..letters.nodes() {
        letters.send(node, text.clone())?;
    }
    Ok(newest)
}

/// Writes a step, as an increment where that may be.
fn prepare(
    writer: &mut JobWriter<Letters>,
    step: &Pinned,
    base: Option<&Pinned>,
) -> Result<(), JobError> {
    let base = base.filter(|base| {
        let of = base.of;
        of.run == step.of.run && writer.base() == Some(of.step)
    });
    let mapped = match Mapped::new(&step.pin) {
        Ok(mapped) => mapped,
        Err(error) => return writer.refuse(step.of.step, error.to_string()),
    };
    mapped.write(|snapshot| match base {
        Some(base) => mapped.changed_since(&base.pin, |c| writer.prepare(snapshot, Some(c))),
        None => writer.prepare(snapshot, None),
    })
}
