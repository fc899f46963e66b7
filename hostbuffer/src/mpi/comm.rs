//! A communicator, and the few calls of MPI that an agreement needs.
//!
//! The crate `mpi` ignores the error codes of MPI, so this calls its C functions. Each call first
//! checks that MPI may be called: on the thread that made the communicator, and before the end of
//! MPI. So it may be called with every level of threads that MPI offers.
#![allow(unsafe_code)]

use crate::agreement::AgreementError;
use mpi::ffi::{self, MPI_Comm, MPI_Request};
use mpi::raw::AsRaw;
use std::ffi::c_int;
use std::ptr;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How long a rank sleeps before it looks again whether a call is complete.
const AGAIN: Duration = Duration::from_micros(50);
/// The largest message.
const LARGEST: usize = 1 << 20;

/// A communicator of our own, whose calls return errors.
#[derive(Debug)]
pub(super) struct Comm {
    raw: MPI_Comm,
    thread: ThreadId,
}

// SAFETY: a handle is a number or a pointer that only MPI follows, and no method lets another
// thread give it to MPI (see `Comm::callable`).
unsafe impl Send for Comm {}

impl Comm {
    /// Duplicates the communicator of an application.
    pub(super) fn duplicate(ranks: &impl AsRaw<Raw = MPI_Comm>) -> Result<Self, AgreementError> {
        let mut raw = ranks.as_raw();
        // SAFETY: `AsRaw` promises a communicator. The result is written to `raw`.
        check("duplicate the communicator", unsafe {
            ffi::MPI_Comm_dup(ranks.as_raw(), &raw mut raw)
        })?;
        let comm = Comm::own(raw);
        // SAFETY: the communicator is our own, and MPI predefines the handler. Communicators that
        // are split off have it too.
        check("set the error handler", unsafe {
            ffi::MPI_Comm_set_errhandler(comm.raw, ffi::RSMPI_ERRORS_RETURN)
        })?;
        Ok(comm)
    }

    fn own(raw: MPI_Comm) -> Self {
        let thread = std::thread::current().id();
        Comm { raw, thread }
    }

    /// Returns an error if MPI must not be called here and now.
    fn callable(&self) -> Result<(), AgreementError> {
        let mut finalized = 0;
        // SAFETY: this function may be called at any time. It writes to `finalized`.
        unsafe { ffi::MPI_Finalized(&raw mut finalized) };
        if finalized != 0 {
            return Err(AgreementError::Mpi("MPI has been finalised".into()));
        }
        match std::thread::current().id() == self.thread {
            true => Ok(()),
            false => Err(AgreementError::Mpi(
                "create the buffer on the thread that made `Ranks`".into(),
            )),
        }
    }

    /// Returns the ranks that can share memory with this one.
    pub(super) fn split_shared(&self) -> Result<Self, AgreementError> {
        self.callable()?;
        let mut raw = self.raw;
        // SAFETY: the communicator is our own, and MPI predefines the type and the info. The result
        // is written to `raw`.
        check("find the ranks that share memory", unsafe {
            let kind = ffi::RSMPI_COMM_TYPE_SHARED;
            ffi::MPI_Comm_split_type(self.raw, kind, 0, ffi::RSMPI_INFO_NULL, &raw mut raw)
        })?;
        Ok(Comm::own(raw))
    }

    /// Returns the ranks that give the same number, or `None` in those that give none.
    pub(super) fn split(&self, group: Option<usize>) -> Result<Option<Self>, AgreementError> {
        self.callable()?;
        let mut raw = self.raw;
        let color = group.and_then(|group| c_int::try_from(group).ok());
        // SAFETY: the communicator is our own. The result is written to `raw`.
        check("split the communicator", unsafe {
            let color = color.unwrap_or(ffi::RSMPI_UNDEFINED);
            ffi::MPI_Comm_split(self.raw, color, 0, &raw mut raw)
        })?;
        Ok(color.map(|_| Comm::own(raw)))
    }

    /// Returns the number of this process among the ranks.
    pub(super) fn rank(&self) -> Result<usize, AgreementError> {
        self.callable()?;
        let mut rank = 0;
        // SAFETY: the communicator is our own. The result is written to `rank`.
        check("find the rank", unsafe {
            ffi::MPI_Comm_rank(self.raw, &raw mut rank)
        })?;
        Ok(usize::try_from(rank).unwrap_or(0))
    }

    /// Returns the number of ranks.
    pub(super) fn size(&self) -> Result<usize, AgreementError> {
        self.callable()?;
        let mut size = 0;
        // SAFETY: the communicator is our own. The result is written to `size`.
        check("count the ranks", unsafe {
            ffi::MPI_Comm_size(self.raw, &raw mut size)
        })?;
        Ok(usize::try_from(size).unwrap_or(0))
    }

    /// Gives two numbers to all ranks, and returns those of all. Waits for all of them.
    pub(super) fn all_gather_now(&self, mine: [u64; 2]) -> Result<Vec<[u64; 2]>, AgreementError> {
        let mut all = vec![[0; 2]; self.size()?];
        // SAFETY: the communicator is our own, and has as many ranks as `all` has elements. Each
        // gives and gets the two numbers of an element, before the call returns.
        check("exchange folders", unsafe {
            let (kind, to) = (ffi::RSMPI_UINT64_T, all.as_mut_ptr().cast());
            ffi::MPI_Allgather(mine.as_ptr().cast(), 2, kind, to, 2, kind, self.raw)
        })?;
        Ok(all)
    }

