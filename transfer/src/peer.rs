//! The connection of a peer to an owner: the greeting, requests and replies, and the choice of the
//! transport.

use crate::cookie::{Access, Cookie};
use crate::error::TransferError;
use crate::image::Image;
use crate::mapped::{Mapped, MemoryFile};
use crate::reach::{patiently, probe};
use crate::segment::sum;
use crate::wire::{
    REPLY_BYTES, Reply, Request, SLOT_BYTES, SLOTS, Span, Status, VERSION, WINDOW_BYTES,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::HashMap;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcasm_core::sys::closer::Untrusted;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::object::sealed_len;
use tcasm_core::sys::process;
use tcasm_core::sys::socket;
use tcasm_core::sys::time::deadline;

/// How long a peer waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a peer waits between two looks whether it is interrupted.
const SLICE: Duration = Duration::from_millis(40);
/// The largest number of bytes for which the ring is used though others work: a second copy takes
/// less time than a second message.
const SMALL: u64 = 64 << 10;
/// The largest number of files that a connection keeps open.
const MOST_FILES: usize = 64;

/// The number of bytes of a ring.
const RING: u64 = SLOTS * SLOT_BYTES;

/// Descriptors that came from an owner, and are not checked yet.
pub(crate) type Descriptors = Untrusted<Vec<OwnedFd>>;

/// A way to transfer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One copy by the kernel, between the two processes.
    Direct,
    /// One copy from the file of shared memory, or to it.
    Mapped,
    /// Two copies, through a ring.
    Ring,
}

/// The facts that an owner tells of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// The number of bytes.
    pub len: u64,
    /// The access that peers have.
    pub access: Access,
    /// True if the memory has a file.
    pub mapped: bool,
    /// True if the cookie is for one use.
    pub once: bool,
    /// The number of the version, if the memory is one that nobody writes.
    pub version: Option<NonZeroU64>,
}

/// A connection to an owner.
#[derive(Debug)]
pub struct Peer {
    socket: OwnedFd,
    pub(crate) owner: process::Peer,
    /// The memory of the owner, or why direct copies do not work.
    pub(crate) image: Result<Image, String>,
    only: Option<Transport>,
    pub(crate) threads: usize,
    ring: Option<Arc<File>>,
    /// The files of declarations, or `None` for those that have none for this peer.
    files: HashMap<Cookie, Option<Arc<MemoryFile>>>,
    timeout: Duration,
    interrupted: Option<fn() -> bool>,
    /// The number of replies that nobody waits for.
    unread: usize,
    ended: bool,
    process: Process,
    buffer: Vec<u8>,
}

impl Peer {
    /// Connects to the owner at `address`, and tries which transports work.
    pub fn connect(address: &Path) -> Result<Self, TransferError> {
        let refused = |source| TransferError::Connect {
            path: address.to_owned(),
            source,
        };
        let socket = patiently(address).map_err(refused)?;
        let owner = process::Peer::of(&socket).map_err(refused)?;
        if !owner.alive() {
            // A forked child of it has the listening socket, and accepts nobody.
            return Err(TransferError::OwnerGone);
        }
        let mut peer = Peer {
            socket,
            owner,
            image: Err("the owner was not asked".to_owned()),
            only: None,
            threads: 1,
            ring: None,
            files: HashMap::new(),
            timeout: TIMEOUT,
            interrupted: None,
            unread: 0,
            ended: false,
            process: Process::current(),
            buffer: vec![0; REPLY_BYTES],
        };
        let welcome = peer.ask(Request::Hello { version: VERSION })?;
        peer.image = probe(&peer.owner, welcome.words);
        Ok(peer)
    }

    /// Returns why direct copies do not work, if they do not. The kernel can forbid them later than
    /// at the beginning. Then this peer tries them no more.
    pub fn direct(&self) -> Result<(), &str> {
        self.image.as_ref().map(drop).map_err(String::as_str)
    }

    /// Uses one transport for all transfers, or the best one for each (`None`).
    pub fn use_only(&mut self, transport: Option<Transport>) {
        self.only = transport;
    }

    /// Sets how many threads share a direct copy of more than 4 MiB: at first one, which is the
    /// calling one. More are worth it where one processor copies slower than the memory allows, and
    /// others have nothing else to do.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Sets how long to wait for an answer.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Calls `interrupted` about every 40 ms while a call waits for the owner. If it returns true,
    /// the call fails with [`TransferError::Interrupted`], and the connection ends. This is for
    /// interpreters, whose signal handlers only make a note.
    pub fn set_interrupted(&mut self, interrupted: fn() -> bool) {
        self.interrupted = Some(interrupted);
    }

