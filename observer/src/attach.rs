//! Attaching: connects, greets, and checks everything that the producer sends.

use crate::error::AttachError;
use crate::session::Session;
use nix::errno::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_core::format::index::Index;
use tcasm_core::format::layout::{LAYOUT_VERSION, MAX_SLOTS};
use tcasm_core::format::lease::Lease;
use tcasm_core::format::wire::{self, Answer};
use tcasm_core::place::{check_name, lock_path, runtime_dir_is_chosen};
use tcasm_core::sys::closer::{self, Untrusted};
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::sealed_len_of_pages;
use tcasm_core::sys::owner::{Owner, owner};
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;
use tcasm_core::sys::time::deadline;

/// How often an attaching observer checks that the producer lives.
const LIVENESS: Duration = Duration::from_millis(50);

/// Attaches to the region `name`. Waits at most `timeout` for an answer of the process that listens
/// at `path`: the producer, or the process that keeps what a dead producer has left.
pub(crate) fn attach(name: &str, path: &Path, timeout: Duration) -> Result<Session, AttachError> {
    check_name(name)?;
    let deadline = deadline(timeout);
    let no_answer = || AttachError::NoAnswer {
        name: name.to_owned(),
        timeout,
    };
    // Connections of earlier attempts may wait to be closed, if the machine is busy.
    while !closer::has_room() {
        if Instant::now() >= deadline {
            return Err(os(path, Errno::EBUSY));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let stream = connect(name, path, deadline).ok_or_else(no_answer)??;
    let mut stream = Untrusted::new(stream);
    let peer = Peer::of(&*stream).map_err(|e| os(path, e))?;
    if !peer.alive() {
        return Err(dead(name, path));
    }
    let own = nix::unistd::getuid().as_raw();
    if !runtime_dir_is_chosen() && ![own, 0].contains(&peer.uid) {
        return Err(AttachError::OtherUser {
            name: name.to_owned(),
            uid: peer.uid,
        });
    }
    // The producer may have sent a refusal already and closed the connection. Then sending fails,
    // and the refusal is read below.
    match socket::send(&stream, &wire::hello(), &[]) {
        Ok(()) | Err(Errno::EPIPE | Errno::ECONNRESET) => {}
        Err(e) => return Err(os(path, e)),
    }
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if socket::wait_readable(&*stream, left.min(LIVENESS)) {
            break;
        }
        // A forked child can keep the connection open after the producer has died.
        if !peer.alive() || abandoned(path) {
            return Err(dead(name, path));
        }
        if left.is_zero() {
            return Err(no_answer());
        }
    }
    let fds = welcome(name, path, &stream)?;
    // No more descriptors are expected. If none wait and none can come, closing the socket cannot
    // block.
    if socket::refuse_descriptors(&stream).is_ok() && socket::is_quiet(&stream) {
        stream.clear();
    }
    session(name, stream, peer, fds)
}

/// Connects. Tries again while the backlog of the socket is full, and returns `None` if the
/// deadline passes meanwhile.
///
/// Does not connect if the owner of the name is dead. A forked child of the owner may still have
/// the socket, and accepts nothing. Each connection would stay in the backlog until that is full,
/// and then the dead producer would look busy.
fn connect(name: &str, path: &Path, deadline: Instant) -> Option<Result<OwnedFd, AttachError>> {
    loop {
        if abandoned(path) {
            return Some(Err(dead(name, path)));
        }
        let error = match socket::connect_to(path) {
            Ok(stream) => return Some(Ok(stream)),
            Err(Errno::EAGAIN) if Instant::now() >= deadline => return None,
            Err(Errno::EAGAIN) => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err(error) => error,
        };
        return Some(Err(match error {
            Errno::ENOENT | Errno::ENOTDIR => not_found(name, path),
            Errno::ECONNREFUSED => dead(name, path),
            Errno::EACCES | Errno::EPERM => AttachError::NotAllowed {
                name: name.to_owned(),
            },
            Errno::EMFILE | Errno::ENFILE => AttachError::NoDescriptors { needed: MAX_SLOTS },
            other => os(path, other),
        }));
    }
}

/// Returns true if it is certain that the owner of the name at `path` is dead. If there is no lock
/// file, or it cannot be opened, only connecting can tell.
fn abandoned(path: &Path) -> bool {
    matches!(owner(&lock_path(path)), Ok(Owner::Nobody))
}

/// Returns the error for a name that has no owner: the owner has died, or is giving the name up
/// just now.
fn dead(name: &str, path: &Path) -> AttachError {
    if path.symlink_metadata().is_err() {
        return not_found(name, path);
    }
    AttachError::Dead {
        name: name.to_owned(),
        path: path.to_owned(),
    }
}

fn not_found(name: &str, path: &Path) -> AttachError {
    AttachError::NotFound {
        name: name.to_owned(),
        path: path.to_owned(),
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

/// Reads the producer's answer: descriptors, or the reason for a refusal.
fn welcome(
    name: &str,
    path: &Path,
    stream: &OwnedFd,
) -> Result<Untrusted<Vec<OwnedFd>>, AttachError> {
    let own = || name.to_owned();
    let mut buffer = [0; 64];
    let (n, fds) = match socket::receive(stream, &mut buffer) {
        Ok((0, _)) | Err(Errno::ECONNRESET) => return Err(AttachError::Ended { name: own() }),
        Ok(got) => got,
        // The kernel drops descriptors for which the process has no room, and reports a truncated
        // message.
        Err(Errno::EMSGSIZE) => return Err(AttachError::NoDescriptors { needed: MAX_SLOTS }),
        Err(error) => return Err(os(path, error)),
    };
    let bad = |what: &str| AttachError::BadAnswer {
        name: own(),
        what: what.to_owned(),
    };
    let (theirs, answer) =
        wire::decode_answer(&buffer[..n]).ok_or_else(|| bad("its answer cannot be decoded"))?;
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

/// Checks the objects: they must be sealed, of ordinary pages and large enough, and there must be
/// as many planes as the index says (I9).
fn session(
    name: &str,
    stream: Untrusted<OwnedFd>,
    peer: Peer,
    fds: Untrusted<Vec<OwnedFd>>,
) -> Result<Session, AttachError> {
    let bad = |what: String| AttachError::BadAnswer {
        name: name.to_owned(),
        what,
    };
    let [lease, index, planes @ ..] = fds.as_slice() else {
        return Err(bad("its welcome came without descriptors".into()));
    };
    let lease = Lease::open(lease.as_fd())?;
    let len = sealed_len_of_pages(index.as_fd()).map_err(|e| bad(format!("its index: {e}")))?;
    let index = Mapping::shared(index.as_fd(), len as usize, false)?;
    index.dont_fork_or_dump()?;
    let (layout, info) = {
        // Size and seal were checked just above. `session::words` relies on that in its unsafe
        // code.
        let words = crate::session::words(&index);
        let index = Index::open(words)?;
        let layout = *index.layout();
        check_planes(planes, layout.slots, layout.region_bytes() as u64).map_err(bad)?;
        (layout, index.header()?)
    };
    // All are sealed objects, as was checked, so closing one cannot block. The lease is mapped, and
    // its descriptor is not needed any more.
    let objects = fds.into_inner().split_off(1);
    let index = (index, layout);
    Ok(Session::new(stream, peer, index, info, objects, lease))
}

fn check_planes(planes: &[OwnedFd], count: usize, bytes: u64) -> Result<(), String> {
    if planes.len() != count {
        return Err(format!("it sent {} planes of {count}", planes.len()));
    }
    for plane in planes {
        let len = sealed_len_of_pages(plane.as_fd()).map_err(|e| format!("a plane: {e}"))?;
        if len < bytes {
            return Err(format!("a plane has {len} bytes of {bytes}"));
        }
    }
    Ok(())
}
