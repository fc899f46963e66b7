//! A storm of SIGKILLs over a simulation and the writer of its checkpoints, with tiers that are
//! full, read-only, away and back. Every restart goes on from the bits of an undisturbed run, no
//! checkpoint that was reported complete is lost, and nothing is left behind.

use ndarray::Array3;
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tcasm_checkpoint::{Checkpoint, Contents};
use tcasm_core::testing::fault::CHECKPOINT_POINTS;
use tcasm_core::testing::nodes;
use tcasm_examples::{GrayScott, Params};
use tcasm_tests::child::{Child, DEADLINE, HUGE_PAGES, Received, program};
use tempfile::TempDir;

const SIZE: usize = 20;
/// The longest wait for a checkpoint. None comes where the fast tier is full.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest wait where the fast tier is read-only, so that no checkpoint comes.
const SHORT_TIMEOUT: Duration = Duration::from_millis(300);
/// The seconds that a writer waits for a tier at its end. A slow tier that is away does not come
/// back before the round ends.
const SHORT_GRACE: &str = "0.2";
/// The nodes of memory that the simulation pretends to have in some rounds.
const NODES: u8 = 2;

/// Returns true if the simulation pretends to have several nodes of memory in this round. Each
/// kind of memory and each trouble meets both.
fn has_several_nodes(round: u64) -> bool {
    !(round / 3).is_multiple_of(2)
}

/// Returns the pretended nodes on which a simulation has placed frames, as it has told.
fn placed(simulation: &Child) -> BTreeSet<u8> {
    let errors = simulation.errors();
    let told = |node: &u8| errors.contains(&nodes::told(*node, NODES.into()));
    (0..NODES).filter(told).collect()
}

/// An undisturbed run, computed here step by step.
struct Reference {
    solver: GrayScott,
    step: u64,
    fields: [Array3<f64>; 2],
}

impl Reference {
    fn new() -> Self {
        let solver = GrayScott::new(Params::default());
        let mut fields = [(); 2].map(|()| Array3::zeros([SIZE; 3]));
        let [u, v] = &mut fields;
        solver.initialise(u.view_mut(), v.view_mut());
        let step = 0;
        Reference {
            solver,
            step,
            fields,
        }
    }

    /// Goes on to `step`. The step can never go back: that would be a lost checkpoint.
    fn advance(&mut self, step: u64) {
        assert!(
            step >= self.step,
            "step {} was restored before, now only step {step}",
            self.step
        );
        for step in self.step + 1..=step {
            let mut next = self.fields.clone();
            let ([u, v], [u_next, v_next]) = (&self.fields, &mut next);
            let (solver, views) = (&self.solver, (u_next.view_mut(), v_next.view_mut()));
            solver.step(u.view(), v.view(), views.0, views.1, step);
            self.fields = next;
        }
        self.step = step;
    }
}

/// The failure of a tier in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    SlowAway,
    SlowReadOnly,
    FastReadOnly,
}

impl Trouble {
    fn of_round(number: u64) -> Self {
        match number % 8 {
            1 | 5 => Trouble::SlowAway,
            3 => Trouble::FastReadOnly,
            6 => Trouble::SlowReadOnly,
            _ => Trouble::None,
        }
    }
}

/// A file system of its own for a tier, where mounting is permitted.
struct Disk {
    path: PathBuf,
    tier: PathBuf,
    mounted: bool,
}

impl Disk {
    fn new(path: PathBuf, size: &str) -> Self {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        let mounted = succeeds(mount.arg(&path));
        let tier = path.join("tier");
        fs::create_dir(&tier).unwrap();
        Disk {
            path,
            tier,
            mounted,
        }
    }

