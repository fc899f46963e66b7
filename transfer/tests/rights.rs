//! Cookies as capabilities: what is refused, and what is said.

use nix::errno::Errno;
use nix::sys::mman::{ProtFlags, mprotect};
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use tcasm_core::sys::socket;
use tcasm_transfer::wire::{REPLY_BYTES, Reply, Request, Span, VERSION};
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, DeclareError, Layout, Owner, Peer, Segment, SharedMemory,
    Status, TransferError, Transport,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Returns an owner and the cookie of 1000 bytes.
fn owner(change: impl Fn(Declaration) -> Declaration, access: Access) -> (Owner, Cookie) {
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(1000).unwrap();
    let whole = Segment {
        addr: memory.addr(),
        len: 1000,
    };
    let layout = Layout::new([whole]).unwrap();
    let declared = Declaration::shared(&memory, layout, access).unwrap();
    let cookie = owner.declare(change(declared)).unwrap();
    (owner, cookie)
}

fn peers(owner: &Owner) -> [Peer; 3] {
    [Transport::Direct, Transport::Mapped, Transport::Ring].map(|transport| {
        let mut peer = Peer::connect(owner.address()).unwrap();
        peer.use_only(Some(transport));
        peer
    })
}

fn refusal<T>(result: Result<T, TransferError>) -> Option<Status> {
    match result {
        Err(TransferError::Refused(status)) => Some(status),
        _ => None,
    }
}

#[test]
fn wrong_rights_ranges_and_cookies_are_refused_by_name_and_the_connection_goes_on() {
    let (owner, cookie) = owner(|d| d, Access::Read);
    let wrong = Cookie::from_bytes([1; 16]);
    let mut bytes = [0; 10];
    for mut peer in peers(&owner) {
        assert_eq!(
            refusal(peer.read(wrong, 0, &mut bytes)),
            Some(Status::NoCookie)
        );
        let write = peer.write(cookie, 0, &bytes);
        assert_eq!(refusal(write), Some(Status::NotPermitted));
        for offset in [991, u64::MAX] {
            let read = refusal(peer.read(cookie, offset, &mut bytes));
            assert_eq!(read, Some(Status::OutOfRange));
        }
        let none = refusal(peer.read(cookie, 0, &mut []));
        assert_eq!(none, Some(Status::OutOfRange));
        peer.read(cookie, 990, &mut bytes).unwrap().may_be_torn();
    }
}

#[test]
fn revoked_and_used_cookies_say_so() {
    let (first, cookie) = owner(|d| d, Access::Read);
    let mut bytes = [0; 10];
    let mut connected = peers(&first);
    for peer in &mut connected {
        peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
    }
    assert!(first.revoke(cookie, PATIENCE) && first.declarations() == 0);
    for peer in &mut connected {
        assert_eq!(
            refusal(peer.read(cookie, 0, &mut bytes)),
            Some(Status::Revoked)
        );
    }
    for transport in [Transport::Direct, Transport::Ring] {
        let (owner, cookie) = owner(Declaration::once, Access::Read);
        let mut peer = Peer::connect(owner.address()).unwrap();
        peer.use_only(Some(transport));
        let early = refusal(peer.read(cookie, 5, &mut bytes));
        assert_eq!(early, Some(Status::OutOfOrder));
        peer.read(cookie, 0, &mut [0; 500]).unwrap().may_be_torn();
        let mut other = Peer::connect(owner.address()).unwrap();
        assert_eq!(
            refusal(other.read(cookie, 0, &mut bytes)),
            Some(Status::Busy)
        );
        peer.read(cookie, 500, &mut [0; 500]).unwrap().may_be_torn();
        assert_eq!(
            refusal(peer.read(cookie, 0, &mut bytes)),
            Some(Status::Used)
        );
    }
}

