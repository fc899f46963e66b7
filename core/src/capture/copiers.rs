//! The threads: copiers, which sleep while there is nothing to copy, and the one that serves early stores.

use super::{Gate, Outcome, Sweep};
use crate::sys::fork::Process;
use crate::sys::{futex, thread};
use arc_swap::ArcSwapOption;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How many copiers there are, where they run, how eagerly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Number of copier threads; none: one for each two processors, at least one and at most four.
    pub threads: Option<usize>,
    /// Processors that they run on; empty: any.
    pub processors: Vec<usize>,
    /// Their nice value, if it is not to be the program's.
    pub nice: Option<i32>,
}

impl Settings {
    fn count(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or((processors / 2).clamp(1, 4))
    }

    /// A thread that cannot have its place still copies.
    fn apply(&self) {
        if !self.processors.is_empty() {
            let _ = thread::run_on(&self.processors);
        }
        if let Some(nice) = self.nice {
            let _ = thread::be_nice(nice);
        }
    }
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    /// What the fault thread serves: known to it before the first store can wait.
    serving: ArcSwapOption<Sweep>,
    /// What copiers work on: not before all of it is protected, or what they release would be protected again, for ever.
    work: ArcSwapOption<Sweep>,
    gate: Option<Arc<Gate>>,
    stop: AtomicBool,
    /// Counts sweeps, and the end: copiers sleep until it changes. No lock, which a copier could hold
    /// while threads of higher priority compute.
    rings: AtomicU64,
}

impl Shared {
    fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        futex::wake_private(&self.rings);
    }

    fn copy(&self) {
        loop {
            // Read before looking for work: what is rung afterwards ends the wait at once.
            let seen = self.rings.load(Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            if let Some(sweep) = self.work.load_full() {
                sweep.work();
            }
            futex::wait_private(&self.rings, seen, Duration::MAX);
        }
    }

    fn serve(&self, gate: &Gate) {
        let served = gate.serve(|address| {
            // Loaded anew for each: a fault that was read late may be one of the next sweep by now. Without a sweep
            // nothing is protected, and whoever waited was let go by whoever released.
            if let Some(sweep) = &*self.serving.load() {
                sweep.early_store(address);
            }
        });
        if let Err(error) = served {
            self.abandon(&format!("early stores cannot be served: {error}"));
        }
    }

    /// A thread is gone that stores may be waiting for.
    fn abandon(&self, why: &str) {
        let sweeps = [self.serving.load_full(), self.work.load_full()];
        sweeps.iter().flatten().for_each(|s| s.abandon(why));
        if let Some(gate) = &self.gate {
            gate.give_up();
        }
        // What nobody has claimed, nobody else may be left to claim.
        sweeps.iter().flatten().for_each(|s| s.work());
    }
}

/// Gives the gate up if its thread ends in a panic.
struct Watch<'a>(&'a Shared, &'static str);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon(self.1);
        }
    }
}

/// The running threads. They end, and what is in flight with them, when this is dropped.
#[derive(Debug)]
pub struct Copiers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    process: Process,
}

impl Copiers {
    /// Start the threads; with a gate, also the one that serves its faults.
    pub fn start(settings: &Settings, gate: Option<Arc<Gate>>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            serving: ArcSwapOption::empty(),
            work: ArcSwapOption::empty(),
            gate: gate.clone(),
            stop: AtomicBool::new(false),
            rings: AtomicU64::new(0),
        });
        let mut copiers = Copiers {
            shared,
            threads: Vec::new(),
            process: Process::current(),
        };
        copiers.spawn_all(settings, gate)?;
        Ok(copiers)
    }

    fn spawn_all(&mut self, settings: &Settings, gate: Option<Arc<Gate>>) -> io::Result<()> {
        if let Some(gate) = gate {
            self.spawn("tcasm-faults", move |shared| {
                let _watch = Watch(shared, "the thread that serves early stores died");
                shared.serve(&gate);
            })?;
        }
        for _ in 0..settings.count() {
            let settings = settings.clone();
            self.spawn("tcasm-copier", move |shared| {
                let _watch = Watch(shared, "a copier thread died");
                settings.apply();
                shared.copy();
            })?;
        }
        Ok(())
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce(&Shared) + Send + 'static) -> io::Result<()> {
        let shared = self.shared.clone();
        let named = Builder::new().name(name.to_owned());
        self.threads
            .push(thread::spawn(named, move || run(&shared))?);
        Ok(())
    }

    /// Protect the pieces of `sweep` and have them saved from now on. After an error nothing is protected and nothing will be
    /// saved.
    pub fn begin(&self, sweep: &Arc<Sweep>) -> io::Result<()> {
        self.shared.serving.store(Some(sweep.clone()));
        if let Err(error) = sweep.protect() {
            self.shared
                .abandon(&format!("write-protecting live memory: {error}"));
            return Err(error);
        }
        crate::fault::pass("protected");
        self.shared.work.store(Some(sweep.clone()));
        self.shared.ring();
        Ok(())
    }

    /// Save `sweep`, which has no gate, with the caller's help; returns when it has ended.
    pub fn run(&self, sweep: &Arc<Sweep>) -> Outcome {
        self.shared.work.store(Some(sweep.clone()));
        self.shared.ring();
        sweep.work();
        let outcome = sweep.wait(Duration::MAX);
        self.shared.work.store(None);
        outcome
    }

    /// Forget the sweep that has ended, and what it keeps alive.
    pub fn clear(&self) {
        self.shared.serving.store(None);
        self.shared.work.store(None);
    }
}

impl Drop for Copiers {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // A forked child has none of the threads.
            return self.threads.drain(..).for_each(std::mem::forget);
        }
        // Whoever stores during the last sweep must still be served: it is ended first, with this thread's help.
        if let Some(sweep) = self.shared.serving.load_full() {
            sweep.work();
            sweep.wait(Duration::MAX);
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.ring();
        if let Some(gate) = &self.shared.gate {
            gate.stop();
        }
        self.threads.drain(..).for_each(|t| drop(t.join()));
    }
}
