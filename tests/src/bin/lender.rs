//! An owner or a peer of transfers, for tests that kill them.
//!
//! `lender own`: declares 1 MiB of ordinary memory, in segments of 64 KiB from the last to the
//! first, and prints address and cookie. Other kinds do so with other memory: `lend` with shared
//! memory, for peers of all users; `fixed` at an address that is always the same; `open` as an
//! ordinary user; `hidden` as one whose processes may not be traced. Orders on the input:
//!
//! - `first` prints the first byte.
//! - `revoke` ends the cookie. `reuse` also fills the memory with `REUSED`.
//! - `fork` forks a child that inherits everything and waits for the end of the test. `drop` forks
//!   one that tries to use the owner, and drops it.
//! - `hide` forbids other processes to trace this one.
//! - `exec` starts another program in this process, with bytes `REUSED` at the fixed address.
//!
//! `lender use ADDRESS COOKIE TRANSPORT`: reads and writes all of it until it is killed. Without a
//! known transport, any is used. `held` only reads, by holding, and `leave` begins a transfer,
//! forks a child that waits, and never ends the transfer. Further words: with `ordinary`, root
//! becomes an ordinary user first; with `read`, it only reads; with `step`, it waits for a line
//! before each round.

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::kill;
use nix::unistd::{ForkResult, Pid, Uid, fork, getppid};
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tcasm_core::sys::socket;
use tcasm_tests::child::{DEADLINE, die_with_parent};
use tcasm_tests::lent::{BYTES, PART, REUSED};
use tcasm_tests::user::{ORDINARY, become_user};
use tcasm_transfer::wire::{REPLY_BYTES, Request, Span, VERSION};
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, Layout, Owner, Peer, Segment, SharedMemory,
    TransferError, Transport,
};

fn main() {
    die_with_parent();
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("own") => own(leaked()),
        Some("lend") => lend(),
        Some("fixed") => {
            place_as_always();
            own(fixed());
        }
        Some(kind @ ("open" | "hidden")) => {
            become_ordinary_user();
            set_dumpable(kind == "open").expect("a process that can be traced, or not");
            own(leaked());
        }
        Some("other") => other(),
        Some("use") => {
            let has = |word: &str| args[5..].iter().any(|arg| arg == word);
            if has("ordinary") {
                become_ordinary_user();
            }
            match args[4].as_str() {
                "leave" => leave(&args[2], &args[3]),
                transport => use_all(&args[2], &args[3], transport, has("read"), has("step")),
            }
        }
        other => panic!("{other:?}: a kind of owner, or use"),
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
    fill(memory.bytes());
    serve(Allowed::Everyone, declared, memory.bytes());
}

fn own(memory: &'static [AtomicU8]) {
    fill(memory);
    let parts = memory.chunks(PART).rev().map(Segment::of);
    let layout = Layout::new(parts).expect("segments");
    // SAFETY: the memory is never freed, it has no secrets, and it is accessed as atomics.
    let declared = unsafe { Declaration::live(layout, Access::ReadWrite) };
    serve(Allowed::SameUser, declared.expect("mapped memory"), memory);
}

fn fill(memory: &[AtomicU8]) {
    for (i, byte) in memory.iter().enumerate() {
        byte.store((i / PART) as u8, Ordering::Relaxed);
    }
}

/// Returns memory that peers may use as long as the process lives.
fn leaked() -> &'static [AtomicU8] {
    (0..BYTES)
        .map(|_| AtomicU8::new(0))
        .collect::<Vec<_>>()
        .leak()
}

/// Returns such memory at an address that is the same in each process.
fn fixed() -> &'static [AtomicU8] {
    let (at, len) = (
        NonZeroUsize::new(0x2000_0000_0000),
        NonZeroUsize::new(BYTES),
    );
    let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED_NOREPLACE;
    // SAFETY: the flags prevent that the mapping replaces another one.
    let start = unsafe { mmap_anonymous(at, len.expect("bytes"), rights, flags) };
    let start = start.expect("memory at a fixed address");
    // SAFETY: the mapping has so many bytes, which are zeros, and is never unmapped.
    unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), BYTES) }
}

/// Starts this program again without random addresses, if it has them. So the next program in this
/// process has its heap at the same place, too. Where that is forbidden, the program goes on.
fn place_as_always() {
    let flag = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: the call takes a number, and touches no memory.
    let before = unsafe { libc::personality(flag) };
    if before >= 0 && before & libc::ADDR_NO_RANDOMIZE == 0 {
        let program = std::env::current_exe().expect("a program");
        panic!(
            "{}",
            Command::new(program).args(std::env::args().skip(1)).exec()
        );
    }
}

