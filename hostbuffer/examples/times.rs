//! Measures how long processes take to get a host buffer together, how long one takes that comes
//! later, and how the kernel counts the memory: `cargo run --release --example times [RUNS]`.

use std::error::Error;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tcasm_hostbuffer::{HostBuffer, Section};

type Failure = Box<dyn Error>;

/// The size of the buffer.
const BYTES: usize = 64 << 20;
/// The argument of a measured process, before the number of processes.
const PROCESS: &str = "process";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, count] = arguments.as_slice()
        && mode == PROCESS
    {
        return process(count.parse()?);
    }
    let runs = arguments.first().map_or(Ok(20), |runs| runs.parse())?;
    println!(
        "| processes | together: median (maximum) ms | later: median (maximum) ms | PSS MiB |"
    );
    println!("|---|---|---|---|");
    for count in [1, 8, 64] {
        let mut times = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..runs {
            let (together, later, mib) = run(count)?;
            times.0.push(together);
            times.1.push(later);
            times.2 = mib;
        }
        let (together, later) = (summary(times.0), summary(times.1));
        println!("| {count} | {together} | {later} | {:.1} |", times.2);
    }
    Ok(())
}

/// Gets the buffer when told, and prints how long that took. Then reads all of it, and prints its
/// share of the memory.
fn process(count: usize) -> Result<(), Failure> {
    let mut lines = stdin().lines();
    let mut next = || lines.next().ok_or("the input has ended");
    println!("ready");
    next()??;
    let start = Instant::now();
    let builder = HostBuffer::builder("times").section(Section::new("data", BYTES));
    let buffer = builder.processes(count).create_or_attach()?;
    println!("{}", start.elapsed().as_nanos());
    next()??;
    let (data, len) = buffer.section("data")?;
    for at in (0..len).step_by(4096) {
        // SAFETY: the byte lies in the section. All processes only store the same byte.
        unsafe { data.add(at).write_volatile(1) };
    }
    println!("touched");
    next()??;
    println!("{}", share(buffer.address(), len)?);
    next()??;
    Ok(())
}

/// Returns this process's share of the memory, in KiB.
fn share(address: usize, len: usize) -> Result<u64, Failure> {
    let (mut inside, mut kib) = (false, 0);
    for line in std::fs::read_to_string("/proc/self/smaps")?.lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if let Some((from, _)) = first.split_once('-') {
            let from = usize::from_str_radix(from, 16);
            inside = from.is_ok_and(|from| (address..address + len).contains(&from));
        } else if inside && let Some(rest) = line.strip_prefix("Pss:") {
            kib += rest.trim().trim_end_matches(" kB").parse::<u64>()?;
        }
    }
    Ok(kib)
}

/// A measured process.
struct Measured {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Measured {
    fn start(count: usize) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([PROCESS, &count.to_string()]);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().ok_or("it has no input")?;
        let output = process.stdout.take().ok_or("it has no output")?;
        let output = BufReader::new(output);
        let mut measured = Measured {
            process,
            input,
            output,
        };
        measured.hear()?;
        Ok(measured)
    }

    fn go(&mut self) -> Result<(), Failure> {
        Ok(self.input.write_all(b"\n")?)
    }

    fn hear(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

/// Returns the time of the slowest of `count` processes, that of one that comes later, and the sum
/// of all shares in MiB.
fn run(count: usize) -> Result<(Duration, Duration, f64), Failure> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(Measured::start(count)?);
    }
    let together = times(&mut all)?;
    let mut later = vec![Measured::start(count)?];
    let attached = times(&mut later)?;
    all.extend(later);
    each(&mut all)?;
    let shares: Result<Vec<f64>, _> = each(&mut all)?.iter().map(|kib| kib.parse()).collect();
    for one in &mut all {
        one.go()?;
        one.process.wait()?;
    }
    Ok((together, attached, shares?.iter().sum::<f64>() / 1024.0))
}

/// Lets all processes go on, and returns what they say then.
fn each(all: &mut [Measured]) -> Result<Vec<String>, Failure> {
    all.iter_mut().try_for_each(Measured::go)?;
    all.iter_mut().map(Measured::hear).collect()
}

/// Lets all processes get the buffer, and returns the longest time.
fn times(all: &mut [Measured]) -> Result<Duration, Failure> {
    let nanoseconds: Result<Vec<u64>, _> = each(all)?.iter().map(|n| n.parse()).collect();
    Ok(Duration::from_nanos(
        nanoseconds?.into_iter().max().unwrap_or(0),
    ))
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let (median, most) = (ms(times.get(times.len() / 2)), ms(times.last()));
    format!("{median:.2} ({most:.2})")
}
