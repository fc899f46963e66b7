//! A process of a job with a host buffer.
//!
//! `hostbuffer JOB COUNT [BLOCKED...]` first maps a page at each of the blocked addresses, which
//! are hexadecimal. COUNT is the number of processes that take part, or 0 if that is not known. It
//! prints `ok created=BOOL address=HEX`, or `error` with the reason. Then it obeys commands, one
//! per line. If HOSTBUFFER_RENDEZVOUS is an address, it agrees with other hosts there, with the
//! secret HOSTBUFFER_SECRET. If HOSTBUFFER_USER is a number, root becomes that user first.
//! HOSTBUFFER_LIMIT is a limit such as `nofile=9`. With HOSTBUFFER_LOCKED, the list is locked.

use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid};
use std::io::BufRead;
use std::time::Duration;
use tcasm_core::sys::mem::Mapping;
use tcasm_hostbuffer::tcp::{Rendezvous, Secret};
use tcasm_hostbuffer::{HostBuffer, HostBufferError, Section};

type Failure = Box<dyn std::error::Error>;

/// The bytes of the section that the processes use.
const BYTES: usize = 8 << 20;
/// The distance of the nodes of the list.
const STEP: usize = 4096;
const NODES: usize = BYTES / STEP;
/// Longer than any step takes.
const LONG: Duration = Duration::from_secs(50);

/// An element of a linked list.
#[repr(C)]
struct Node {
    next: *const Node,
    value: u64,
}

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    if let Ok(user) = std::env::var("HOSTBUFFER_USER")
        && nix::unistd::getuid().is_root()
    {
        nix::unistd::setgid(Gid::from_raw(user.parse()?))?;
        nix::unistd::setuid(Uid::from_raw(user.parse()?))?;
    }
    if let Ok(limit) = std::env::var("HOSTBUFFER_LIMIT") {
        set_limit(&limit)?;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [job, count, blocked @ ..] = arguments.as_slice() else {
        return Err("hostbuffer JOB COUNT [BLOCKED...]".into());
    };
    let mut blocks = Vec::new();
    for address in blocked {
        blocks.push(Mapping::reserve_at(
            usize::from_str_radix(address, 16)?,
            STEP,
        )?);
    }
    match buffer(job, count.parse()?) {
        Ok(buffer) => serve(&buffer),
        Err(error) => {
            println!("error {error}");
            Ok(())
        }
    }
}

fn set_limit(limit: &str) -> Result<(), Failure> {
    let (name, value) = limit.split_once('=').ok_or("NAME=VALUE")?;
    let resource = match name {
        "as" => Resource::RLIMIT_AS,
        "fsize" => Resource::RLIMIT_FSIZE,
        "memlock" => Resource::RLIMIT_MEMLOCK,
        "nofile" => Resource::RLIMIT_NOFILE,
        other => return Err(format!("no limit {other:?}").into()),
    };
    Ok(setrlimit(resource, value.parse()?, value.parse()?)?)
}

fn buffer(job: &str, count: usize) -> Result<HostBuffer, HostBufferError> {
    let list = Section::new("list", BYTES);
    let builder = HostBuffer::builder(job).section(match std::env::var("HOSTBUFFER_LOCKED") {
        Ok(_) => list.locked(),
        Err(_) => list,
    });
    let builder = builder.section(Section::new("rest", 1)).timeout(LONG);
    let builder = match std::env::var("HOSTBUFFER_RENDEZVOUS") {
        Ok(address) => builder.agreement(Rendezvous::new(&address, job, secret())),
        Err(_) => builder,
    };
    match count {
        0 => builder.create_or_attach(),
        count => builder.processes(count).create_or_attach(),
    }
}

fn secret() -> Secret {
    let text = std::env::var("HOSTBUFFER_SECRET").expect("the test gives one");
    Secret::new(text.as_bytes()).expect("it is long enough")
}

fn serve(buffer: &HostBuffer) -> Result<(), Failure> {
    let (created, address) = (buffer.created(), buffer.address());
    println!("ok created={created} address={address:x}");
    for line in std::io::stdin().lock().lines() {
        match obey(buffer, &line?) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

fn obey(buffer: &HostBuffer, command: &str) -> Result<String, Failure> {
    let (list, bytes) = buffer.section("list")?;
    if let Some(device) = command.strip_prefix("gpu ") {
        let registered = buffer.register_gpu("list", device.parse()?)?;
        drop(registered);
        return Ok("registered".into());
    }
    match command {
        "build" => build(list),
        "walk" => return Ok(walk(list).to_string()),
        "pss" => return Ok(pss(buffer.address(), bytes)?.to_string()),
        "seal" => buffer.seal("list")?,
        "sealed" => return Ok(buffer.wait_sealed("list", LONG)?.len().to_string()),
        // SAFETY: the section is mapped. If it is sealed, this ends the process, as it should.
        "poke" => unsafe { list.write_volatile(1) },
        "unlock" => return unlock(list, bytes),
        other => return Err(format!("no command {other:?}").into()),
    }
    Ok(String::new())
}

/// Builds a list whose nodes lie in an order of their own, one in each page.
fn build(list: *mut u8) {
    let node = |i: usize| list.wrapping_add(i * 7 % NODES * STEP).cast::<Node>();
    for i in 0..NODES {
        let next = if i + 1 < NODES {
            node(i + 1)
        } else {
            std::ptr::null_mut()
        };
        let value = i as u64;
        // SAFETY: the node lies in the section, aligned to a page. No other process uses the
        // section before the test says so.
        unsafe { node(i).write(Node { next, value }) };
    }
}

/// Returns the sum of all values, by the pointers in the nodes.
fn walk(list: *const u8) -> u64 {
    let (mut at, mut sum) = (list.cast::<Node>(), 0);
    while !at.is_null() {
        // SAFETY: the creator has built the list, and all its nodes lie in the buffer, which is at
        // the same address here.
        let node = unsafe { at.read() };
        (at, sum) = (node.next, sum + node.value);
    }
    sum
}

/// Returns this process's share of the memory of the section, in KiB.
fn pss(address: usize, bytes: usize) -> Result<u64, Failure> {
    let (mut inside, mut kib) = (false, 0);
    for line in std::fs::read_to_string("/proc/self/smaps")?.lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if let Some((from, _)) = first.split_once('-') {
            let from = usize::from_str_radix(from, 16);
            inside = from.is_ok_and(|from| (address..address + bytes).contains(&from));
        } else if inside && let Some(rest) = line.strip_prefix("Pss:") {
            kib += rest.trim().trim_end_matches(" kB").parse::<u64>()?;
        }
    }
    Ok(kib)
}

/// Tries to make the section writable again.
fn unlock(list: *mut u8, bytes: usize) -> Result<String, Failure> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is that of the section, and this changes no byte of it.
    match unsafe { libc::mprotect(list.cast(), bytes, access) } {
        0 => Ok("writable".into()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}
