//! The least time that the kernel needs for a publish with deferred capture: write-protecting the
//! buffer and waking a copier thread.

use crate::samples::Samples;
use std::sync::{Arc, Condvar, Mutex};
use tcasm_core::capture::Gate;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::uffd::Faults;

/// Memory of huge pages behind a gate, and a thread that sleeps.
pub(super) struct Floor {
    gate: Gate,
    memory: Mapping,
    waker: Arc<(Mutex<u64>, Condvar)>,
    times: Samples,
}

impl Floor {
    /// Creates the memory with `bytes` bytes, all written, and starts the thread. Returns none if
    /// this user may open no gate of this kind: then no capture is deferred.
    pub fn new(bytes: usize, faults: Faults) -> Option<Self> {
        let gate = Gate::open(faults, false).ok()?;
        let memory = Mapping::reserve_aligned(bytes).expect("addresses");
        // SAFETY: the reservation is new, and nothing is borrowed from it.
        unsafe { memory.put_zero(0, bytes, true).expect("memory") };
        let range = memory.addr()..memory.addr() + bytes;
        gate.watch(range).expect("registered");
        // SAFETY: `put_zero` has made `bytes` bytes of it writable, and nothing is borrowed from
        // it.
        unsafe { memory.ptr().write_bytes(1, bytes) };
        let waker = Arc::new((Mutex::new(0), Condvar::new()));
        let listener = waker.clone();
        // The thread sleeps until the program ends, apart from the wake-ups.
        std::thread::spawn(move || {
            let mut count = listener.0.lock().expect("no panic");
            loop {
                count = listener.1.wait(count).expect("no panic");
            }
        });
        Some(Floor {
            gate,
            memory,
            waker,
            times: Samples::default(),
        })
    }

    /// Measures once: protects the memory and wakes the thread.
    pub fn measure(&mut self) {
        let range = self.memory.addr()..self.memory.addr() + self.memory.len();
        self.times.time(|| {
            self.gate.protect(&range).expect("protected");
            *self.waker.0.lock().expect("no panic") += 1;
            self.waker.1.notify_all();
        });
        self.gate.release(&range).expect("released");
    }

    /// Returns the measured times.
    pub fn times(&self) -> &Samples {
        &self.times
    }
}
