//! The use of agreed steps that writes checkpoints.

use super::due::{Due, Plan};
use super::mail::{Mail, mail};
use super::worker::{Done, Task, Worker};
use crate::agreement::Agreed;
use crate::node::{Progress, Round, Use, UseError};
use crate::transport::Post;
use tcasm_checkpoint::job::JobSettings;

/// The use of agreed steps that writes checkpoints of them. All nodes have it.
pub struct Checkpoints<P> {
    plan: Plan,
    /// The writer of this node. Analysis nodes have none.
    writer: Option<Writer<P>>,
    /// The step whose commit was noted last.
    noted: Option<Agreed>,
}

struct Writer<P> {
    post: P,
    mail: Mail,
    worker: Worker,
    /// Prints a line about each checkpoint.
    prints: bool,
}

impl<P: Post> Checkpoints<P> {
    /// Returns the use of an analysis node, which writes nothing.
    pub fn none(due: Due) -> Self {
        Checkpoints {
            plan: Plan::new(due),
            writer: None,
            noted: None,
        }
    }

    /// Returns the use of node `node`. `agents` has the numbers of the agents of all nodes, and
    /// `post` is only for this.
    pub fn of_node(
        (node, agents): (usize, Vec<usize>),
        (settings, failure_group): (JobSettings, String),
        (due, increments): (Due, bool),
        post: P,
        prints: bool,
    ) -> Result<Self, UseError> {
        let (letters, mail) = mail(node, agents);
        let worker = Worker::start(settings, failure_group, letters, increments)?;
        let writer = Writer {
            post,
            mail,
            worker,
            prints,
        };
        Ok(Checkpoints {
            writer: Some(writer),
            ..Checkpoints::none(due)
        })
    }
}

impl<P: Post> Use for Checkpoints<P> {
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError> {
        let decision = round.decision;
        let committed = decision
            .committed
            .filter(|step| self.plan.has_begun(*step) && self.noted != Some(*step));
        if let Some(step) = committed {
            self.noted = Some(step);
            if let Some(writer) = &mut self.writer {
                writer.worker.give(Task::Committed(step.step));
                writer.line(&format!("checkpoint of step {}", step.step));
            }
            return Ok(());
        }
        let Some(step) = self.plan.begin(decision, round.idle, round.lost) else {
            return Ok(());
        };
        if let Some(writer) = &mut self.writer {
            let pinned = round.agreed.filter(|pinned| pinned.of == step).ok_or(
                "this node has no ranks, so it cannot take part in checkpoints: start agents on \
                 the nodes with ranks only, or with --relay",
            )?;
            writer.worker.give(Task::Prepare(pinned.clone()));
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<Progress, UseError> {
        let Some(writer) = &mut self.writer else {
            return Ok(Progress::default());
        };
        let unsent = writer.mail.carry(&mut writer.post)?;
        let mut prepared = Vec::new();
        while let Some(done) = writer.worker.next() {
            match done {
                Done::Found(newest) => self.plan.found(newest),
                Done::Connected | Done::Noted => {}
                Done::Prepared(step) => prepared.push(step),
                // The next step may succeed, and what was committed is there.
                Done::Failed(error) => eprintln!("tcasm-agent: {error}"),
                Done::Ended(error) => return Err(error.into()),
            }
        }
        Ok(Progress {
            busy: writer.worker.is_busy() || unsent,
            prepared,
            ..Progress::default()
        })
    }
}

impl<P> Writer<P> {
    fn line(&self, text: &str) {
        if self.prints {
            use std::io::Write;
            // Nobody may read it any more.
            let _ = writeln!(std::io::stdout(), "{text}");
        }
    }
}