    /// Makes the tier read-only, or writable again. If it is mounted, the file system becomes
    /// read-only. Otherwise no file can be made or removed.
    fn set_read_only(&self, read_only: bool) {
        let mut command = if self.mounted {
            let mut mount = Command::new("mount");
            let option = if read_only {
                "remount,ro"
            } else {
                "remount,rw"
            };
            mount.args(["-o", option]).arg(&self.path);
            mount
        } else {
            let mut chattr = Command::new("chattr");
            chattr.arg(if read_only { "+i" } else { "-i" });
            chattr.arg(&self.tier);
            chattr
        };
        // A process that was just killed may still have files open for writing.
        let end = Instant::now() + DEADLINE;
        let mut done = succeeds(&mut command);
        while !done && Instant::now() < end {
            sleep(Duration::from_millis(10));
            done = succeeds(&mut command);
        }
        let hint = "as root, or on a file system that knows chattr +i";
        assert!(
            done,
            "{command:?} failed, which makes a tier read-only; run it {hint}"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        match self.mounted {
            true => succeeds(Command::new("umount").arg("--lazy").arg(&self.path)),
            false => succeeds(Command::new("chattr").arg("-i").arg(&self.tier)),
        };
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|out| out.status.success())
}

/// The folders of a run, and the programs that run in them.
struct Site {
    sockets: TempDir,
    /// The fast and the slow tier. They are dropped before the folder that contains them.
    disks: [Disk; 2],
    _root: TempDir,
    fast: PathBuf,
    slow: PathBuf,
}

impl Site {
    /// Makes the folders. The fast tier is small where mounting is permitted.
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let disk = |name, size| Disk::new(root.path().join(name), size);
        let disks = [disk("node", "2m"), disk("scratch", "64m")];
        let way = if disks[0].mounted {
            "remounted"
        } else {
            "chattr +i"
        };
        eprintln!("read-only tiers are made by: {way}");
        let [fast, slow] = [0, 1].map(|i| disks[i].tier.clone());
        Site {
            sockets: TempDir::new().unwrap(),
            disks,
            _root: root,
            fast,
            slow,
        }
    }

    fn begin(&self, trouble: Trouble) {
        match trouble {
            Trouble::None => {}
            Trouble::SlowAway => fs::rename(&self.slow, self.away()).unwrap(),
            Trouble::SlowReadOnly => self.disks[1].set_read_only(true),
            Trouble::FastReadOnly => self.disks[0].set_read_only(true),
        }
    }

    fn end(&self, trouble: Trouble) {
        match trouble {
            Trouble::None => {}
            Trouble::SlowAway => fs::rename(self.away(), &self.slow).unwrap(),
            Trouble::SlowReadOnly => self.disks[1].set_read_only(false),
            Trouble::FastReadOnly => self.disks[0].set_read_only(false),
        }
    }

    fn away(&self) -> PathBuf {
        self.slow.with_extension("away")
    }

    fn dirs(&self) -> [&Path; 2] {
        [&self.fast, &self.slow]
    }

    /// Starts the simulation. Live memory has huge pages in odd rounds. With several nodes of
    /// memory, versions are copied: frames that are handed over lie where the program stores first,
    /// and nothing is asked for them.
    fn simulation(&self, round: u64) -> Child {
        let size = SIZE.to_string();
        let mut args = vec![
            "--size",
            &size,
            "--steps",
            "10000000",
            "--publish-every",
            "5",
        ];
        let mut pretended = "1".to_owned();
        if has_several_nodes(round) {
            args.extend(["--capture", "copy"]);
            pretended = NODES.to_string();
        }
        if Checkpoint::restart(&self.dirs(), None).is_ok() {
            args.push("--restart");
            args.extend(self.dirs().map(|dir| dir.to_str().unwrap()));
        }
        let sharing = ["1", "0"][(round / 2 % 2) as usize];
        let env = [
            HUGE_PAGES[(round % 2) as usize],
            ("TCASM_SHARED_BACKING", sharing),
            (nodes::VARIABLE, pretended.as_str()),
        ];
        Child::start(&program("gray_scott"), &args, self.sockets.path(), &env)
    }