#[test]
fn revoking_waits_for_the_transfer_that_runs_and_tells_it() {
    let (owner, cookie) = owner(|d| d, Access::Read);
    let raw = socket::connect_to(owner.address()).unwrap();
    let ask = |request: Request| {
        socket::send(&raw, &request.encode(), &[]).unwrap();
        assert!(socket::wait_readable(&raw, PATIENCE));
        let mut buffer = vec![0; REPLY_BYTES];
        let n = socket::receive_plain(&raw, &mut buffer).unwrap();
        Reply::decode(&buffer[..n]).unwrap().status
    };
    let span = Span {
        cookie,
        offset: 0,
        len: 10,
        write: false,
    };
    assert_eq!(ask(Request::Hello { version: VERSION }), Status::Done);
    assert_eq!(ask(Request::Resolve { span, file: false }), Status::Done);
    assert!(!owner.revoke(cookie, Duration::from_millis(20)));
    assert_eq!(ask(Request::Describe(cookie)), Status::Revoked);
    assert_eq!(ask(Request::End { complete: true }), Status::Revoked);
    assert!(owner.revoke(cookie, PATIENCE));
}

#[test]
fn revoking_waits_for_no_connection_that_is_gone() {
    let (owner, cookie) = owner(|d| d, Access::Read);
    let raw = socket::connect_to(owner.address()).unwrap();
    let span = Span {
        cookie,
        offset: 0,
        len: 10,
        write: false,
    };
    for request in [
        Request::Hello { version: VERSION },
        Request::Resolve { span, file: false },
    ] {
        socket::send(&raw, &request.encode(), &[]).unwrap();
        assert!(socket::wait_readable(&raw, PATIENCE));
        let n = socket::receive_plain(&raw, &mut vec![0; REPLY_BYTES]).unwrap();
        assert!(n > 0);
    }
    drop(raw);
    assert!(owner.revoke(cookie, PATIENCE));
}

#[test]
fn memory_that_is_not_there_is_refused_when_declared() {
    let layout = Layout::new([Segment { addr: 8, len: 8 }]).unwrap();
    // SAFETY: nothing is declared, because nothing is mapped there.
    let refused = unsafe { Declaration::live(layout.clone(), Access::Read) };
    assert!(matches!(
        refused,
        Err(DeclareError::Unmapped {
            addr: 8,
            writes: false
        })
    ));
    let memory = SharedMemory::create(10).unwrap();
    let refused = Declaration::shared(&memory, layout, Access::Read);
    assert!(matches!(
        refused,
        Err(DeclareError::Outside { addr: 8, .. })
    ));
}

