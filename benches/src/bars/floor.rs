//! What the kernel takes of a publish that captures later: protecting the buffer, and waking who copies.

use crate::samples::Samples;
use std::sync::{Arc, Condvar, Mutex};
use tcasm_core::capture::Gate;
use tcasm_core::sys::mem::Mapping;

/// Memory of huge pages behind a gate, and a thread that sleeps.
pub(super) struct Floor {
    gate: Gate,
    memory: Mapping,
    bell: Arc<(Mutex<u64>, Condvar)>,
    times: Samples,
}

impl Floor {
    /// Over `bytes` bytes, all written.
    pub fn new(bytes: usize) -> Self {
        let memory = Mapping::reserve_aligned(bytes).expect("addresses");
        // SAFETY: a new reservation, from which nothing is borrowed; then writable memory of that size.
        unsafe { memory.put_zero(0, bytes, true).expect("memory") };
        let gate = Gate::open().expect("a gate");
        let range = memory.addr()..memory.addr() + bytes;
        gate.watch(range).expect("registered");
        // SAFETY: as above.
        unsafe { memory.ptr().write_bytes(1, bytes) };
        let bell = Arc::new((Mutex::new(0), Condvar::new()));
        let heard = bell.clone();
        // It sleeps until the program ends.
        std::thread::spawn(move || {
            let mut rings = heard.0.lock().expect("no panic");
            loop {
                rings = heard.1.wait(rings).expect("no panic");
            }
        });
        Floor {
            gate,
            memory,
            bell,
            times: Samples::default(),
        }
    }

    /// Once more.
    pub fn measure(&mut self) {
        let range = self.memory.addr()..self.memory.addr() + self.memory.len();
        self.times.time(|| {
            self.gate.protect(&range).expect("protected");
            *self.bell.0.lock().expect("no panic") += 1;
            self.bell.1.notify_all();
        });
        self.gate.release(&range).expect("released");
    }

    /// How long it took.
    pub fn times(&self) -> &Samples {
        &self.times
    }
}