    /// Starts a writer of checkpoints, which dies at `fault`. At its end it waits for copies until
    /// they have made no progress for `grace` seconds.
    fn writer(&self, fault: &str, grace: &str) -> Child {
        let [fast, slow] = self.dirs().map(|dir| dir.to_str().unwrap());
        let args = [
            "checkpoint",
            "gray_scott",
            "--fast",
            fast,
            "--slow",
            slow,
            "--every",
            "2",
        ];
        let chain = [
            "--increments",
            "4",
            "--compact",
            "--keep",
            "2",
            "--keep-slow",
            "3",
        ];
        let more = [
            "--replace-later",
            "--compress",
            "0",
            "--timeout",
            "30",
            "--grace",
            grace,
        ];
        let args = [&args[..], &chain, &more].concat();
        let env = [("TCASM_FAULT", fault), ("TCASM_LOG", "off")];
        Child::start(&program("tcasm"), &args, self.sockets.path(), &env)
    }
}

/// Returns the step of a line that reports a checkpoint.
fn step_of_line(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("wrote ")?.split("  step ").nth(1)?;
    rest.split(' ').next()?.parse().ok()
}

/// Reads lines of the writer until it has reported `count` checkpoints, has ended, or the time is
/// over. Returns the last step.
fn receive(writer: &Child, count: usize, timeout: Duration) -> Option<u64> {
    let (mut last, mut received) = (None, 0);
    let until = Instant::now() + timeout;
    while received < count && Instant::now() < until {
        match writer.receive(Duration::from_millis(20)) {
            Received::Line(line) => {
                if let Some(step) = step_of_line(&line) {
                    (last, received) = (Some(step), received + 1);
                }
            }
            Received::Nothing => {}
            Received::Ended => break,
        }
    }
    last
}

/// Checks what a restart finds after a round.
fn check(site: &Site, reference: &mut Reference, reported: Option<u64>, round: &str) {
    let found = match Checkpoint::restart(&site.dirs(), None) {
        Ok(found) => found,
        Err(error) => return assert!(reported.is_none(), "{round}: {error}"),
    };
    assert!(
        found.passed_over().is_empty(),
        "{round}: {:?}",
        found.passed_over()
    );
    let step = found.stamp().step;
    assert!(
        Some(step) >= reported,
        "{round}: step {step}, but {reported:?} was complete"
    );
    reference.advance(step);
    for (name, expected) in ["u", "v"].into_iter().zip(&reference.fields) {
        let mut array = ndarray::ArrayD::zeros(&[SIZE; 3][..]);
        found.read_array::<f64>(name, array.view_mut()).unwrap();
        let same = array
            .iter()
            .zip(expected)
            .all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(
            same,
            "{round}: {name} of step {step} differs from the undisturbed run"
        );
    }
}

/// Checks that every checkpoint of a manifest exists and is whole, and that there are no other
/// files.
fn in_order(dir: &Path) {
    let contents = Contents::read(&dir.join("gray_scott.manifest")).unwrap();
    let mut expected: Vec<String> = ["manifest", "vtkhdf.series"]
        .map(|end| format!("gray_scott.{end}"))
        .to_vec();
    expected.push(".gray_scott.tcasm-lock".to_owned());
    for item in contents.items.values() {
        let file = dir.join(&item.entry.file);
        Checkpoint::open(&file).and_then(|c| c.verify()).unwrap();
        expected.push(item.entry.file.clone());
    }
    expected.sort();
    let entries = fs::read_dir(dir).unwrap();
    let mut found: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, expected);
}

/// A small, fast source of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// The result of a round.
struct Round {
    /// The step of the newest checkpoint that was reported complete.
    reported: Option<u64>,
    /// True if the writer died at a step of a checkpoint.
    died: bool,
    /// The pretended nodes on which the simulation has placed frames.
    placed: BTreeSet<u8>,
    what: String,
}

