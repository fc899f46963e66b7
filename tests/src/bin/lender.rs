//! An owner or a peer of transfers, for tests that kill them.
//!
//! `lender own`: declares 1 MiB of ordinary memory, in segments of 64 KiB from the last to the
//! first, and prints address and cookie. `revoke` on its input ends the cookie.
//!
//! `lender use ADDRESS COOKIE TRANSPORT`: reads and writes all of it until it is killed.

use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tcasm_tests::child::{DEADLINE, die_with_parent};
use tcasm_transfer::{Access, Allowed, Declaration, Layout, Owner, Peer, Segment, Transport};

const BYTES: usize = 1 << 20;
const PART: usize = 64 << 10;

fn main() {
    die_with_parent();
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("own") => own(),
        Some("use") => use_all(&args[2], &args[3], &args[4]),
        other => panic!("{other:?}: own or use"),
    }
}

fn own() {
    // Never freed, so that peers may use it as long as the process lives.
    let bytes = (0..BYTES).map(|i| AtomicU8::new((i / PART) as u8));
    let memory: &'static [AtomicU8] = bytes.collect::<Vec<_>>().leak();
    let parts = memory.chunks(PART).rev().map(Segment::of);
    let layout = Layout::new(parts).expect("segments");
    // SAFETY: the memory is never freed, it has no secrets, and it is accessed as atomics.
    let declared = unsafe { Declaration::live(layout, Access::ReadWrite) };
    let owner = Owner::create(Allowed::SameUser).expect("an owner");
    let cookie = owner
        .declare(declared.expect("mapped memory"))
        .expect("a cookie");
    println!("address {}", owner.address().display());
    println!("cookie {cookie}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.as_str() {
            "revoke" => println!("revoked {}", owner.revoke(cookie, DEADLINE)),
            "first" => println!("first {}", memory[0].load(Ordering::Relaxed)),
            other => panic!("{other:?}: revoke or first"),
        }
    }
}

fn use_all(address: &str, cookie: &str, transport: &str) {
    let cookie = cookie.parse().expect("a cookie");
    let mut peer = Peer::connect(Path::new(address)).expect("an owner");
    peer.set_timeout(Duration::from_secs(60));
    peer.use_only(Some(match transport {
        "direct" => Transport::Direct,
        _ => Transport::Ring,
    }));
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