    /// Returns the largest of the numbers that the ranks give. Waits for all of them.
    pub(super) fn max_now(&self, mine: u64) -> Result<u64, AgreementError> {
        self.callable()?;
        let mut max = 0u64;
        // SAFETY: the communicator is our own. The call reads one number and writes one.
        check("compare the ranks", unsafe {
            let (from, to) = ((&raw const mine).cast(), (&raw mut max).cast());
            ffi::MPI_Allreduce(from, to, 1, ffi::RSMPI_UINT64_T, ffi::RSMPI_MAX, self.raw)
        })?;
        Ok(max)
    }

    /// Gives a message to all ranks, and returns those of all. After an error, no other call of
    /// this communicator may follow.
    pub(super) fn all_gather(
        &self,
        mine: &[u8],
        until: Instant,
    ) -> Result<Vec<Vec<u8>>, AgreementError> {
        // A message that is too long has the length 0, and then fails everywhere.
        let mine = if mine.len() > LARGEST { &[] } else { mine };
        let lengths = self.all_lengths(mine.len() as i32, until)?;
        let sound = |n: &&i32| (1..=LARGEST as i32).contains(*n);
        let total: i64 = lengths.iter().map(|n| i64::from(*n)).sum();
        if lengths.iter().filter(sound).count() != lengths.len() || total > i64::from(i32::MAX) {
            return Err(AgreementError::Mpi(format!(
                "the hosts have messages of {total} bytes"
            )));
        }
        self.all_bytes(mine, lengths, until)
    }

    fn all_lengths(&self, mine: i32, until: Instant) -> Result<Vec<i32>, AgreementError> {
        let (mine, mut all) = (vec![mine], vec![0; self.size()?]);
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: the communicator is our own, and has as many ranks as `all` has elements. Each
        // gives and gets one number. `keep_unless_complete` keeps both buffers until MPI is done.
        let done = self.complete(until, |request| unsafe {
            let kind = ffi::RSMPI_INT32_T;
            ffi::MPI_Iallgather(from, 1, kind, to, 1, kind, self.raw, request)
        });
        let (_, all) = keep_unless_complete(done, (mine, all))?;
        Ok(all)
    }

    fn all_bytes(
        &self,
        mine: &[u8],
        lengths: Vec<i32>,
        until: Instant,
    ) -> Result<Vec<Vec<u8>>, AgreementError> {
        let starts: Vec<i32> = lengths
            .iter()
            .scan(0, |at, n| Some(std::mem::replace(at, *at + n)))
            .collect();
        let total: i32 = lengths.iter().sum();
        let (mine, mut all) = (mine.to_vec(), vec![0; total as usize]);
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        let (counts, places) = (lengths.as_ptr(), starts.as_ptr());
        // SAFETY: the communicator is our own. Each rank gives as many bytes as it has said, and
        // `all` has room for the sum. `keep_unless_complete` keeps all buffers until MPI is done.
        let done = self.complete(until, |request| unsafe {
            let (kind, count) = (ffi::RSMPI_UINT8_T, mine.len() as c_int);
            ffi::MPI_Iallgatherv(
                from, count, kind, to, counts, places, kind, self.raw, request,
            )
        });
        let buffers = (mine, all, lengths, starts);
        let (_, all, lengths, starts) = keep_unless_complete(done, buffers)?;
        let parts = starts.iter().zip(&lengths);
        Ok(parts
            .map(|(at, n)| all[*at as usize..(at + n) as usize].to_vec())
            .collect())
    }

    /// Starts a collective call, and waits until it is complete.
    fn complete(
        &self,
        until: Instant,
        start: impl FnOnce(*mut MPI_Request) -> c_int,
    ) -> Result<(), AgreementError> {
        self.callable()?;
        // SAFETY: MPI predefines this handle.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        check("start a collective call", start(&raw mut request))?;
        loop {
            let mut done = 0;
            // SAFETY: the request was started and is not complete. MPI accepts a predefined handle
            // in place of a status, and writes to `done`.
            check("complete a collective call", unsafe {
                ffi::MPI_Test(&raw mut request, &raw mut done, ffi::RSMPI_STATUS_IGNORE)
            })?;
            if done != 0 {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(AgreementError::Late("their ranks that lead".into()));
            }
            std::thread::sleep(AGAIN);
        }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if self.callable().is_ok() {
            // SAFETY: the communicator is our own, and MPI frees it when calls that are not
            // complete are.
            unsafe { ffi::MPI_Comm_free(&raw mut self.raw) };
        }
    }
}

/// Returns the buffers of a call that is complete. Otherwise MPI may still use them, so they are
/// never released.
fn keep_unless_complete<T>(
    done: Result<(), AgreementError>,
    buffers: T,
) -> Result<T, AgreementError> {
    match done {
        Ok(()) => Ok(buffers),
        Err(error) => {
            std::mem::forget(buffers);
            Err(error)
        }
    }
}

/// Returns an error of MPI as text.
fn check(what: &str, code: c_int) -> Result<(), AgreementError> {
    if code == 0 {
        return Ok(());
    }
    let (mut text, mut len) = ([0u8; ffi::MPI_MAX_ERROR_STRING as usize], 0);
    // SAFETY: the buffer is as long as MPI demands. The length is written to `len`.
    unsafe { ffi::MPI_Error_string(code, ptr::from_mut(&mut text).cast(), &raw mut len) };
    let text = &text[..usize::try_from(len).unwrap_or(0).min(text.len())];
    let why = String::from_utf8_lossy(text);
    Err(AgreementError::Mpi(format!("cannot {what}: {why}")))
}
