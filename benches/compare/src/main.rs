//! The command `tcasm-compare`.

use clap::{Parser, Subcommand};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tcasm_compare::case::Case;
use tcasm_compare::failure::{Failure, While};
use tcasm_compare::plan::Wanted;
use tcasm_compare::row::Row;
use tcasm_compare::run::{Interrupt, Outcome, Runner};
use tcasm_compare::user::User;
use tcasm_compare::workload::Pattern;
use tcasm_compare::{figures, roles, sys, table};

/// Compare TCASM with other ways to show a simulation's memory to other processes
///
/// Each case writes whole pages of a buffer, step by step, and publishes every step. Observers in
/// other processes take every version and compare its bytes with what the simulation wrote. The
/// same steps also run in plain memory, for comparison. Both kinds of steps take turns.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 if every case ran and all bytes were right, 1 if an observer saw \
                  a wrong byte or nothing could be measured, 2 for wrong usage, 3 if some cases \
                  failed and are left out, 130 if interrupted."
)]
struct Args {
    #[command(subcommand)]
    role: Option<Role>,

    /// Run fewer cases and steps with 64 MiB, and compare all bytes of every version (takes two to
    /// three minutes)
    #[arg(long)]
    quick: bool,

    /// Run only these methods or modes, for example tcasm,copy,iceoryx2/loan
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',')]
    only: Vec<String>,

    /// Run only these patterns, each with each given coverage and number of observers
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',', value_enum)]
    patterns: Vec<Pattern>,

    /// Write only these shares of the pages, in per cent
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    coverages: Vec<u32>,

    /// Run only with these numbers of observers
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = observers)]
    observers: Vec<usize>,

    /// Run the cases as root, or as an ordinary user without privileges, which root can do too
    /// [default: the user who runs the command]
    #[arg(long, value_name = "USER", value_enum)]
    user: Option<User>,

    /// Size of the buffer, in MiB [default: 512, or 64 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    mib: Option<u32>,

    /// Number of steps to measure [default: 12, or 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=140))]
    steps: Option<u64>,

    /// Time for which each step computes in addition to writing pages, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    compute: f64,

    /// Write the rows to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw the figures into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// List and draw the rows of this file instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "only", "user", "json"])]
    from: Option<PathBuf>,

    /// Time limit for each case, in seconds
    #[arg(long, value_name = "S", default_value_t = 300)]
    timeout: u64,
}

/// The role of a process in a case. These commands are for `tcasm-compare` itself.
#[derive(Subcommand)]
enum Role {
    #[command(hide = true)]
    Produce { case: PathBuf, parent: i32 },
    #[command(hide = true)]
    Observe {
        case: PathBuf,
        observer: usize,
        parent: i32,
    },
}

fn observers(text: &str) -> Result<usize, String> {
    let most = tcasm_compare::score::MAX_OBSERVERS;
    let number = text.parse::<usize>().ok().filter(|n| *n <= most);
    number.ok_or_else(|| format!("give a number from 0 to {most}"))
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.role {
        Some(role) => play(role),
        None => compare(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("tcasm-compare: {error}");
        match error.downcast_ref::<Failure>() {
            Some(Failure::Interrupted) => ExitCode::from(130),
            Some(Failure::UnknownMethod(..) | Failure::Mode { .. } | Failure::NotRoot) => {
                ExitCode::from(2)
            }
            _ => ExitCode::FAILURE,
        }
    })
}

/// Runs one process of a case.
fn play(role: &Role) -> Result<ExitCode, Box<dyn Error>> {
    let (Role::Produce { parent, case } | Role::Observe { parent, case, .. }) = role;
    sys::process::die_with(*parent)?;
    let case: Case = read_json(case, "a case")?;
    if let Role::Observe { observer, .. } = role {
        roles::observe::run(&case, *observer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = match roles::produce::run(&case) {
        Ok(row) => Outcome::Row(row),
        Err(Failure::Unavailable(reason)) => Outcome::Unavailable(reason),
        Err(failure) => Outcome::Failed(failure.to_string()),
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(ExitCode::SUCCESS)
}

/// Measures the cases, or reads their rows from a file, and writes what was asked for.
fn compare(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let (rows, whole) = match &args.from {
        Some(path) => {
            let rows: Vec<Row> = read_json(path, "the rows")?;
            println!("{}", table::heading());
            rows.iter().for_each(|row| println!("{}", table::row(row)));
            (rows, true)
        }
        None => measure(args)?,
    };
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&rows)? + "\n";
        std::fs::write(path, text).context(format!("writing {path:?}"))?;
    }
    if let Some(dir) = &args.figures {
        for path in figures::draw_all(&rows, dir)? {
            println!("{}", path.display());
        }
    }
    let correct = rows.iter().all(|row| row.correct);
    if !correct {
        eprintln!("tcasm-compare: an observer saw a wrong byte");
    }
    Ok(match (correct, whole) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(3),
        (false, _) => ExitCode::FAILURE,
    })
}

/// Runs the selected cases. Returns their rows, and true if no case failed.
fn measure(args: &Args) -> Result<(Vec<Row>, bool), Failure> {
    let interrupt = Interrupt::listen()?;
    let cases = wanted(args).cases()?;
    let user = args.user.unwrap_or(User::current());
    let runner = Runner::new(interrupt, Duration::from_secs(args.timeout))?;
    let mut runner = runner.with_user(user)?;
    let (mut rows, mut whole) = (Vec::new(), true);
    println!("measured as {}", user.title());
    println!("{}", table::heading());
    for case in &cases {
        match runner.run(case) {
            Ok(Ok(row)) => {
                println!("{}", table::row(&row));
                rows.push(row);
            }
            Ok(Err(reason)) => println!("{}: left out: {reason}", case.title()),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                eprintln!("{}: {failure}", case.title());
                whole = false;
            }
        }
    }
    Ok((rows, whole))
}

fn wanted(args: &Args) -> Wanted {
    let mib = args.mib.unwrap_or(if args.quick { 64 } else { 512 });
    Wanted {
        only: args.only.clone(),
        quick: args.quick,
        bytes: (mib as usize) << 20,
        steps: args.steps.unwrap_or(if args.quick { 3 } else { 12 }),
        patterns: args.patterns.clone(),
        coverages: args.coverages.clone(),
        observers: args.observers.clone(),
        compute_ms: args.compute,
    }
}

fn read_json<T: serde::de::DeserializeOwned>(
    path: &Path,
    what: &'static str,
) -> Result<T, Failure> {
    let text = std::fs::read(path).context(format!("reading {path:?}"))?;
    serde_json::from_slice(&text).map_err(|source| Failure::Json { what, source })
}