    /// Asks what a cookie stands for.
    pub fn describe(&mut self, cookie: Cookie) -> Result<Described, TransferError> {
        let [len, kind, version, _] = self.ask(Request::Describe(cookie))?.words;
        let access = match kind & 3 {
            1 => Access::Read,
            2 => Access::Write,
            3 => Access::ReadWrite,
            _ => return Err(self.end(TransferError::Nonsense("unknown rights"))),
        };
        Ok(Described {
            len,
            access,
            mapped: kind & 4 != 0,
            once: kind & 8 != 0,
            version: NonZeroU64::new(version),
        })
    }

    /// Maps a declaration of shared memory for reading, without a copy.
    pub fn map(&mut self, cookie: Cookie) -> Result<Mapped, TransferError> {
        let file = self.ask_file(cookie)?;
        match file.has_parts() {
            true => Mapped::new(&file),
            false => Err(Status::TooManyParts.into()),
        }
    }

    /// Returns the transport for so many bytes of a declaration, and the file that it needs.
    ///
    /// Writes go to the file if there is one: it is the owner's whatever becomes of its process.
    pub(crate) fn choose(
        &mut self,
        cookie: Cookie,
        len: u64,
        write: bool,
    ) -> Result<(Transport, Option<Arc<MemoryFile>>), TransferError> {
        match self.only {
            None if len <= SMALL => Ok((Transport::Ring, None)),
            None if self.image.is_ok() && !write => Ok((Transport::Direct, None)),
            None => Ok(match self.file_of(cookie)? {
                None if self.image.is_ok() => (Transport::Direct, None),
                None => (Transport::Ring, None),
                file => (Transport::Mapped, file),
            }),
            Some(Transport::Ring) => Ok((Transport::Ring, None)),
            Some(Transport::Direct) => match &self.image {
                Ok(_) => Ok((Transport::Direct, None)),
                Err(why) => Err(TransferError::NotDirect(why.clone())),
            },
            Some(Transport::Mapped) => match self.file_of(cookie)? {
                None => Err(TransferError::Refused(Status::NotMapped)),
                file => Ok((Transport::Mapped, file)),
            },
        }
    }

    /// Returns the file of a declaration, if it has one for this peer.
    fn file_of(&mut self, cookie: Cookie) -> Result<Option<Arc<MemoryFile>>, TransferError> {
        if let Some(known) = self.files.get(&cookie) {
            return Ok(known.clone());
        }
        let file = match self.ask_file(cookie) {
            Ok(file) => Some(Arc::new(file)),
            Err(TransferError::Refused(Status::NotMapped | Status::NotPermitted)) => None,
            // Other transports may do. The next transfer asks again.
            Err(TransferError::Refused(Status::Failed)) if self.only.is_none() => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.files.len() >= MOST_FILES {
            self.files.clear();
        }
        self.files.insert(cookie, file.clone());
        Ok(file)
    }

    /// Forgets the file of a cookie that has ended, so that its memory can be given back.
    pub(crate) fn forget(&mut self, cookie: Cookie) {
        self.files.remove(&cookie);
    }

    /// Asks for the file of a declaration.
    fn ask_file(&mut self, cookie: Cookie) -> Result<MemoryFile, TransferError> {
        self.send(Request::Map(cookie))?;
        let (reply, files) = self.receive_file()?;
        let sealed = sealed(files).ok_or(TransferError::Nonsense("no file of fixed size"));
        let file = sealed.and_then(|(fd, len)| MemoryFile::new(fd, len, &reply.segments));
        file.map_err(|error| self.end(error))
    }

    /// Returns the ring of this connection.
    pub(crate) fn ring(&mut self) -> Result<Arc<File>, TransferError> {
        if let Some(ring) = &self.ring {
            return Ok(ring.clone());
        }
        self.send(Request::Ring)?;
        let (_, files) = self.receive_file()?;
        let Some((fd, RING..)) = sealed(files) else {
            return Err(self.end(TransferError::Nonsense("no ring, or one that is too short")));
        };
        let ring = Arc::new(File::from(fd));
        self.ring = Some(ring.clone());
        Ok(ring)
    }

    /// Begins a transfer by this peer, of the span or its first part. Returns where that is.
    pub(crate) fn resolve(&mut self, span: Span, file: bool) -> Result<Reply, TransferError> {
        let reply = self.ask(Request::Resolve { span, file })?;
        let most = span.len.min(WINDOW_BYTES);
        match sum(&reply.segments) {
            Some(bytes) if (1..=most).contains(&bytes) => Ok(reply),
            _ => Err(self.end(TransferError::Nonsense("another number of bytes"))),
        }
    }

    /// Sends a request and returns the reply to it.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Reply, TransferError> {
        self.send(request)?;
        self.receive()
    }

    /// Ends the transfer that this peer does itself, and does not wait for the answer: what was
    /// copied was there, because a revocation waits for this message. Fails if the owner is gone.
    pub(crate) fn end_copy(&mut self, complete: bool) -> Result<(), TransferError> {
        self.send(Request::End { complete })?;
        self.unread += 1;
        match self.owner.alive() {
            true => Ok(()),
            false => Err(self.end(TransferError::OwnerGone)),
        }
    }

