//! Threads that compute and touch no memory. They show what any load beside a program costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time for one turn of computing and sleeping.
const TURN: Duration = Duration::from_millis(10);

/// A thread that computes. It has ended when this value has been dropped.
pub(super) struct Spinner {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Starts a thread that computes for this part of the time, with the low priority of the view's
    /// server.
    pub(super) fn start(part: f64) -> Self {
        Spinner::run(part, tcasm_core::sys::thread::set_background)
    }

    /// Starts a thread for each processor, which computes all the time at normal priority.
    pub(super) fn on_all_processors() -> Vec<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (0..processors).map(|_| Spinner::run(1.0, || {})).collect()
    }

    /// Starts a thread that calls `prepare` first.
    fn run(part: f64, prepare: fn()) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let busy = TURN.mul_f64(part.clamp(0.0, 1.0));
        let thread = std::thread::spawn(move || {
            prepare();
            while !seen.load(Relaxed) {
                let begin = Instant::now();
                while begin.elapsed() < busy {
                    std::hint::spin_loop();
                }
                if busy < TURN {
                    std::thread::sleep(TURN - busy);
                }
            }
        });
        Spinner {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, so there is no error to report.
            let _ = thread.join();
        }
    }
}
