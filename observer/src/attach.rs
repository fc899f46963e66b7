//! Attaching: connect, greet, check everything that comes back.

use crate::error::AttachError;
use crate::session::Session;
use nix::errno::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_core::index::Index;
use tcasm_core::layout::{LAYOUT_VERSION, MAX_SLOTS};
use tcasm_core::lease::Lease;
use tcasm_core::place::{check_name, runtime_dir_is_chosen};
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::sealed_len;
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;
use tcasm_core::sys::time::deadline;
use tcasm_core::wire::{self, Answer};

/// Attach to the region `name`, waiting at most `timeout` for whoever listens at `path` to answer: its producer, or who keeps
/// what that has left.
pub(crate) fn attach(name: &str, path: &Path, timeout: Duration) -> Result<Session, AttachError> {
    check_name(name)?;
    let deadline = deadline(timeout);
    let no_answer = || AttachError::NoAnswer {
        name: name.to_owned(),
        timeout,
    };
    let stream = connect(name, path, deadline).ok_or_else(no_answer)??;
    let peer = Peer::of(&stream).map_err(|e| os(path, e))?;
    if !peer.alive() {
        // A forked child of a dead producer still holds the listening socket.
        return Err(AttachError::Dead {
            name: name.to_owned(),
            path: path.to_owned(),
        });
    }
    let own = nix::unistd::getuid().as_raw();
    if !runtime_dir_is_chosen() && ![own, 0].contains(&peer.uid) {
        return Err(AttachError::Stranger {
            name: name.to_owned(),
            uid: peer.uid,
        });
    }
    // A refusal may have been sent already, with the connection closed behind it.
    match socket::send(&stream, &wire::hello(), &[]) {
        Ok(()) | Err(Errno::EPIPE | Errno::ECONNRESET) => {}
        Err(e) => return Err(os(path, e)),
    }
    if !socket::wait_readable(&stream, deadline.saturating_duration_since(Instant::now())) {
        return Err(no_answer());
    }
    let fds = welcome(name, path, &stream)?;
    session(name, stream, peer, fds)
}

/// Connect, again and again while the producer has no time to accept; none when the deadline passes before.
fn connect(name: &str, path: &Path, deadline: Instant) -> Option<Result<OwnedFd, AttachError>> {
    loop {
        let error = match socket::connect_to(path) {
            Ok(stream) => return Some(Ok(stream)),
            Err(Errno::EAGAIN) if Instant::now() >= deadline => return None,
            Err(Errno::EAGAIN) => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err(error) => error,
        };
        let (name, place) = (name.to_owned(), path.to_owned());
        return Some(Err(match error {
            Errno::ENOENT | Errno::ENOTDIR => AttachError::NotFound { name, path: place },
            Errno::ECONNREFUSED => AttachError::Dead { name, path: place },
            Errno::EACCES | Errno::EPERM => AttachError::NotAllowed { name },
            Errno::EMFILE | Errno::ENFILE => AttachError::NoDescriptors { needed: MAX_SLOTS },
            other => os(path, other),
        }));
    }
}

fn os(path: &Path, error: Errno) -> AttachError {
    match error {
        Errno::EMFILE | Errno::ENFILE => AttachError::NoDescriptors { needed: MAX_SLOTS },
        _ => AttachError::Os {
            path: path.to_owned(),
            source: error.into(),
        },
    }
}

/// The producer's answer: descriptors, or why not.
fn welcome(name: &str, path: &Path, stream: &OwnedFd) -> Result<Vec<OwnedFd>, AttachError> {
    let own = || name.to_owned();
    let mut buffer = [0; 64];
    let (n, fds) = match socket::receive(stream, &mut buffer) {
        Ok((0, _)) | Err(Errno::ECONNRESET) => return Err(AttachError::Ended { name: own() }),
        Ok(got) => got,
        // The kernel drops descriptors for which the process has no room, and says that it cut something short.
        Err(Errno::EMSGSIZE) => return Err(AttachError::NoDescriptors { needed: MAX_SLOTS }),
        Err(error) => return Err(os(path, error)),
    };
    let bad = |what: &str| AttachError::BadAnswer {
        name: own(),
        what: what.to_owned(),
    };
    let (theirs, answer) =
        wire::decode_answer(&buffer[..n]).ok_or_else(|| bad("its answer is no answer"))?;
    match answer {
        _ if theirs != LAYOUT_VERSION => Err(AttachError::OtherLayout {
            name: own(),
            theirs,
            ours: LAYOUT_VERSION,
        }),
        Some(Answer::Welcome) => Ok(fds),
        Some(Answer::OtherLayout) => Err(AttachError::OtherLayout {
            name: own(),
            theirs,
            ours: LAYOUT_VERSION,
        }),
        Some(Answer::NotAllowed) => Err(AttachError::NotAllowed { name: own() }),
        Some(Answer::Full) => Err(AttachError::Full { name: own() }),
        Some(Answer::Failed) => Err(AttachError::Failed { name: own() }),
        None => Err(bad("it gave an unknown answer")),
    }
}

/// Check the objects: sealed, large enough, and as many planes as the index says (I9).
fn session(
    name: &str,
    stream: OwnedFd,
    peer: Peer,
    fds: Vec<OwnedFd>,
) -> Result<Session, AttachError> {
    let bad = |what: String| AttachError::BadAnswer {
        name: name.to_owned(),
        what,
    };
    let mut fds = fds.into_iter();
    let (Some(lease), Some(index)) = (fds.next(), fds.next()) else {
        return Err(bad("its welcome came without descriptors".into()));
    };
    let planes: Vec<OwnedFd> = fds.collect();
    let lease = Lease::open(lease.as_fd())?;
    let len = sealed_len(index.as_fd()).map_err(|e| bad(format!("its index: {e}")))?;
    let object = index;
    let index = Mapping::shared(object.as_fd(), len as usize, false)?;
    let (layout, info) = {
        // SAFETY-relevant facts (size, seal) were checked just above; the unsafe call is the session's.
        let words = crate::session::words(&index);
        let index = Index::open(words)?;
        let layout = *index.layout();
        check_planes(&planes, layout.slots, layout.region_bytes() as u64).map_err(bad)?;
        (layout, index.header()?)
    };
    let mut objects = vec![object];
    objects.extend(planes);
    let index = (index, layout);
    Ok(Session::new(stream, peer, index, info, objects, lease))
}

fn check_planes(planes: &[OwnedFd], count: usize, bytes: u64) -> Result<(), String> {
    if planes.len() != count {
        return Err(format!("it sent {} planes of {count}", planes.len()));
    }
    for plane in planes {
        let len = sealed_len(plane.as_fd()).map_err(|e| format!("a plane: {e}"))?;
        if len < bytes {
            return Err(format!("a plane has {len} bytes of {bytes}"));
        }
    }
    Ok(())
}
