//! A storm of SIGKILLs over a simulation and the writer of its checkpoints, with tiers that are full, away and back: every restart
//! goes on from the bits of an undisturbed run, no checkpoint that was told to be complete is lost, and nothing is left behind.

use ndarray::Array3;
use nix::sys::signal::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tcasm_checkpoint::{Checkpoint, Contents};
use tcasm_core::fault::CHECKPOINT_POINTS;
use tcasm_examples::{GrayScott, Params};
use tcasm_tests::child::{Child, DEADLINE, Said};
use tempfile::TempDir;

const SIZE: usize = 20;
/// Where the fast tier is full no checkpoint comes: so long one is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// A slow tier that is away does not come back before the round ends.
const HASTE: &str = "0.2";

/// The undisturbed run, computed here step by step.
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

    /// Go on to `step`. What was reached once is never gone back behind: that would be a lost checkpoint.
    fn advance(&mut self, step: u64) {
        assert!(
            step >= self.step,
            "step {} was there, now {step} is",
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

/// The folders of a run, and what is run in them.
struct Site {
    sockets: TempDir,
    _root: TempDir,
    fast: PathBuf,
    slow: PathBuf,
    mounted: bool,
}

impl Site {
    /// The fast folder is small, where that can be had.
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let [fast, slow] = ["fast", "slow"].map(|name| root.path().join(name));
        [&fast, &slow]
            .into_iter()
            .for_each(|dir| fs::create_dir(dir).unwrap());
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(&fast);
        let mounted = mount.output().is_ok_and(|out| out.status.success());
        Site {
            sockets: TempDir::new().unwrap(),
            _root: root,
            fast,
            slow,
            mounted,
        }
    }

    fn dirs(&self) -> [&Path; 2] {
        [&self.fast, &self.slow]
    }

    fn simulation(&self) -> Child {
        let size = SIZE.to_string();
        let mut args = vec![
            "--size",
            &size,
            "--steps",
            "10000000",
            "--publish-every",
            "5",
        ];
        if Checkpoint::restart(&self.dirs(), None).is_ok() {
            args.push("--restart");
            args.extend(self.dirs().map(|dir| dir.to_str().unwrap()));
        }
        Child::start(&program("gray_scott"), &args, self.sockets.path(), &[])
    }

    /// A writer of checkpoints, which dies at `fault`. It waits for `grace` seconds for what gets nowhere.
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
            "--wait",
            "30",
            "--grace",
            grace,
        ];
        let args = [&args[..], &chain, &more].concat();
        let env = [("TCASM_FAULT", fault), ("TCASM_LOG", "off")];
        Child::start(&program("tcasm"), &args, self.sockets.path(), &env)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount")
                .arg("--lazy")
                .arg(&self.fast)
                .status();
        }
    }
}

fn program(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join(name);
    let hint = "run `cargo build --workspace --bins` first";
    assert!(path.exists(), "{path:?} is not there: {hint}");
    path.to_str().unwrap().to_owned()
}

/// The step of a line that tells of a checkpoint.
fn told(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("wrote ")?.split("  step ").nth(1)?;
    rest.split(' ').next()?.parse().ok()
}

/// Hear the writer until it has told of `count` checkpoints, or has ended, or is silent for too long; the last step.
fn hear(writer: &Child, count: usize, patience: Duration) -> Option<u64> {
    let (mut last, mut heard) = (None, 0);
    let until = Instant::now() + patience;
    while heard < count && Instant::now() < until {
        match writer.hear(Duration::from_millis(20)) {
            Said::Line(line) => {
                if let Some(step) = told(&line) {
                    (last, heard) = (Some(step), heard + 1);
                }
            }
            Said::Nothing => {}
            Said::Ended => break,
        }
    }
    last
}

/// What is found after a round.
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

/// Every checkpoint that a manifest has is there and whole, and nothing else of ours is.
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

/// One round: start both, let some checkpoints be written, kill, look.
fn round(site: &Site, random: &mut Random, number: u64) -> (Option<u64>, String) {
    let away = site.slow.with_extension("away");
    let slow_is_away = number % 4 == 1;
    if slow_is_away {
        fs::rename(&site.slow, &away).unwrap();
    }
    let fault = match number % 3 {
        0 => {
            let point = CHECKPOINT_POINTS[random.below(CHECKPOINT_POINTS.len() as u64) as usize];
            format!("{point}:{}", 1 + random.below(4))
        }
        _ => String::new(),
    };
    let mut simulation = site.simulation();
    let mut writer = site.writer(&fault, HASTE);
    let mut reported = hear(&writer, 1 + random.below(6) as usize, PATIENCE);
    std::thread::sleep(Duration::from_micros(random.below(30_000)));
    let victims = random.below(3);
    if victims != 0 {
        writer.kill();
        reported = reported.max(hear(&writer, usize::MAX, DEADLINE));
    }
    if victims == 1 {
        // The simulation has not noticed: another writer goes on with it.
        writer = site.writer("", HASTE);
        reported = reported.max(hear(&writer, 2, PATIENCE));
    }
    simulation.kill();
    if victims != 2 {
        // It saves the last version, and ends.
        reported = reported.max(hear(&writer, usize::MAX, DEADLINE));
        writer.wait();
    }
    if slow_is_away {
        fs::rename(&away, &site.slow).unwrap();
    }
    let what = ["the simulation", "the writer, then the simulation", "both"][victims as usize];
    (
        reported,
        format!("round {number}, {what} killed, fault {fault:?}, slow away {slow_is_away}"),
    )
}

fn storm(rounds: u64, seed: u64) {
    let (site, mut reference, mut random) = (Site::new(), Reference::new(), Random(seed));
    let mut newest = None;
    for number in 0..rounds {
        let (reported, what) = round(&site, &mut random, number);
        newest = newest.max(reported);
        check(&site, &mut reference, newest, &what);
    }
    assert!(
        reference.step > rounds,
        "the run has come forward: step {}",
        reference.step
    );
    // The next start puts all in order, and drains what there is.
    let mut simulation = site.simulation();
    let mut writer = site.writer("", "60");
    hear(&writer, 3, DEADLINE);
    writer.signal(Signal::SIGTERM);
    assert_eq!(writer.wait().code(), Some(0));
    simulation.kill();
    site.dirs().into_iter().for_each(in_order);
    let newest = site.dirs().map(|dir| {
        let contents = Contents::read(&dir.join("gray_scott.manifest")).unwrap();
        contents.newest()
    });
    assert_eq!(newest[0], newest[1], "all is drained");
}

#[test]
fn whatever_is_killed_every_restart_has_the_bits_of_an_undisturbed_run() {
    storm(30, 20_261_121);
}

#[test]
#[ignore = "takes minutes; part of `make soak`"]
fn the_storm_for_long() {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = now.as_nanos() as u64;
    eprintln!("seed {seed}");
    storm(400, seed);
}
