//! The command `tcasm-ablation`: measures TCASM with all of its adaptive mechanisms, and without
//! each of them.
//!
//! Each run has processes of its own: a producer, which runs the same steps in plain memory and in
//! a region, and observers. The variable `TCASM_WITHOUT` tells the producer what to leave out. The
//! simulation, the observers and the way to measure are those of `tcasm-compare`.
#![deny(unsafe_code)]

mod change;
mod first_view;
mod measure;
mod observe;
mod rounds;
mod table;
mod variant;
mod workload;

use clap::{Parser, Subcommand};
use rounds::Plan;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tcasm_compare::case::Case;
use tcasm_compare::failure::Failure;
use tcasm_compare::run::Outcome;
use tcasm_compare::sys::process::die_with;
use tcasm_core::testing::ablation::{Mechanism, VARIABLE, parse};
use variant::Variant;
use workload::Workload;

/// Measure what each adaptive mechanism of TCASM gains
///
/// In each round, all variants of each workload run one after the other: with everything, without
/// each mechanism, and with everything again. The change of a value is that between two runs of the
/// same round. The difference between the two runs with everything is the noise.
#[derive(Parser)]
#[command(
    version,
    args_override_self = true,
    after_help = "Prints tables as Markdown. Exit status: 0 if every run ended and all bytes were \
                  right, 1 if an observer saw a wrong byte or a run failed, 2 for wrong usage, 130 \
                  if interrupted."
)]
struct Args {
    #[command(subcommand)]
    role: Option<Role>,

    /// Size of the buffer, in MiB
    #[arg(long, value_name = "N", default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    mib: u32,

    /// Time for all runs together, in minutes
    #[arg(long, value_name = "N", default_value_t = 15.0, value_parser = minutes)]
    minutes: f64,

    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Leave out only these mechanisms, one at a time, for example sharing,doubts
    #[arg(long, value_name = "MECHANISM,...", value_delimiter = ',')]
    only: Vec<Mechanism>,

    /// Run only these workloads, for example random-10,gray_scott
    #[arg(long, value_name = "WORKLOAD,...", value_delimiter = ',')]
    #[arg(value_parser = workload::find)]
    workloads: Vec<Workload>,

    /// Write the values of each run to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The role of a process in a run. These commands are for `tcasm-ablation` itself.
#[derive(Subcommand)]
enum Role {
    #[command(hide = true)]
    Produce {
        case: PathBuf,
        parent: i32,
        seconds: f64,
    },
    #[command(hide = true)]
    Observe {
        case: PathBuf,
        observer: usize,
        parent: i32,
    },
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok();
    let minutes = minutes.filter(|m| (0.01..=10_000.0).contains(m));
    minutes.ok_or_else(|| "give a number of minutes from 0.01 to 10000".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.role {
        Some(role) => play(role),
        None => measure_all(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("tcasm-ablation: {error}");
        match error.downcast_ref::<Failure>() {
            Some(Failure::Interrupted) => ExitCode::from(130),
            _ => ExitCode::FAILURE,
        }
    })
}

/// Runs one process of a run.
fn play(role: &Role) -> Result<ExitCode, Box<dyn Error>> {
    match role {
        Role::Produce {
            case,
            parent,
            seconds,
        } => {
            die_with(*parent)?;
            // A name that is misspelt would leave out nothing.
            parse(&std::env::var(VARIABLE).unwrap_or_default())?;
            let time = Duration::try_from_secs_f64(*seconds)?;
            let outcome = match measure::run(&read_case(case)?, time) {
                Ok(measured) => Outcome::Row(measured),
                Err(Failure::Unavailable(reason)) => Outcome::Unavailable(reason),
                Err(failure) => Outcome::Failed(failure.to_string()),
            };
            println!("{}", serde_json::to_string(&outcome)?);
        }
        Role::Observe {
            case,
            observer,
            parent,
        } => {
            die_with(*parent)?;
            observe::run(&read_case(case)?, *observer)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read_case(path: &Path) -> Result<Case, Box<dyn Error>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Runs all variants, and prints the tables.
fn measure_all(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let plan = plan(args);
    let each = match plan.time_of_run() {
        Ok(each) => each,
        Err(reason) => {
            eprintln!("tcasm-ablation: {reason}");
            return Ok(ExitCode::from(2));
        }
    };
    let (rows, whole) = plan.run(each)?;
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&rows)? + "\n")?;
    }
    print!("{}", table::page(&plan, &rows, each)?);
    let correct = rows.iter().all(|row| row.measured.correct);
    if !correct {
        eprintln!("tcasm-ablation: an observer saw a wrong byte");
    }
    Ok(match correct && whole {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn plan(args: &Args) -> Plan {
    Plan {
        workloads: match args.workloads.as_slice() {
            [] => workload::ALL.to_vec(),
            wanted => wanted.to_vec(),
        },
        variants: Variant::of_round(&args.only),
        rounds: args.rounds,
        bytes: (args.mib as usize) << 20,
        time: Duration::from_secs_f64(args.minutes * 60.0),
    }
}
