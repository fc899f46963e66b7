//! The buffer, as a program uses it.

use crate::error::HostBufferError;
use crate::gpu::GpuRegistration;
use crate::keeper::{Keeper, Obtained, Role};
use crate::layout::{Layout, Section};
use crate::memory::Memory;
use crate::seals::Seals;
use crate::state::{Seal, State};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::place::Extent;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::per_process::PerProcess;
use tcasm_core::sys::{socket, thread};

/// How long [`HostBuffer::seal`] waits for the other processes.
const SEALING: Duration = Duration::from_secs(60);

/// A buffer of this host, which all its processes have at the same address.
///
/// Dropping it unmaps it. The memory is released when the last process has dropped it or has ended.
///
/// A forked child has the memory too, and can wait for sections that are sealed already. It cannot
/// seal sections or register them, it is not counted, and dropping its copy of this does nothing.
#[derive(Debug)]
pub struct HostBuffer {
    memory: Arc<Memory>,
    state: Arc<State>,
    bell: OwnedFd,
    thread: Option<JoinHandle<()>>,
    created: bool,
    process: Process,
    _once: Once,
}

impl HostBuffer {
    pub(crate) fn start(
        job: String,
        obtained: Obtained,
        once: Once,
    ) -> Result<Self, HostBufferError> {
        let (bell, theirs) = bells().map_err(HostBufferError::os("make a pair of sockets"))?;
        let memory = Arc::new(obtained.memory);
        let sections = memory.layout().sections.len();
        let sealed = (0..sections).filter(|i| memory.is_sealed(*i));
        let sealed: BTreeSet<usize> = sealed.collect();
        let state = Arc::new(State::new(sections));
        sealed.iter().for_each(|i| state.set(*i, Seal::Sealed));
        let created = matches!(obtained.role, Role::Leader(_));
        let keeper = Keeper {
            job,
            memory: memory.clone(),
            presence: obtained.presence,
            state: state.clone(),
            bell: theirs,
            seals: Seals::new(sealed),
        };
        let named = Builder::new().name("tcasm-hostbuf".into());
        let started = thread::spawn(named, move || keeper.run(obtained.role));
        let started = started.map_err(HostBufferError::os("start a thread"))?;
        Ok(HostBuffer {
            memory,
            state,
            bell,
            thread: Some(started),
            created,
            process: Process::current(),
            _once: once,
        })
    }

    /// Returns true if this process created the buffer, and so is the one that fills it.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Returns the address of the first byte, which is the same in all processes.
    pub fn address(&self) -> usize {
        self.as_ptr() as usize
    }

    /// Returns a pointer to the first byte. Nothing orders the accesses of threads and processes.
    /// A store to a sealed section is a SIGSEGV.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.ptr()
    }

    /// Returns the bytes of address space, including gaps between sections. The sections in device
    /// memory and those for regions are the last ones, and the processor cannot read or write
    /// there.
    pub fn len(&self) -> usize {
        self.memory.layout().total
    }

    /// Returns false: a buffer has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a pointer to the first byte of a section in ordinary memory, and its size.
    pub fn section(&self, name: &str) -> Result<(*mut u8, usize), HostBufferError> {
        let i = self.memory.find(name)?;
        let (section, place) = self.part(i);
        Ok((self.as_ptr().wrapping_add(place), section.bytes))
    }

    /// Takes the part of `rank` in a section for regions ([`Section::regions`]), once in a process.
    /// From then on the buffer reserves these addresses no longer in this process, so that a region
    /// can be placed there: with `Builder::extent` of tcasm-producer. All other parts stay reserved
    /// as long as the buffer. If this fails, the part stays reserved too.
    ///
    /// Other processes may take the part of the same rank, as they have addresses of their own. The
    /// name of the region keeps ranks apart.
    pub fn take_part(&self, name: &str, rank: u32) -> Result<Extent, HostBufferError> {
        self.check_process()?;
        self.memory.take_part(name, rank)
    }

    /// Makes a section read-only in all processes, for ever, and waits for it. A thread of any
    /// process that stores to it meanwhile gets a SIGSEGV.
    ///
    /// If this fails, some processes may be unable to write the section already. It can be tried
    /// again.
    pub fn seal(&self, name: &str) -> Result<(), HostBufferError> {
        let i = self.memory.find(name)?;
        self.check_process()?;
        self.state.want(i);
        self.ring();
        self.wait(i, SEALING).map(drop)
    }

    /// Waits until a process has sealed a section, and returns its bytes.
    pub fn wait_sealed(&self, name: &str, timeout: Duration) -> Result<&[u8], HostBufferError> {
        self.wait(self.memory.find(name)?, timeout)
    }

    /// Registers a section with GPU `device`, so that copies to and from it need no copy by the CPU
    /// before. It holds for this process and all its contexts. The section cannot be sealed before
    /// all processes have dropped their registrations. A sealed section is registered for reading,
    /// which some devices do not support.
    #[allow(unsafe_code)]
    pub fn register_gpu(
        &self,
        name: &str,
        device: u32,
    ) -> Result<GpuRegistration<'_>, HostBufferError> {
        let i = self.memory.find(name)?;
        self.check_process()?;
        let place = &self.memory.layout().places[i];
        let (ptr, writable) = (
            self.as_ptr().wrapping_add(place.start),
            !self.memory.is_sealed(i),
        );
        // SAFETY: the section is mapped as long as this buffer, which the result borrows.
        let registered = unsafe { GpuRegistration::new(ptr, place.len(), device, writable) };
        registered.map_err(HostBufferError::Gpu)
    }

    #[allow(unsafe_code)]
    fn wait(&self, i: usize, timeout: Duration) -> Result<&[u8], HostBufferError> {
        let (section, place) = self.part(i);
        // A forked child must not touch the state, which may have been locked when it began. If the
        // section is sealed, the child has inherited a mapping that cannot be written.
        let seal = match (self.process.is_current(), self.memory.is_sealed(i)) {
            (true, _) => self.state.wait(i, timeout),
            (false, true) => Seal::Sealed,
            (false, false) => return Err(HostBufferError::Forked),
        };
        let (section, bytes) = (section.name.clone(), section.bytes);
        let why = match seal {
            // SAFETY: the section is mapped as long as this buffer lives. Its object is sealed, so
            // no process can change or shorten it. The kernel seals an object only when it is
            // mapped for writing nowhere, so this process has it mapped read-only by now, and maps
            // it only once (see `Keeper::close`).
            Seal::Sealed => unsafe {
                let first = self.as_ptr().add(place);
                return Ok(std::slice::from_raw_parts(first, bytes));
            },
            Seal::Failed(why) => return Err(HostBufferError::NotSealed { section, why }),
            Seal::Open => format!("no process has sealed it within {timeout:?}"),
            Seal::Wanted => format!(
                "some process has not answered within {timeout:?}, or a device or a system call \
                 uses its memory"
            ),
        };
        Err(HostBufferError::SealTimeout { section, why })
    }

    /// Returns an error in a forked child.
    fn check_process(&self) -> Result<(), HostBufferError> {
        match self.process.is_current() {
            true => Ok(()),
            false => Err(HostBufferError::Forked),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.memory.layout()
    }

    /// Returns section `i`, and where it begins.
    fn part(&self, i: usize) -> (&Section, usize) {
        let layout = self.memory.layout();
        (&layout.sections[i], layout.places[i].start)
    }

    /// Makes the thread look at the state.
    fn ring(&self) {
        ring(&self.bell);
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let thread = self.thread.take();
        if !self.process.is_current() {
            // The thread is the parent's.
            std::mem::forget(thread);
            return;
        }
        self.state.stop();
        self.ring();
        // The thread does not panic, and if it does, there is nothing left to do here.
        let _ = thread.map(JoinHandle::join);
    }
}

