//! The two tiers of the model test: what they must restore, and what they do restore.

use super::child::{COUNT, values};
use super::{Harm, KEEP, Round};
use crate::Checkpoint;
use crate::format::names;
use crate::tier::contents::{self, Contents};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

type Check = Result<(), String>;

/// A tier, and what it must restore.
struct Side {
    dir: PathBuf,
    keep: usize,
    /// The steps that were reported to be complete on it.
    owed: BTreeSet<u64>,
    /// True if no file of it was lost.
    intact: bool,
}

/// Both tiers, and the step of the next checkpoint.
pub struct World {
    _root: tempfile::TempDir,
    fast: Side,
    slow: Side,
    step: u64,
}

impl World {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let side = |name: &str, keep| {
            let dir = root.path().join(name);
            fs::create_dir(&dir).unwrap();
            Side {
                dir,
                keep,
                owed: BTreeSet::new(),
                intact: true,
            }
        };
        let (fast, slow) = (side("fast", KEEP[0]), side("slow", KEEP[1]));
        World {
            _root: root,
            fast,
            slow,
            step: 1,
        }
    }

    /// Runs one round and checks both tiers before and after its damage.
    pub fn play(&mut self, round: &Round) -> Check {
        let ops: String = round.ops.iter().map(|op| op.letter()).collect();
        self.run(&ops, round.kill)?;
        self.check()?;
        self.harm(round.harm);
        self.check()
    }

    /// Drains everything and checks that nothing is left.
    pub fn finish(&mut self) -> Check {
        // Write one full checkpoint, so that there is one to drain, then drain all that can be
        // drained.
        self.run(&format!("f{}", "d".repeat(64)), None)?;
        self.check()?;
        let [fast, slow] = [&self.fast, &self.slow].map(|side| side.contents());
        let (fast, slow) = (fast?, slow?);
        let left: Vec<_> = fast.items.values().filter(|item| !item.drained).collect();
        match left.is_empty() && fast.newest() == slow.newest_whole() {
            true => Ok(()),
            false => Err(format!("not drained: {left:?}")),
        }
    }

    /// Runs `ops` in a process of its own, and records what it reports.
    fn run(&mut self, ops: &str, kill: Option<(&str, usize)>) -> Check {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let test = "tier::model::child::child_that_plays_a_round";
        child.args(["--ignored", "--exact", test, "--nocapture", "--quiet"]);
        child
            .env("TIERS_FAST", &self.fast.dir)
            .env("TIERS_SLOW", &self.slow.dir);
        child
            .env("TIERS_STEP", self.step.to_string())
            .env("TIERS_OPS", ops);
        if let Some((point, pass)) = kill {
            child.env("TCASM_FAULT", format!("{point}:{pass}"));
        }
        self.step += ops.len() as u64;
        let stale = self.stale();
        let ended = child.output().map_err(|e| e.to_string())?;
        let killed = ended.status.signal() == Some(Signal::SIGKILL as i32);
        if !ended.status.success() && !killed {
            let text = [ended.stdout, ended.stderr].concat();
            return Err(format!(
                "{}: {}",
                ended.status,
                String::from_utf8_lossy(&text)
            ));
        }
        for line in String::from_utf8_lossy(&ended.stdout).lines() {
            let Some((what, Ok(step))) = line.split_once(' ').map(|(w, s)| (w, s.parse())) else {
                continue;
            };
            if ["complete", "drained"].contains(&what) {
                self.fast.owed.insert(step);
            }
            if what == "drained" && !stale.contains(&step) {
                self.slow.owed.insert(step);
            }
        }
        Ok(())
    }

    /// Returns the steps that the fast tier says are drained although the slow one may have lost
    /// them. If a newer checkpoint is still there, they are not drained again.
    fn stale(&self) -> BTreeSet<u64> {
        let contents = match self.slow.intact {
            true => None,
            false => self.fast.contents().ok(),
        };
        let items = contents.into_iter().flat_map(|contents| contents.items);
        items
            .filter(|(_, item)| item.drained)
            .map(|(step, _)| step)
            .collect()
    }

    fn check(&self) -> Check {
        for (name, side) in [("fast", &self.fast), ("slow", &self.slow)] {
            side.check().map_err(|e| format!("the {name} tier: {e}"))?;
        }
        Ok(())
    }

    /// Does the damage of a round.
    fn harm(&mut self, harm: Harm) {
        match harm {
            Harm::None => {}
            Harm::LoseFast(which) => self.fast.lose(which),
            Harm::LoseSlow(which) => self.slow.lose(which),
            Harm::NewSlow => {
                fs::remove_dir_all(&self.slow.dir).unwrap();
                fs::create_dir(&self.slow.dir).unwrap();
                self.slow.owed.clear();
            }
        }
    }
}

impl Side {
    fn contents(&self) -> Result<Contents, String> {
        Contents::read(&self.dir.join("run.manifest")).map_err(|e| e.to_string())
    }

    /// Returns the steps that can be restored from this tier alone.
    fn restorable(&self) -> Result<BTreeSet<u64>, String> {
        let mut steps = BTreeSet::new();
        for found in names::in_dir(&self.dir).map_err(|e| e.to_string())? {
            let Ok(checkpoint) = Checkpoint::restart(&[&self.dir], Some(found.step)) else {
                continue;
            };
            let mut there = [0u64; COUNT];
            let buffer = bytemuck::cast_slice_mut(&mut there);
            checkpoint
                .read_bytes("t", buffer)
                .map_err(|e| e.to_string())?;
            if there != values(found.step) {
                return Err(format!("step {} is restored as {there:?}", found.step));
            }
            steps.insert(found.step);
        }
        Ok(steps)
    }

    fn check(&self) -> Check {
        let restorable = self.restorable()?;
        let oldest = restorable
            .iter()
            .rev()
            .nth(self.keep - 1)
            .or(restorable.first());
        let due = |step: &&u64| oldest.is_none_or(|oldest| *step >= oldest);
        let missing: Vec<u64> = self.owed.iter().filter(due).copied().collect();
        let missing: Vec<_> = missing.iter().filter(|s| !restorable.contains(s)).collect();
        if !missing.is_empty() || restorable.len() < self.keep.min(self.owed.len()) {
            let owed = &self.owed;
            return Err(format!("expected steps {owed:?}, restored {restorable:?}"));
        }
        match self.intact {
            true => self.check_history(),
            false => Ok(()),
        }
    }

    /// Checks that after each line of the manifest every checkpoint had its base.
    fn check_history(&self) -> Check {
        let path = self.dir.join("run.manifest");
        let Ok(bytes) = fs::read(&path) else {
            return Ok(());
        };
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
        for (line, (end, _)) in ends.enumerate() {
            let then = contents::parse(&path, &bytes[..=end])
                .map_err(|e| e.to_string())?
                .0;
            let whole = contents::whole(&then.items);
            if let Some(step) = then.items.keys().find(|step| !whole.contains(step)) {
                return Err(format!("after line {}, step {step} has no base", line + 1));
            }
        }
        Ok(())
    }

    /// Removes a file. From now on the tier must restore what it still can.
    fn lose(&mut self, which: usize) {
        let found = names::in_dir(&self.dir).unwrap();
        if found.is_empty() {
            return;
        }
        fs::remove_file(&found[which % found.len()].path).unwrap();
        self.intact = false;
        self.owed = self.restorable().unwrap();
    }
}
