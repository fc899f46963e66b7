//! The threads that save chunks: copiers, which sleep while there is nothing to copy, and the fault
//! thread, which serves early stores.

use super::{Gate, Outcome, Sweep};
use crate::sys::fork::Process;
use crate::sys::futex;
use crate::sys::thread::{self, Places};
use crate::testing::fault;
use arc_swap::ArcSwapOption;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The number of copier threads, their processors and their priority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The number of copier threads. `None`: one for each two processors, but at least one and at
    /// most four.
    pub threads: Option<usize>,
    /// The processors that the copiers run on. If empty, they run on any.
    pub processors: Vec<usize>,
    /// The nice value of the copiers. `None`: that of the program.
    pub nice: Option<i32>,
    /// The processors of each node of memory. If there are several nodes and `processors` is empty,
    /// each copier runs near the memory that it copies.
    pub nodes: Vec<Vec<usize>>,
}

impl Settings {
    fn count(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or((processors / 2).clamp(1, 4))
    }

    /// Applies the settings to the current thread, and returns the places where it may run. Errors
    /// are ignored: a thread that runs elsewhere still copies.
    fn apply(&self) -> Places {
        if !self.processors.is_empty() {
            let _ = thread::run_on(&self.processors);
        }
        if let Some(nice) = self.nice {
            let _ = thread::be_nice(nice);
        }
        match self.processors.is_empty() {
            true => Places::of(&self.nodes),
            false => Places::of(&[]),
        }
    }
}

/// The state that the threads share.
#[derive(Debug)]
struct Shared {
    /// The sweep that the fault thread serves, once all of it is protected. It is set before the
    /// first store can wait.
    serving: ArcSwapOption<Sweep>,
    /// The sweep that the copiers work on. It is set after all of it is protected: a piece that was
    /// released before would be protected again, and nobody would release it then.
    work: ArcSwapOption<Sweep>,
    gate: Option<Arc<Gate>>,
    stop: AtomicBool,
    /// Counts the sweeps, and the end. The copiers sleep until it changes. There is no lock,
    /// because a copier could hold it while threads of higher priority compute.
    rings: AtomicU64,
}

impl Shared {
    fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        futex::wake_private(&self.rings);
    }

    /// Copies until the end. Begins with the pieces on node `home` of each sweep, and runs near the
    /// pieces that it copies.
    fn copy(&self, home: usize, mut places: Places) {
        loop {
            // Read before looking for work, so that work that comes afterwards ends the wait at
            // once.
            let seen = self.rings.load(Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            if let Some(sweep) = self.work.load_full() {
                fault::wait_while_held();
                sweep.work_near(home, &mut |node| places.go(node));
            }
            futex::wait_private(&self.rings, seen, Duration::MAX);
        }
    }

    fn serve(&self, gate: &Gate) {
        let served = gate.serve(|address| {
            // Loaded anew for each fault, because a fault that is read late may belong to the next
            // sweep. Without a sweep nothing is protected, and the store has been let through
            // already.
            if let Some(sweep) = &*self.serving.load() {
                sweep.early_store(address);
            }
        });
        if let Err(error) = served {
            self.abandon(&format!("cannot serve early stores: {error}"));
        }
    }

    /// Gives up the current sweep and the gate. Called after an error, or when a thread has
    /// panicked that early stores depend on.
    fn abandon(&self, why: &str) {
        let sweeps = [self.serving.load_full(), self.work.load_full()];
        sweeps.iter().flatten().for_each(|s| s.abandon(why));
        if let Some(gate) = &self.gate {
            gate.give_up();
        }
        // There may be no other thread left to claim the remaining pieces.
        sweeps.iter().flatten().for_each(|s| s.work());
    }
}

/// Gives up the sweep and the gate if its thread panics.
struct Watch<'a>(&'a Shared, &'static str);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon(self.1);
        }
    }
}

/// The running threads. When this is dropped, the sweep in progress is completed and the threads
/// end.
#[derive(Debug)]
pub struct Copiers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    process: Process,
}

impl Copiers {
    /// Starts the copier threads. With a gate, also starts the fault thread.
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
                let _watch = Watch(shared, "the thread that serves early stores panicked");
                shared.serve(&gate);
            })?;
        }
        for i in 0..settings.count() {
            let settings = settings.clone();
            self.spawn("tcasm-copier", move |shared| {
                let _watch = Watch(shared, "a copier thread panicked");
                let places = settings.apply();
                shared.copy(i % settings.nodes.len().max(1), places);
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

    /// Protects the pieces of `sweep`, and lets the threads save them from now on. After an error
    /// the sweep was given up and nothing is protected.
    pub fn begin(&self, sweep: &Arc<Sweep>) -> io::Result<()> {
        self.shared.serving.store(Some(sweep.clone()));
        if let Err(error) = sweep.protect() {
            self.shared
                .abandon(&format!("cannot write-protect live memory: {error}"));
            return Err(error);
        }
        fault::pass("protected");
        self.shared.work.store(Some(sweep.clone()));
        self.shared.ring();
        Ok(())
    }

    /// Saves all pieces of `sweep`, which has no gate. The caller helps the copiers, and returns
    /// when the sweep has ended.
    pub fn run(&self, sweep: &Arc<Sweep>) -> Outcome {
        self.shared.work.store(Some(sweep.clone()));
        self.shared.ring();
        sweep.work();
        let outcome = sweep.wait(Duration::MAX);
        self.shared.work.store(None);
        outcome
    }

    /// Forgets the sweep that has ended, and drops what it keeps alive.
    pub fn clear(&self) {
        self.shared.serving.store(None);
        self.shared.work.store(None);
    }
}

impl Drop for Copiers {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // A forked child has none of these threads.
            return self.threads.drain(..).for_each(std::mem::forget);
        }
        // Stores during the last sweep must still be served. So this thread helps to complete the
        // sweep first.
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