fn bells() -> std::io::Result<(OwnedFd, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    Ok((ours.into(), theirs))
}

/// Makes the thread at the other end look at the state. If the socket is full, it has been told
/// already. If it has ended, there is no SIGPIPE, which would end a program in C.
fn ring(bell: &OwnedFd) {
    let _ = socket::send(bell, &[1], &[]);
}

/// The jobs whose buffers this process has. The locks of files know processes only, so a process
/// must not have a buffer twice. A forked child begins with an empty list.
static JOBS: PerProcess<Mutex<BTreeSet<String>>> = PerProcess::new();

/// The right of this process to one buffer of a job.
#[derive(Debug)]
pub(crate) struct Once {
    job: String,
    process: Process,
}

impl Once {
    pub(crate) fn begin(job: &str) -> Result<Self, HostBufferError> {
        let mut jobs = JOBS.get().lock().unwrap_or_else(PoisonError::into_inner);
        match jobs.insert(job.to_owned()) {
            true => Ok(Once {
                job: job.to_owned(),
                process: Process::current(),
            }),
            false => Err(HostBufferError::Twice(job.to_owned())),
        }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        // A forked child may have a buffer of its own of the same job.
        if self.process.is_current() {
            let mut jobs = JOBS.get().lock().unwrap_or_else(PoisonError::into_inner);
            jobs.remove(&self.job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{SigSet, Signal};
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, alarm, fork};

    #[test]
    fn bell_of_a_thread_that_has_ended_raises_no_signal() {
        let pipe = SigSet::from(Signal::SIGPIPE);
        pipe.thread_block().unwrap();
        let (bell, theirs) = bells().unwrap();
        drop(theirs);
        ring(&bell);
        let mut pending = std::mem::MaybeUninit::uninit();
        // SAFETY: the kernel writes the set, which is valid then.
        #[allow(unsafe_code)]
        let pending = unsafe {
            nix::libc::sigpending(pending.as_mut_ptr());
            SigSet::from_sigset_t_unchecked(pending.assume_init())
        };
        assert!(!pending.contains(Signal::SIGPIPE));
    }

    #[test]
    #[allow(unsafe_code)]
    fn forked_child_can_begin_a_buffer_while_a_thread_of_its_parent_has_the_list() {
        let own = Once::begin("begun").unwrap();
        let locked = JOBS.get().lock().unwrap();
        // SAFETY: the child only begins a buffer and ends. The alarm ends it if it waits.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                alarm::set(20);
                let other = Once::begin("other").is_ok();
                drop(own);
                // SAFETY: `_exit` ends the child at once, and runs no exit handlers of the parent.
                unsafe { nix::libc::_exit(i32::from(other)) }
            }
            ForkResult::Parent { child } => {
                let ended = waitpid(child, None).unwrap();
                assert_eq!(ended, WaitStatus::Exited(child, 1));
            }
        }
        drop(locked);
        let twice = Once::begin("begun");
        assert!(matches!(twice, Err(HostBufferError::Twice(_))));
    }
}
