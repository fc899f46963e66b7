//! The processes of a job, for tests, which check every value.
//!
//! - `job rank GROUP STEPS MILLISECONDS`: a rank. It publishes so many steps, one each so many
//!   milliseconds, and exchanges a number with its neighbours in each, as a halo exchange does.
//! - `job agent ARGUMENTS...`: `tcasm-agent` with a use that checks each agreed step. It prints a
//!   line for each.
//! - `job read GROUP`: an observer. For each line that it reads, `agreed` or `latest`, it prints
//!   that step.

use clap::Parser;
use mpi::traits::Communicator;
use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Duration;
use tcasm_agent::node::{Progress, Round, Use, UseError};
use tcasm_agent::program::{Arguments, run};
use tcasm_observer::{GroupObserver, GroupVersion};
use tcasm_producer::{Group, Producer};
use tcasm_tests::ranks::value;

/// The values that each rank has of the global array `u`. All change in each step.
const LENGTH: usize = 20_000;
/// The values of the local field `part`. One of [`STRIPES`] parts changes in each step.
const PART: usize = 16 * 8192;
const STRIPES: usize = 16;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    match all[..] {
        ["rank", group, steps, pause] => rank(group, steps.parse()?, pause.parse()?),
        ["agent", ref arguments @ ..] => {
            let all = [&["tcasm-agent"], arguments].concat();
            say(&format!("agent host={} pid={}", host(), std::process::id()));
            let checks = |_: &_| Ok(vec![Box::new(Check::default()) as Box<dyn Use>]);
            std::process::exit(run(Arguments::parse_from(all), checks))
        }
        ["read", group] => read(group),
        _ => Err(format!("no command {words:?}").into()),
    }
}

fn host() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Prints a line at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Returns value `i` of `part` at `step`: that of the last step that has written it.
fn part_value(rank: u32, step: u64, i: usize) -> u64 {
    let stripe = (i / (PART / STRIPES)) as u64;
    let behind = (step + STRIPES as u64 - stripe) % STRIPES as u64;
    match step.checked_sub(behind) {
        None | Some(0) => 0,
        Some(written) => value(rank, written, i),
    }
}

fn rank(group: &str, steps: u64, pause: u64) -> Result<(), Failure> {
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    let place = Group::from_env()?;
    let (rank, ranks) = (place.rank(), place.ranks());
    let mut producer = Producer::builder(group)
        .group(place)
        .capacity(8 << 20)
        .history(3)
        .versions(12)
        .create()?;
    let u = producer.field::<u64, _>("u", [LENGTH]);
    let u = u
        .global([LENGTH * ranks as usize])
        .at([LENGTH * rank as usize])
        .add()?;
    let part = producer.field::<u64, _>("part", [PART]).add()?;
    let (me, count) = (world.rank(), world.size());
    let right = world.process_at_rank((me + 1) % count);
    let left = world.process_at_rank((me + count - 1) % count);
    say(&format!(
        "rank {rank} host={} pid={}",
        host(),
        std::process::id()
    ));
    let mut skipped = 0;
    for step in 1..=steps {
        for (i, v) in producer.view_mut(u)?.iter_mut().enumerate() {
            *v = value(rank, step, i);
        }
        let first = (step as usize % STRIPES) * (PART / STRIPES);
        let mut view = producer.view_mut(part)?;
        for (i, v) in view.iter_mut().enumerate().skip(first).take(PART / STRIPES) {
            *v = value(rank, step, i);
        }
        let mut halo = 0u64;
        mpi::point_to_point::send_receive_into(&step, &right, &mut halo, &left);
        assert_eq!(halo, step, "the neighbour is at the same step");
        skipped += u64::from(
            producer
                .publish(step, step as f64 * 0.5)?
                .version()
                .is_none(),
        );
        std::thread::sleep(Duration::from_millis(pause));
    }
    producer.wait_captured(Duration::from_secs(60));
    say(&format!("done {rank} skipped={skipped}"));
    Ok(())
}

/// Returns the number of blocks of both fields, and of values that are wrong.
fn check(version: &GroupVersion) -> Result<(usize, usize), Failure> {
    let (mut blocks, mut wrong) = (0, 0);
    let step = version.step();
    for (rank, member) in version.members() {
        let view = member.view()?;
        let u = view.array::<u64>("u")?;
        wrong += (0..LENGTH)
            .filter(|&i| u[[i]] != value(rank, step, i))
            .count();
        let part = view.array::<u64>("part")?;
        wrong += (0..PART)
            .filter(|&i| part[[i]] != part_value(rank, step, i))
            .count();
        blocks += 2;
    }
    Ok((blocks, wrong))
}

/// Checks each agreed step.
#[derive(Default)]
struct Check {
    last: Option<tcasm_agent::Agreed>,
}

impl Use for Check {
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError> {
        let Some(agreed) = round.agreed.filter(|held| self.last != Some(held.of)) else {
            return Ok(());
        };
        self.last = Some(agreed.of);
        let checked = check(&agreed.pin).map_err(|error| error.to_string())?;
        let (run, step) = (agreed.pin.run(), agreed.of.step);
        let appointed = round.decision.appointed;
        say(&format!(
            "checked host={} run={run} step={step} blocks={} wrong={} appointed={appointed:?}",
            host(),
            checked.0,
            checked.1
        ));
        Ok(())
    }

    fn turn(&mut self) -> Result<Progress, UseError> {
        Ok(Progress::default())
    }
}

fn read(group: &str) -> Result<(), Failure> {
    let mut observer = None;
    for line in std::io::stdin().lock().lines() {
        match answer(group, &line?, &mut observer) {
            Ok(text) => say(&format!("ok {text}")),
            Err(error) => say(&format!("error {error}")),
        }
    }
    Ok(())
}

fn answer(
    group: &str,
    which: &str,
    observer: &mut Option<GroupObserver>,
) -> Result<String, Failure> {
    if observer.is_none() {
        *observer = Some(GroupObserver::attach(group)?);
    }
    let observer = observer.as_mut().ok_or("no observer")?;
    let version = match which {
        "agreed" => observer.agreed()?,
        _ => observer.latest()?,
    };
    let (blocks, wrong) = check(&version)?;
    let (step, run) = (version.step(), version.run());
    let ranks = version.members().len();
    Ok(format!(
        "run={run} step={step} ranks={ranks} blocks={blocks} wrong={wrong}"
    ))
}