/// Runs one round: starts both programs, lets some checkpoints be written, and kills.
fn round(site: &Site, random: &mut Random, number: u64) -> Round {
    let mut trouble = Trouble::of_round(number);
    let what = format!("{trouble:?}");
    site.begin(trouble);
    let fault = fault(random, number);
    let mut simulation = site.simulation(number);
    let mut writer = site.writer(&fault, SHORT_GRACE);
    let mut reported = None;
    let mut listen = |writer: &Child, count, timeout| {
        reported = reported.max(receive(writer, count, timeout));
    };
    if trouble == Trouble::FastReadOnly {
        listen(&writer, 1, SHORT_TIMEOUT);
    }
    if random.below(2) == 0 {
        // The failure ends while the programs run.
        site.end(trouble);
        trouble = Trouble::None;
    }
    let timeout = match trouble {
        Trouble::FastReadOnly => SHORT_TIMEOUT,
        _ => CHECKPOINT_TIMEOUT,
    };
    listen(&writer, 1 + random.below(6) as usize, timeout);
    std::thread::sleep(Duration::from_micros(random.below(30_000)));
    let died = writer
        .ended()
        .is_some_and(|status| status.signal() == Some(9));
    let victims = random.below(3);
    if victims != 0 {
        writer.kill();
        listen(&writer, usize::MAX, DEADLINE);
    }
    if victims == 1 {
        // The simulation has noticed nothing. Another writer goes on with it.
        writer = site.writer("", SHORT_GRACE);
        listen(&writer, 2, timeout);
    }
    simulation.kill();
    if victims != 2 {
        // The writer saves the last version and ends.
        listen(&writer, usize::MAX, DEADLINE);
        writer.wait();
    }
    site.end(trouble);
    let killed = ["the simulation", "the writer, then the simulation", "both"][victims as usize];
    let what = format!("round {number}, {killed} killed, fault {fault:?}, {what}");
    Round {
        reported,
        died,
        placed: placed(&simulation),
        what,
    }
}

/// Returns the point at which the writer kills itself, in every third round.
fn fault(random: &mut Random, number: u64) -> String {
    if !number.is_multiple_of(3) {
        return String::new();
    }
    let point = CHECKPOINT_POINTS[random.below(CHECKPOINT_POINTS.len() as u64) as usize];
    format!("{point}:{}", 1 + random.below(4))
}

fn storm(rounds: u64, seed: u64) {
    let (site, mut reference, mut random) = (Site::new(), Reference::new(), Random(seed));
    let (mut newest, mut died, mut placed) = (None, false, BTreeSet::new());
    for number in 0..rounds {
        let round = round(&site, &mut random, number);
        newest = newest.max(round.reported);
        died |= round.died;
        placed.extend(round.placed);
        check(&site, &mut reference, newest, &round.what);
    }
    let hint = "the build has no fault points; run `cargo test --workspace --no-run` first";
    assert!(died, "no writer died within a checkpoint: {hint}");
    let all: BTreeSet<u8> = (0..NODES).collect();
    assert_eq!(placed, all, "the nodes on which frames were placed: {hint}");
    assert!(
        reference.step > rounds,
        "the run must make progress: step {}",
        reference.step
    );
    // The next start puts all in order and drains what is left.
    let mut simulation = site.simulation(rounds);
    let mut writer = site.writer("", "60");
    receive(&writer, 3, DEADLINE);
    writer.signal(Signal::SIGTERM);
    assert_eq!(writer.wait().code(), Some(0));
    simulation.kill();
    site.dirs().into_iter().for_each(in_order);
    let newest = site.dirs().map(|dir| {
        let contents = Contents::read(&dir.join("gray_scott.manifest")).unwrap();
        contents.newest()
    });
    assert_eq!(
        newest[0], newest[1],
        "the slow tier must have the newest checkpoint"
    );
}

/// Returns the seed of `TCASM_STORM_SEED`, which repeats a storm.
fn seed() -> Option<u64> {
    std::env::var("TCASM_STORM_SEED").ok()?.parse().ok()
}

#[test]
fn every_restart_after_kills_has_the_bits_of_an_undisturbed_run() {
    storm(30, seed().unwrap_or(20_261_121));
}

#[test]
#[ignore = "takes minutes; run by `make soak`"]
fn soak_every_restart_after_kills_has_the_bits_of_an_undisturbed_run() {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = seed().unwrap_or(now.as_nanos() as u64);
    eprintln!("seed {seed}");
    storm(400, seed);
}
