//! Other methods to write checkpoints of a running simulation.

use super::simulation::{Plain, SHAPE, Work, save, usual};
use crate::outcome::Outcome;
use ndarray::Array3;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// A simulation with a method to write its checkpoints.
pub trait Method {
    /// Computes a step.
    fn step(&mut self, step: u64) -> Outcome<()>;

    /// Starts to write a checkpoint of the last computed step. It may be incomplete when this
    /// returns.
    fn checkpoint(&mut self, step: u64) -> Outcome<()>;

    /// Returns true if the last checkpoint is complete.
    fn is_complete(&mut self) -> Outcome<bool>;

    /// Waits until the last checkpoint is complete. Returns its path.
    fn settle(&mut self) -> Outcome<PathBuf>;

    /// Returns copies of the present u and v.
    fn state(&mut self) -> Outcome<[Array3<f64>; 2]>;
}

/// The simulation writes HDF5 itself and waits until the file is complete.
pub struct Direct {
    plain: Plain,
    path: PathBuf,
}

impl Direct {
    /// Creates the simulation. The checkpoint is written into `dir`.
    pub fn new(dir: &Path, work: Work) -> Self {
        Direct {
            plain: Plain::new(work),
            path: dir.join("direct.vtkhdf"),
        }
    }
}

impl Method for Direct {
    fn step(&mut self, step: u64) -> Outcome<()> {
        self.plain.step(step);
        Ok(())
    }

    fn checkpoint(&mut self, step: u64) -> Outcome<()> {
        save(&self.path, step, self.plain.now(), &usual()).map(drop)
    }

    fn is_complete(&mut self) -> Outcome<bool> {
        Ok(true)
    }

    fn settle(&mut self) -> Outcome<PathBuf> {
        Ok(self.path.clone())
    }

    fn state(&mut self) -> Outcome<[Array3<f64>; 2]> {
        Ok(self.plain.now().map(Array3::clone))
    }
}

type Arrays = [Array3<f64>; 2];

/// The simulation copies its fields, and another thread writes the copy.
pub struct CopyAndThread {
    plain: Plain,
    path: PathBuf,
    copy: Option<Arrays>,
    thread: Option<JoinHandle<Result<Arrays, String>>>,
}

impl CopyAndThread {
    /// Creates the simulation. The checkpoint is written into `dir`.
    pub fn new(dir: &Path, work: Work) -> Self {
        CopyAndThread {
            plain: Plain::new(work),
            path: dir.join("copy.vtkhdf"),
            copy: Some([(); 2].map(|()| crate::plain::huge_array(SHAPE))),
            thread: None,
        }
    }
}

impl Method for CopyAndThread {
    fn step(&mut self, step: u64) -> Outcome<()> {
        self.plain.step(step);
        Ok(())
    }

    fn checkpoint(&mut self, step: u64) -> Outcome<()> {
        self.settle()?;
        let mut copy = self.copy.take().ok_or("no buffer to copy to")?;
        for (to, from) in copy.iter_mut().zip(self.plain.now()) {
            to.assign(from);
        }
        let path = self.path.clone();
        self.thread = Some(std::thread::spawn(move || {
            let [u, v] = &copy;
            let saved = save(&path, step, [u, v], &usual()).map_err(|e| e.to_string());
            saved.map(|_| copy)
        }));
        Ok(())
    }

    fn is_complete(&mut self) -> Outcome<bool> {
        Ok(self
            .thread
            .as_ref()
            .is_none_or(|thread| thread.is_finished()))
    }

    fn settle(&mut self) -> Outcome<PathBuf> {
        if let Some(thread) = self.thread.take() {
            self.copy = Some(thread.join().map_err(|_| "the writing thread panicked")??);
        }
        Ok(self.path.clone())
    }

    fn state(&mut self) -> Outcome<[Array3<f64>; 2]> {
        Ok(self.plain.now().map(Array3::clone))
    }
}

/// The simulation forks, and the child writes the fields that it has inherited.
pub struct Fork {
    plain: Plain,
    path: PathBuf,
    child: Option<Pid>,
    status: Option<WaitStatus>,
}

impl Fork {
    /// Creates the simulation. The checkpoint is written into `dir`.
    pub fn new(dir: &Path, work: Work) -> Self {
        Fork {
            plain: Plain::new(work),
            path: dir.join("fork.vtkhdf"),
            child: None,
            status: None,
        }
    }
}

impl Method for Fork {
    fn step(&mut self, step: u64) -> Outcome<()> {
        self.plain.step(step);
        Ok(())
    }

    fn checkpoint(&mut self, step: u64) -> Outcome<()> {
        self.settle()?;
        // SAFETY: no other thread of this process runs in HDF5 or holds one of its locks now. The C
        // library handles its own locks in `fork`. The child writes the file and then ends by
        // `_exit`, without unwinding and without running exit handlers, which are for the parent.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => self.child = Some(child),
            ForkResult::Child => {
                let saved = save(&self.path, step, self.plain.now(), &usual());
                // SAFETY: `_exit` has no preconditions.
                unsafe { libc::_exit(i32::from(saved.is_err())) }
            }
        }
        Ok(())
    }

    fn is_complete(&mut self) -> Outcome<bool> {
        let Some(child) = self.child else {
            return Ok(true);
        };
        let status = waitpid(child, Some(nix::sys::wait::WaitPidFlag::WNOHANG))?;
        if status != WaitStatus::StillAlive {
            (self.child, self.status) = (None, Some(status));
        }
        Ok(self.child.is_none())
    }

    fn settle(&mut self) -> Outcome<PathBuf> {
        if let Some(child) = self.child.take() {
            self.status = Some(waitpid(child, None)?);
        }
        match self.status {
            None | Some(WaitStatus::Exited(_, 0)) => Ok(self.path.clone()),
            Some(status) => Err(format!("the child that writes ended with {status:?}").into()),
        }
    }

    fn state(&mut self) -> Outcome<[Array3<f64>; 2]> {
        Ok(self.plain.now().map(Array3::clone))
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        if let Some(child) = self.child {
            let _ = waitpid(child, None);
        }
    }
}