#[test]
fn memory_that_is_gone_when_it_is_copied_is_an_error_and_others_go_on() {
    const PAGE: usize = 4096;
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let memory = SharedMemory::create(3 * PAGE).unwrap();
    let whole = Segment {
        addr: memory.addr(),
        len: 3 * PAGE,
    };
    let layout = Layout::new([whole]).unwrap();
    // SAFETY: the memory has no secrets, and nobody has references to it.
    let declared = unsafe { Declaration::live(layout, Access::ReadWrite) }.unwrap();
    let cookie = owner.declare(declared).unwrap();
    // Protected and not unmapped, so that nothing else gets the addresses.
    let protect = |rights| {
        let last = NonNull::new(memory.as_ptr().wrapping_add(PAGE)).unwrap();
        // SAFETY: these are two pages of the mapping, which nothing accesses through references.
        unsafe { mprotect(last.cast(), 2 * PAGE, rights) }.unwrap();
    };
    for transport in [Transport::Direct, Transport::Ring] {
        let mut peer = Peer::connect(owner.address()).unwrap();
        peer.use_only(Some(transport));
        let mut bytes = [0; 3 * PAGE];
        protect(ProtFlags::PROT_NONE);
        for offset in [0, PAGE as u64] {
            let read = refusal(peer.read(cookie, offset, &mut bytes[..2 * PAGE]));
            assert_eq!(read, Some(Status::Unreadable), "{transport:?}");
        }
        protect(ProtFlags::PROT_READ);
        let write = refusal(peer.write(cookie, 0, &bytes));
        assert_eq!(write, Some(Status::Unreadable), "{transport:?}");
        peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        peer.write(cookie, 0, &bytes[..PAGE]).unwrap();
        protect(ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
        peer.write(cookie, 0, &bytes).unwrap();
    }
    assert!(owner.revoke(cookie, PATIENCE));
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    let (owner, cookie) = owner(|d| d, Access::Read);
    let mut honest = Peer::connect(owner.address()).unwrap();
    let greeting = Request::Hello { version: VERSION }.encode();
    let early = Request::Ring.encode();
    for garbage in [
        &b"x"[..],
        &[0; 48],
        &[255; 48],
        &[7; 4000],
        &early,
        &greeting[..47],
    ] {
        let raw = socket::connect_to(owner.address()).unwrap();
        socket::send(&raw, garbage, &[]).unwrap();
        assert!(socket::wait_readable(&raw, PATIENCE));
        let ended = socket::receive_plain(&raw, &mut [0; 100]);
        assert!(!matches!(ended, Ok(1..)), "an answer to {garbage:?}");
    }
    let other = Request::Hello { version: 99 }.encode();
    let raw = socket::connect_to(owner.address()).unwrap();
    socket::send(&raw, &other, &[]).unwrap();
    assert!(socket::wait_readable(&raw, PATIENCE));
    let mut buffer = [0; 100];
    let n = socket::receive_plain(&raw, &mut buffer).unwrap();
    let reply = Reply::decode(&buffer[..n]).unwrap();
    assert_eq!(reply.status, Status::OtherVersion);
    honest.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
}

#[test]
fn peer_that_reads_no_answers_has_one_descriptor_on_its_way_and_is_told() {
    let (owner, cookie) = owner(|d| d, Access::Read);
    let mut honest = Peer::connect(owner.address()).unwrap();
    let raw = socket::connect_to(owner.address()).unwrap();
    let mut buffer = vec![0; REPLY_BYTES];
    let mut answer = || {
        assert!(socket::wait_readable(&raw, PATIENCE));
        let (n, files) = socket::receive(&raw, &mut buffer).unwrap();
        (Reply::decode(&buffer[..n]).unwrap().status, files.len())
    };
    let ask = |request: Request| socket::send(&raw, &request.encode(), &[]);
    ask(Request::Hello { version: VERSION }).unwrap();
    assert_eq!(answer(), (Status::Done, 0));
    for _ in 0..3 {
        for request in [Request::Map(cookie), Request::Ring, Request::Map(cookie)] {
            ask(request).unwrap();
            // Each connection gets an answer in each round of the owner.
            honest.describe(cookie).unwrap();
        }
        let answers = [answer(), answer(), answer()];
        let unread = (Status::Unread, 0);
        assert_eq!(answers, [(Status::Done, 1), unread, unread]);
    }
    // A flood fills the queues, and the connection ends. Others go on.
    let ended = (0..10_000).any(|_| {
        honest.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
        honest.map(cookie).unwrap();
        ask(Request::Map(cookie)) == Err(Errno::EPIPE)
    });
    assert!(ended, "a flood goes on");
}

#[test]
fn one_process_gets_a_bounded_number_of_connections() {
    let (owner, _) = owner(|d| d, Access::Read);
    let connect = || Peer::connect(owner.address());
    let kept: Vec<Peer> = (0..16).map(|_| connect().unwrap()).collect();
    for _ in 0..40 {
        assert_eq!(refusal(connect()), Some(Status::Full));
    }
    drop(kept);
    // The owner notices this a little later.
    let end = Instant::now() + PATIENCE;
    while let Err(error) = connect() {
        assert!(Instant::now() < end, "{error}");
        std::thread::yield_now();
    }
}
