//! A thread that computes for a part of the time, and touches no memory: what anything at all that runs beside a simulation costs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// It computes and sleeps in turns of so long together.
const TURN: Duration = Duration::from_millis(10);

/// Dropped, it has ended.
pub struct Spinner {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Compute for this part of the time, as considerately as the server of the view.
    pub fn start(part: f64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let busy = TURN.mul_f64(part.clamp(0.0, 1.0));
        let thread = std::thread::spawn(move || {
            tcasm_core::sys::thread::set_background();
            while !seen.load(Relaxed) {
                let begin = Instant::now();
                while begin.elapsed() < busy {
                    std::hint::spin_loop();
                }
                std::thread::sleep(TURN - busy);
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
            // It has nothing to panic of.
            let _ = thread.join();
        }
    }
}
