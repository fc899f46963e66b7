//! A process of a job with a host buffer.
//!
//! `hostbuffer JOB COUNT [BLOCKED...]` first maps a page at each of the blocked addresses, which
//! are hexadecimal. COUNT is the number of processes that take part, or 0 if that is not known. It
//! prints `ok created=BOOL address=HEX`, or `error` with the reason. Then it obeys commands, one
//! per line. The environment says more:
//!
//! - If HOSTBUFFER_RENDEZVOUS is an address, it agrees with other hosts there, with the secret
//!   HOSTBUFFER_SECRET.
//! - If HOSTBUFFER_USER is a number, root becomes that user first.
//! - HOSTBUFFER_LIMIT is a limit such as `nofile=9`.
//! - HOSTBUFFER_SECONDS is how long it waits for the others.
//! - With HOSTBUFFER_LOCKED, the list is locked. With HOSTBUFFER_DUMPED, it is in core dumps.
//! - With HOSTBUFFER_FORKS, it forks a child while it leads and waits for others, and prints
//!   `forked`.
//! - HOSTBUFFER_DEVICE is the device that has a section of 3 MiB. The driver of the tests has its
//!   memory in the host's.
//!
//! `hostbuffer serve ADDRESS HOSTS` is a rendezvous, which prints what happens there.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{ForkResult, Gid, Uid, fork};
use std::io::{BufRead, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use tcasm_core::place::runtime_dir;
use tcasm_core::sys::mem::Mapping;
use tcasm_hostbuffer::tcp::{Rendezvous, Secret, Server};
use tcasm_hostbuffer::{Backing, HostBuffer, HostBufferError, Section};
use tcasm_tests::core_file;

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

/// The number of descriptors that this program has inherited itself.
static INHERITED: OnceLock<usize> = OnceLock::new();

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let _ = INHERITED.set(inheritable()?);
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
    if let [mode, address, hosts] = arguments.as_slice()
        && mode == "serve"
    {
        return rendezvous(address, hosts.parse()?);
    }
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
    if std::env::var_os("HOSTBUFFER_FORKS").is_some() {
        let socket = runtime_dir().join(format!("{job}.hostbuffer"));
        std::thread::spawn(move || fork_when_there(&socket));
    }
    match buffer(job, count.parse()?) {
        Ok(buffer) => serve(buffer),
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
    let is_set = |name| std::env::var_os(name).is_some();
    let list = match (is_set("HOSTBUFFER_LOCKED"), is_set("HOSTBUFFER_DUMPED")) {
        (true, _) => list.locked(),
        (false, true) => list.dumped(),
        (false, false) => list,
    };
    let builder = HostBuffer::builder(job).section(list);
    let seconds = std::env::var("HOSTBUFFER_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    let timeout = seconds.map_or(LONG, Duration::from_secs);
    let builder = builder.section(Section::new("rest", 1)).timeout(timeout);
    let builder = match std::env::var("HOSTBUFFER_DEVICE") {
        Ok(device) => builder.section(on_device(device.parse().expect("it is a number"))),
        Err(_) => builder,
    };
    let builder = match std::env::var("HOSTBUFFER_RENDEZVOUS") {
        Ok(address) => builder.agreement(Rendezvous::new(&address, job, secret())),
        Err(_) => builder,
    };
    match count {
        0 => builder.create_or_attach(),
        count => builder.processes(count).create_or_attach(),
    }
}

fn on_device(device: u32) -> Section {
    Section::new("field", 3 << 20).backing(Backing::Device(device))
}

fn rendezvous(address: &str, hosts: usize) -> Result<(), Failure> {
    let server = Server::bind(address, hosts, secret())?;
    println!("ok serving");
    server.run(|| true, |event| println!("event {event:?}"));
    Ok(())
}

fn secret() -> Secret {
    let text = std::env::var("HOSTBUFFER_SECRET").expect("the test gives one");
    Secret::new(text.as_bytes()).expect("it is long enough")
}

fn serve(buffer: HostBuffer) -> Result<(), Failure> {
    let (created, address) = (buffer.created(), buffer.address());
    println!("ok created={created} address={address:x}");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line == "leave" {
            drop(buffer);
            println!("ok ");
            wait_for_end_of_input();
            return Ok(());
        }
        match obey(&buffer, &line) {
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
    if let Some(folder) = command.strip_prefix("dump ") {
        core_file::dump(Path::new(folder))?;
    }
    match command {
        "device" => return Ok(format!("{:x?}", buffer.device_section("field")?)),
        "device-list" => return Ok(format!("{:x?}", buffer.device_section("list")?)),
        "device-as-memory" => return as_memory(buffer),
        "device-add" => return Ok(device_add(buffer)?.to_string()),
        "inheritable" => {
            let before = INHERITED.get().ok_or("it is set at the beginning")?;
            return Ok((inheritable()? - before).to_string());
        }
        "allocated" => return Ok(allocated(list, bytes)?.to_string()),
        "fork" => fork_and_wait()?,
        "fork-use" => return fork_and_use(buffer),
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

/// Adds 1 to the last byte of the device's section, and returns its value.
fn device_add(buffer: &HostBuffer) -> Result<u8, Failure> {
    let field = buffer.device_section("field")?;
    let last = (field.address as usize + field.bytes - 1) as *mut u8;
    // SAFETY: the driver of the tests maps the memory there. No other process uses it now.
    unsafe {
        last.write_volatile(last.read_volatile() + 1);
        Ok(last.read_volatile())
    }
}

/// Uses the device's section as if it were ordinary memory. Returns the errors.
fn as_memory(buffer: &HostBuffer) -> Result<String, Failure> {
    let all = [
        buffer.section("field").map(drop),
        buffer.seal("field"),
        buffer.wait_sealed("field", LONG).map(drop),
        buffer.register_gpu("field", 0).map(drop),
    ];
    let errors = all.into_iter().filter_map(Result::err);
    Ok(errors.map(|error| error.to_string()).collect())
}

/// Returns the number of pages of the section that have memory.
fn allocated(list: *mut u8, bytes: usize) -> Result<usize, Failure> {
    let mut pages = vec![0u8; bytes / STEP];
    // SAFETY: the section is mapped, and `pages` has a byte for each of its pages.
    match unsafe { libc::mincore(list.cast(), bytes, pages.as_mut_ptr()) } {
        0 => Ok(pages.iter().filter(|page| **page & 1 != 0).count()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// Forks a child when the process listens.
fn fork_when_there(socket: &Path) {
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    fork_and_wait().expect("a process can fork");
    println!("forked");
}

/// Forks a child that has everything which this process has, until the input of both ends.
fn fork_and_wait() -> Result<(), Failure> {
    // SAFETY: the child only reads and ends.
    if let ForkResult::Child = unsafe { fork() }? {
        wait_for_end_of_input();
        // SAFETY: this ends the child at once.
        unsafe { libc::_exit(0) };
    }
    Ok(())
}

/// Waits until the test closes the input, and reads nothing: the lines are for the parent.
fn wait_for_end_of_input() {
    let input = std::io::stdin();
    let ended = |fd: &PollFd<'_>| {
        fd.revents()
            .is_some_and(|is| is.contains(PollFlags::POLLHUP))
    };
    loop {
        let mut fds = [PollFd::new(input.as_fd(), PollFlags::empty())];
        let _ = poll(&mut fds, PollTimeout::NONE);
        if ended(&fds[0]) {
            return;
        }
    }
}

/// Returns the number of descriptors, beyond those of all programs, that a program would inherit
/// which this one starts.
fn inheritable() -> Result<usize, Failure> {
    let mut count = 0;
    for file in std::fs::read_dir("/proc/self/fdinfo")?.flatten() {
        let name = file.file_name();
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = i32::from_str_radix(flags.unwrap_or("0").trim(), 8)?;
        let standard = ["0", "1", "2"].iter().any(|n| name == **n);
        count += usize::from(!standard && flags != 0 && flags & libc::O_CLOEXEC == 0);
    }
    Ok(count)
}

/// Does in a forked child what a child may try, and drops its copy of the buffer. Returns what the
/// child has seen.
fn fork_and_use(buffer: &HostBuffer) -> Result<String, Failure> {
    let (output, input) = nix::unistd::pipe()?;
    // SAFETY: the test waits for no other thread of this process at this moment.
    if let ForkResult::Child = unsafe { fork() }? {
        let sealed = buffer.wait_sealed("list", LONG).map(<[u8]>::len);
        let seal = buffer.seal("list").map_err(|error| error.to_string());
        let gpu = buffer.register_gpu("list", 0).map(drop);
        let gpu = gpu.map_err(|error| error.to_string());
        let seen = format!("{:?} {seal:?} {gpu:?}", sealed.map_err(|e| e.to_string()));
        let _ = nix::unistd::write(&input, seen.as_bytes());
        // SAFETY: the child never uses its copy again, and ends at once.
        unsafe {
            drop(std::ptr::read(buffer));
            libc::_exit(0);
        }
    }
    drop(input);
    let mut seen = String::new();
    std::fs::File::from(output).read_to_string(&mut seen)?;
    Ok(seen)
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
