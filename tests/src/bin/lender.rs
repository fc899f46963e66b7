//! An owner or a peer of transfers, for tests that kill them.
//!
//! `lender own`: declares 1 MiB of ordinary memory, in segments of 64 KiB from the last to the
//! first, and prints address and cookie. `lender lend` does so with shared memory, for peers of all
//! users. `lender hidden` does as `own`, as a process that no other one of its user may trace. On
//! the input, `revoke` ends the cookie, `first` prints the first byte, and `fork` forks a child
//! that inherits everything and waits for the end of the test.
//!
//! `lender use ADDRESS COOKIE TRANSPORT`: reads and writes all of it until it is killed. With
//! `hold`, it begins a transfer, forks such a child, and never ends the transfer. With one
//! more argument, root becomes an ordinary user first. Without a known transport, any is used.

use nix::sys::prctl::set_dumpable;
use nix::sys::signal::kill;
use nix::unistd::{ForkResult, Uid, fork, getppid};
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tcasm_core::sys::socket;
use tcasm_tests::child::{DEADLINE, die_with_parent};
use tcasm_tests::user::{ORDINARY, become_user};
use tcasm_transfer::wire::{REPLY_BYTES, Request, Span, VERSION};
use tcasm_transfer::{
    Access, Allowed, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Transport,
};

const BYTES: usize = 1 << 20;
const PART: usize = 64 << 10;

fn main() {
    die_with_parent();
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("own") => own(),
        Some("lend") => lend(),
        Some("hidden") => {
            become_ordinary_user();
            set_dumpable(false).expect("a process that cannot be traced");
            own();
        }
        Some("use") => {
            if args.get(5).is_some() {
                become_ordinary_user();
            }
            match args[4].as_str() {
                "hold" => hold(&args[2], &args[3]),
                transport => use_all(&args[2], &args[3], transport),
            }
        }
        other => panic!("{other:?}: own, lend or use"),
    }
}

/// Changes to an ordinary user, if this is root.
fn become_ordinary_user() {
    if Uid::effective().is_root() {
        become_user(ORDINARY).expect("another user");
    }
}

fn lend() {
    let memory = SharedMemory::create(BYTES).expect("memory");
    let parts = (0..BYTES / PART).rev().map(|i| Segment {
        addr: memory.addr() + i * PART,
        len: PART,
    });
    let layout = Layout::new(parts).expect("segments");
    let declared = Declaration::shared(&memory, layout, Access::ReadWrite).expect("inside");
    serve(Allowed::Everyone, declared, memory.bytes());
}

fn own() {
    // Never freed, so that peers may use it as long as the process lives.
    let bytes = (0..BYTES).map(|i| AtomicU8::new((i / PART) as u8));
    let memory: &'static [AtomicU8] = bytes.collect::<Vec<_>>().leak();
    let parts = memory.chunks(PART).rev().map(Segment::of);
    let layout = Layout::new(parts).expect("segments");
    // SAFETY: the memory is never freed, it has no secrets, and it is accessed as atomics.
    let declared = unsafe { Declaration::live(layout, Access::ReadWrite) };
    serve(Allowed::SameUser, declared.expect("mapped memory"), memory);
}

fn serve(allowed: Allowed, declared: Declaration, memory: &[AtomicU8]) {
    let owner = Owner::create(allowed).expect("an owner");
    let cookie = owner.declare(declared).expect("a cookie");
    println!("address {}", owner.address().display());
    println!("cookie {cookie}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.as_str() {
            "revoke" => println!("revoked {}", owner.revoke(cookie, DEADLINE)),
            "first" => println!("first {}", memory[0].load(Ordering::Relaxed)),
            "fork" => fork_child(),
            other => panic!("{other:?}: revoke, first or fork"),
        }
    }
}

/// Forks a child that has all descriptors of this process, and ends with the test.
fn fork_child() {
    let test = getppid();
    // SAFETY: the child only waits, and ends without running anything of its parent.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { .. } => println!("forked"),
        ForkResult::Child => {
            while kill(test, None).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            // SAFETY: `_exit` ends the child at once.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Begins a transfer and does not end it.
fn hold(address: &str, cookie: &str) {
    let socket = socket::connect_to(Path::new(address)).expect("an owner");
    let span = Span {
        cookie: cookie.parse().expect("a cookie"),
        offset: 0,
        len: 10,
        write: true,
    };
    let resolve = Request::Resolve { span, file: false };
    for request in [Request::Hello { version: VERSION }, resolve] {
        socket::send(&socket, &request.encode(), &[]).expect("a connection");
        assert!(socket::wait_readable(&socket, DEADLINE));
        socket::receive_plain(&socket, &mut vec![0; REPLY_BYTES]).expect("an answer");
    }
    fork_child();
    std::thread::sleep(DEADLINE);
}

fn use_all(address: &str, cookie: &str, transport: &str) {
    let cookie = cookie.parse().expect("a cookie");
    let mut peer = match Peer::connect(Path::new(address)) {
        Ok(peer) => peer,
        Err(error) => return println!("ended {error}"),
    };
    peer.set_timeout(Duration::from_secs(60));
    peer.use_only(match transport {
        "direct" => Some(Transport::Direct),
        "mapped" => Some(Transport::Mapped),
        "ring" => Some(Transport::Ring),
        _ => None,
    });
    let mut bytes = vec![0; BYTES];
    loop {
        let read = peer
            .read(cookie, 0, &mut bytes)
            .map(|read| read.may_be_torn().len());
        let done = read.and_then(|_| peer.write(cookie, 0, &bytes));
        match done {
            Ok(()) => println!("round"),
            Err(error) => return println!("ended {error}"),
        }
    }
}