/// The program that `exec` starts.
fn other() {
    let memory = fixed();
    memory
        .iter()
        .for_each(|byte| byte.store(REUSED, Ordering::Relaxed));
    println!("other");
    std::io::stdin().lines().for_each(drop);
}

fn serve(allowed: Allowed, declared: Declaration, memory: &[AtomicU8]) {
    let owner = Owner::create(allowed).expect("an owner");
    let cookie = owner.declare(declared.clone()).expect("a cookie");
    println!("address {}", owner.address().display());
    println!("cookie {cookie}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.as_str() {
            "first" => println!("first {}", memory[0].load(Ordering::Relaxed)),
            "revoke" => println!("revoked {}", owner.revoke(cookie, DEADLINE)),
            "reuse" => {
                let revoked = owner.revoke(cookie, DEADLINE);
                memory
                    .iter()
                    .for_each(|byte| byte.store(REUSED, Ordering::Relaxed));
                println!("revoked {revoked}");
            }
            "fork" => {
                if let Some(test) = fork_child() {
                    wait_for_end(test);
                }
            }
            "drop" => {
                if let Some(test) = fork_child() {
                    let revoked = owner.revoke(cookie, Duration::ZERO);
                    let declares = owner.declare(declared).is_ok();
                    drop(owner);
                    println!("child {revoked} {declares}");
                    wait_for_end(test);
                }
            }
            "hide" => {
                set_dumpable(false).expect("a process that cannot be traced");
                println!("hidden");
            }
            "exec" => {
                let program = std::env::current_exe().expect("a program");
                panic!("{}", Command::new(program).arg("other").exec());
            }
            other => panic!("{other:?}: no order"),
        }
    }
}

/// Forks a child that has all descriptors of this process. Returns the process of the test in the
/// child, and nothing in the parent.
fn fork_child() -> Option<Pid> {
    let test = getppid();
    // SAFETY: no other thread of this program holds a lock that the child uses.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Child => Some(test),
        ForkResult::Parent { .. } => {
            println!("forked");
            None
        }
    }
}

/// Ends a forked child when the test ends.
fn wait_for_end(test: Pid) -> ! {
    while kill(test, None).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: `_exit` ends the child at once.
    unsafe { libc::_exit(0) }
}

/// Begins a transfer and does not end it.
fn leave(address: &str, cookie: &str) {
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
    if let Some(test) = fork_child() {
        wait_for_end(test);
    }
    std::thread::sleep(DEADLINE);
}

/// Transfers until that fails, and prints why.
fn use_all(address: &str, cookie: &str, transport: &str, only_read: bool, step: bool) {
    let cookie = cookie.parse().expect("a cookie");
    let mut peer = match Peer::connect(Path::new(address)) {
        Ok(peer) => peer,
        Err(error) => return println!("ended {error}"),
    };
    println!("connected");
    peer.set_timeout(Duration::from_secs(60));
    peer.use_only(match transport {
        "direct" => Some(Transport::Direct),
        "mapped" => Some(Transport::Mapped),
        "ring" => Some(Transport::Ring),
        _ => None,
    });
    let (mut bytes, mut direct) = (vec![0; BYTES], peer.direct().is_ok());
    let mut lines = std::io::stdin().lines();
    while !step || lines.next().is_some() {
        let read = match transport {
            "held" => read_held(&mut peer, cookie, &mut bytes),
            _ => peer
                .read(cookie, 0, &mut bytes)
                .map(|read| _ = read.may_be_torn()),
        };
        let done = read.and_then(|()| match only_read || transport == "held" {
            true => Ok(()),
            false => peer.write(cookie, 0, &bytes),
        });
        if std::mem::replace(&mut direct, peer.direct().is_ok()) && !direct {
            println!("forbidden");
        }
        match done {
            Ok(()) if bytes.contains(&REUSED) => {
                return println!("ended with bytes of another use");
            }
            Ok(()) => println!("round"),
            Err(error) => return println!("ended {error}"),
        }
    }
}

fn read_held(peer: &mut Peer, cookie: Cookie, bytes: &mut [u8]) -> Result<(), TransferError> {
    let mut hold = peer.hold(cookie, 0, bytes.len() as u64)?;
    (0..100).try_for_each(|_| hold.read(0, bytes).map(|read| _ = read.may_be_torn()))
}