    /// Fails if the owner is gone. A socket hangs up when its process starts another program, which
    /// closes it, and when the owner was dropped.
    pub(crate) fn still_there(&mut self) -> Result<(), TransferError> {
        match self.owner.alive() && !socket::hung_up(&self.socket) {
            true => Ok(()),
            false => Err(self.end(TransferError::OwnerGone)),
        }
    }

    /// Returns an error if the connection has ended, and in a forked child, which must not use the
    /// connection of its parent.
    pub(crate) fn check(&self) -> Result<(), TransferError> {
        match self.process.is_current() {
            false => Err(TransferError::Forked),
            true if self.ended => Err(TransferError::Ended),
            true => Ok(()),
        }
    }

    pub(crate) fn send(&mut self, request: Request) -> Result<(), TransferError> {
        self.check()?;
        match socket::send(&self.socket, &request.encode(), &[]) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end(TransferError::OwnerGone)),
        }
    }

    /// Returns the next reply that somebody waits for. A refusal is an error.
    pub(crate) fn receive(&mut self) -> Result<Reply, TransferError> {
        self.skip_unread()?;
        self.receive_plain()
    }

    /// Returns the next reply that somebody waits for, and the descriptors that came with it.
    fn receive_file(&mut self) -> Result<(Reply, Descriptors), TransferError> {
        self.skip_unread()?;
        self.receive_any()
    }

    fn skip_unread(&mut self) -> Result<(), TransferError> {
        while self.unread > 0 {
            self.unread -= 1;
            match self.receive_plain() {
                Ok(_) | Err(TransferError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives a reply without descriptors. Others end the connection, because an owner could send
    /// more of them than this process can close.
    fn receive_plain(&mut self) -> Result<Reply, TransferError> {
        match self.receive_any()? {
            (reply, files) if files.is_empty() => Ok(reply),
            _ => Err(self.end(TransferError::Nonsense("descriptors that nobody wants"))),
        }
    }

    fn receive_any(&mut self) -> Result<(Reply, Descriptors), TransferError> {
        let (n, files) = loop {
            self.wait().map_err(|error| self.end(error))?;
            match socket::receive(&self.socket, &mut self.buffer) {
                Ok((0, _)) => return Err(self.end(TransferError::OwnerGone)),
                Ok(message) => break message,
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(Errno::EMSGSIZE) => return Err(self.end(self.cut_short())),
                Err(_) => return Err(self.end(TransferError::OwnerGone)),
            }
        };
        let Some(reply) = Reply::decode(&self.buffer[..n]) else {
            return Err(self.end(TransferError::Nonsense("a message of no kind")));
        };
        if reply.status != Status::Done && !files.is_empty() {
            return Err(self.end(TransferError::Nonsense("descriptors with a refusal")));
        }
        if reply.status != Status::Done {
            return Err(TransferError::Refused(reply.status));
        }
        Ok((reply, files))
    }

    /// Returns why a message did not fit: it is too long, or its descriptors have no room here.
    fn cut_short(&self) -> TransferError {
        match self.socket.try_clone() {
            Ok(_) => TransferError::Nonsense("a message that is too long"),
            Err(error) => TransferError::Descriptors(error),
        }
    }

    /// Waits for a reply. If the owner ends, this is noticed even if a forked child of it still has
    /// the other end of the connection.
    fn wait(&self) -> Result<(), TransferError> {
        let end = deadline(self.timeout);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let slice = self.interrupted.map_or(left, |_| left.min(SLICE));
            let ms = slice.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
            let handle = self.owner.handle().unwrap_or(self.socket.as_fd());
            let input = PollFlags::POLLIN;
            let mut fds = [
                PollFd::new(self.socket.as_fd(), input),
                PollFd::new(handle, input),
            ];
            match poll(
                &mut fds,
                PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX),
            ) {
                Ok(n) if n > 0 && fds[0].any() == Some(true) => return Ok(()),
                Ok(n) if n > 0 => return Err(TransferError::OwnerGone),
                _ if self.interrupted.is_some_and(|look| look()) => {
                    return Err(TransferError::Interrupted);
                }
                // A signal that the program handles must not end the wait.
                Ok(_) | Err(Errno::EINTR) if !left.is_zero() => {}
                _ => return Err(TransferError::TimedOut(self.timeout)),
            }
        }
    }

    /// Notes that the connection cannot be used any more, and returns the reason.
    pub(crate) fn end(&mut self, reason: TransferError) -> TransferError {
        self.ended = true;
        socket::hang_up(&self.socket);
        reason
    }
}

/// Returns the file that came with a reply, and its length, if it is one whose length is fixed.
/// Others are closed on a thread of their own, because that may block.
fn sealed(mut files: Descriptors) -> Option<(OwnedFd, u64)> {
    let [file] = files.as_slice() else {
        return None;
    };
    let len = sealed_len(file.as_fd()).ok()?;
    files.clear();
    files.into_inner().pop().map(|file| (file, len))
}
