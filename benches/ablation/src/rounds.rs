//! Runs all variants of all workloads, round after round.

use crate::measure::Measured;
use crate::variant::Variant;
use crate::workload::Workload;
use serde::Serialize;
use std::time::Duration;
use tcasm_compare::failure::Failure;
use tcasm_compare::run::{Interrupt, Runner};

/// The time of a run that is not planned: its processes start and end, and all mappings of its
/// observers are looked at.
const OVERHEAD: Duration = Duration::from_millis(250);
/// The shortest run that measures anything.
const SHORTEST: Duration = Duration::from_millis(500);
/// A run may take so much longer than planned, because of a slow start or long steps.
const GRACE: Duration = Duration::from_secs(60);

/// The thing that is run.
#[derive(Debug)]
pub struct Plan {
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The variants of each workload, in order.
    pub variants: Vec<Variant>,
    /// How often all of them are run.
    pub rounds: u32,
    /// Size of the buffer, in bytes.
    pub bytes: usize,
    /// The time for everything.
    pub time: Duration,
}

/// The values of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the workload.
    pub workload: &'static str,
    /// The name of the variant.
    pub variant: &'static str,
    /// The number of the round.
    pub round: u32,
    /// The measured values.
    #[serde(flatten)]
    pub measured: Measured,
}

impl Plan {
    /// Returns the time of each run, or an error if there is too little time for all runs.
    pub fn time_of_run(&self) -> Result<Duration, String> {
        let runs = self.workloads.len() * self.variants.len() * self.rounds as usize;
        let each = (self.time / runs.max(1) as u32).saturating_sub(OVERHEAD);
        if each < SHORTEST {
            let seconds = ((SHORTEST + OVERHEAD) * runs as u32).as_secs_f64();
            let minutes = (seconds / 6.0).ceil() / 10.0;
            return Err(format!(
                "the time is too short for {runs} runs; give at least --minutes {minutes:.1}, or \
                 fewer rounds, mechanisms or workloads"
            ));
        }
        Ok(each)
    }

    /// Runs everything, where each producer runs for `each`. Returns the rows, and true if no run
    /// failed.
    pub fn run(&self, each: Duration) -> Result<(Vec<Row>, bool), Failure> {
        let mut runner = Runner::new(Interrupt::listen()?, each + GRACE)?;
        let (mut rows, mut whole) = (Vec::new(), true);
        for (round, workload, variant) in self.runs() {
            match run_one(&mut runner, workload, variant, self.bytes, each) {
                Ok(Some(measured)) => rows.push(Row {
                    workload: workload.name,
                    variant: variant.name(),
                    round,
                    measured,
                }),
                Ok(None) => {}
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => {
                    eprintln!("{}: {failure}", title(workload, variant));
                    whole = false;
                }
            }
        }
        Ok((rows, whole))
    }

    /// Returns all runs in order, with the number of their round. The variants of a workload follow
    /// each other, in the opposite order in every second round.
    fn runs(&self) -> Vec<(u32, &Workload, Variant)> {
        let mut runs = Vec::new();
        for round in 0..self.rounds {
            for workload in &self.workloads {
                let of = |variant: &Variant| (round, workload, *variant);
                match round % 2 {
                    0 => runs.extend(self.variants.iter().map(of)),
                    _ => runs.extend(self.variants.iter().rev().map(of)),
                }
            }
        }
        runs
    }
}

/// Runs one variant of a workload, and prints its values on standard error. Returns none if this
/// machine cannot run it.
fn run_one(
    runner: &mut Runner,
    workload: &Workload,
    variant: Variant,
    bytes: usize,
    time: Duration,
) -> Result<Option<Measured>, Failure> {
    let outcome = runner.run_as(&workload.case(bytes), |command| {
        command.arg(time.as_secs_f64().to_string());
        variant.apply(command);
    })?;
    let title = title(workload, variant);
    match outcome {
        Ok(measured) => {
            eprintln!("{title}: {}", summary(&measured));
            Ok(Some(measured))
        }
        Err(reason) => {
            eprintln!("{title}: left out: {reason}");
            Ok(None)
        }
    }
}

fn title(workload: &Workload, variant: Variant) -> String {
    match variant {
        Variant::Without(mechanism) => format!("{} without {}", workload.name, mechanism.name()),
        Variant::Everything | Variant::Nothing => workload.name.to_owned(),
    }
}

fn summary(measured: &Measured) -> String {
    format!(
        "{} steps of {:.2} times the bare one, publish {:.0} us, {:.0} MiB held",
        measured.steps,
        measured.step(),
        measured.publish_us_p50,
        measured.held_bytes_p50 / f64::from(1 << 20),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    #[test]
    fn variants_of_a_workload_follow_each_other_and_turn_round_in_every_second_round() {
        let plan = Plan {
            workloads: workload::ALL[..2].to_vec(),
            variants: vec![Variant::Everything, Variant::Nothing],
            rounds: 2,
            bytes: 1 << 20,
            time: Duration::from_secs(60),
        };
        let runs: Vec<_> = plan.runs();
        let names: Vec<_> = runs.iter().map(|(_, w, v)| (w.name, v.name())).collect();
        let [first, second] = [0, 1].map(|at| workload::ALL[at].name);
        let round = [
            (first, "everything"),
            (first, "nothing"),
            (second, "everything"),
            (second, "nothing"),
        ];
        assert_eq!(names[..4], round);
        assert_eq!(names[4..6], [round[1], round[0]]);
        assert_eq!(runs.iter().map(|run| run.0).sum::<u32>(), 4);
    }

    #[test]
    fn time_is_divided_among_all_runs_and_too_little_of_it_is_an_error() {
        let plan = |seconds| Plan {
            workloads: workload::ALL[..5].to_vec(),
            variants: Variant::of_round(&[])[..2].to_vec(),
            rounds: 3,
            bytes: 1 << 20,
            time: Duration::from_secs(seconds),
        };
        assert_eq!(
            plan(60).time_of_run(),
            Ok(Duration::from_secs(2) - OVERHEAD)
        );
        let error = plan(15).time_of_run().unwrap_err();
        assert!(
            error.contains("30 runs") && error.contains("--minutes 0.4"),
            "{error}"
        );
    }
}
