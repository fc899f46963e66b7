//! Host buffers and their rendezvous among programs that are not what they should be: strangers,
//! other users, and floods.

use nix::unistd::{Gid, Uid, chown};
use std::cell::Cell;
use std::fs::{Permissions, metadata, set_permissions};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tcasm_core::sys::socket as messages;
use tcasm_hostbuffer::tcp::{Event, Secret, Server};
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::pattern::mix;
use tcasm_tests::procfs;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");
const SECRET: &str = "0123456789abcdef";
/// Users that own nothing else.
const ONE: u32 = 65534;
const OTHER: u32 = 65533;

fn root() -> bool {
    Uid::effective().is_root()
}

/// Starts a process of a job of `count` processes.
fn start(dir: &Path, count: usize, settings: &[(&str, &str)]) -> Child {
    Child::start(PROGRAM, &["job", &count.to_string()], dir, settings)
}

/// Connects to the process that leads.
fn stranger(dir: &Path) -> OwnedFd {
    let path = dir.join("job.hostbuffer");
    poll_until("a connection", || messages::connect_to(&path).ok())
}

/// Returns true if the other end has closed the connection.
fn is_closed(socket: &OwnedFd) -> bool {
    let seen = messages::receive_plain(socket, &mut [0; 1 << 16]);
    !matches!(seen, Err(nix::errno::Errno::EAGAIN))
}

#[test]
fn programs_that_send_anything_are_dropped_and_the_job_gets_its_buffer() {
    let dir = TempDir::new().unwrap();
    let first = start(dir.path(), 3, &[]);
    let silent: Vec<OwnedFd> = (0..100).map(|_| stranger(dir.path())).collect();
    let noisy: Vec<OwnedFd> = (0..100).map(|_| stranger(dir.path())).collect();
    for (i, socket) in noisy.iter().enumerate() {
        let words = (0..1 + i as u64).flat_map(|n| mix(i as u64, n, 1).to_le_bytes());
        let bytes: Vec<u8> = words.collect();
        let _ = messages::send(socket, &bytes, &[]);
    }
    // The kernel or the process refuses descriptors, and messages that are too long.
    let file = std::fs::File::open("/dev/null").unwrap();
    let _ = messages::send(&noisy[0], b"x", &[file.as_raw_fd()]);
    let _ = messages::send(&noisy[1], &vec![0; 100_000], &[]);
    for socket in &noisy {
        poll_until("it is dropped", || is_closed(socket).then_some(()));
    }
    let all = [first, start(dir.path(), 3, &[]), start(dir.path(), 3, &[])];
    for child in &all {
        child.hear_line("ok created=");
    }
    // The buffer exists now. Strangers are not served either.
    let late = stranger(dir.path());
    messages::send(&late, &[0xc1; 9], &[]).unwrap();
    poll_until("it is dropped", || is_closed(&late).then_some(()));
    drop(silent);
}

/// Returns a folder that all users can write, such as /tmp.
fn folder_of_all() -> TempDir {
    let dir = TempDir::new().unwrap();
    if root() {
        chown(dir.path(), Some(Uid::from_raw(0)), Some(Gid::from_raw(0))).unwrap();
    }
    set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    dir
}

/// Without root there is no other user, so this only checks the modes of the files.
#[test]
fn process_of_another_user_gets_nothing_and_gives_nothing() {
    let dir = folder_of_all();
    let user = |uid: u32| uid.to_string();
    let own = start(dir.path(), 0, &[("HOSTBUFFER_USER", &user(ONE))]);
    own.hear_line("ok created=true");
    let socket = dir.path().join("job.hostbuffer");
    for file in ["job.hostbuffer.lock", "job.hostbuffer.members"] {
        let mode = metadata(dir.path().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{file}: {mode:o}");
    }
    if !root() {
        return;
    }
    let refused = start(dir.path(), 0, &[("HOSTBUFFER_USER", &user(OTHER))]);
    let why = refused.hear_line("error ");
    assert!(why.contains("denied"), "{why}");
    // If its owner lets everybody connect, each end still refuses the other.
    set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
    let refused = start(dir.path(), 0, &[("HOSTBUFFER_USER", &user(OTHER))]);
    let why = refused.hear_line("error ");
    assert!(why.contains(&format!("belongs to user {ONE}")), "{why}");
    let us = stranger(dir.path());
    poll_until("it is dropped", || is_closed(&us).then_some(()));
}

/// Connects to the server from another address of this machine, and says nothing.
fn flooder(port: u16) -> TcpStream {
    // SAFETY: this call has no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(fd >= 0);
    // SAFETY: the descriptor is new, and nothing else owns it.
    let socket = unsafe { TcpStream::from_raw_fd(fd) };
    let from = address(Ipv4Addr::new(127, 0, 0, 9), 0);
    let len = size_of_val(&from) as libc::socklen_t;
    // SAFETY: the kernel reads an address, which lives during the call.
    let bound = unsafe { libc::bind(fd, (&raw const from).cast(), len) };
    let to = address(Ipv4Addr::LOCALHOST, port);
    // SAFETY: as before.
    let connected = unsafe { libc::connect(fd, (&raw const to).cast(), len) };
    assert_eq!((bound, connected), (0, 0));
    socket
}

fn address(ip: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(ip).to_be(),
        },
        sin_zero: [0; 8],
    }
}

/// A server that runs in a thread.
struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Event>>,
}

impl Serving {
    /// Serves jobs of two hosts. Calls `tell` for what happens.
    fn start(server: Server, mut tell: impl FnMut(&Event) + Send + 'static) -> Self {
        let address = server.address().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut events = Vec::new();
            let go_on = || !seen.load(Ordering::Relaxed);
            server.run(go_on, |event| {
                tell(&event);
                events.push(event);
            });
            events
        });
        Serving {
            address,
            stop,
            thread,
        }
    }

    /// Starts two hosts of a job, each with a folder of its own.
    fn hosts(&self) -> [(TempDir, Child); 2] {
        let address = self.address.to_string();
        let settings = [
            ("HOSTBUFFER_RENDEZVOUS", address.as_str()),
            ("HOSTBUFFER_SECRET", SECRET),
        ];
        [(); 2].map(|()| {
            let dir = TempDir::new().unwrap();
            let host = start(dir.path(), 1, &settings);
            (dir, host)
        })
    }

    /// Returns how many programs were told that there are too many.
    fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let events = self.thread.join().unwrap();
        events.iter().filter(|event| is_too_many(event)).count()
    }
}

fn is_too_many(event: &Event) -> bool {
    matches!(event, Event::Refused { why, .. } if why.contains("too many"))
}

fn server() -> Server {
    let secret = Secret::new(SECRET.as_bytes()).unwrap();
    Server::bind("127.0.0.1:0", 2, secret).unwrap()
}

#[test]
fn flood_from_one_address_is_told_and_takes_no_place_of_hosts() {
    let server = server();
    let port = server.address().unwrap().port();
    let flood: Vec<TcpStream> = (0..80).map(|_| flooder(port)).collect();
    let serving = Serving::start(server, |_| {});
    let hosts = serving.hosts();
    for (_, host) in &hosts {
        host.hear_line("ok created=");
    }
    assert!(serving.end() > 0);
    drop(flood);
}

/// Other users of the machine of a host have its address.
#[test]
fn hosts_wait_while_programs_at_their_address_have_all_places() {
    let server = server();
    let address = server.address().unwrap();
    let mut flood: Vec<TcpStream> = (0..16)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let serving = Serving::start(server, move |event| {
        if is_too_many(event) {
            // All places were taken when a host came. From now on they are free.
            flood.clear();
        }
    });
    let hosts = serving.hosts();
    for (_, host) in &hosts {
        host.hear_line("ok created=");
    }
    assert!(serving.end() > 0, "no host was refused");
}

#[test]
fn flood_of_another_user_takes_no_place_of_the_processes_of_a_job() {
    assert!(root(), "only root can change the user");
    let dir = folder_of_all();
    let one = ONE.to_string();
    let settings = [("HOSTBUFFER_USER", one.as_str())];
    let first = start(dir.path(), 2, &settings);
    let socket = dir.path().join("job.hostbuffer");
    poll_until("it leads", || socket.exists().then_some(()));
    drop(stranger(dir.path()));
    let before = procfs::descriptors(first.pid()).len();
    // The process that leads may have 256 connections of its own user that are silent.
    let (mut flood, mut most) = (Vec::new(), 0);
    for _ in 0..40 {
        flood.extend((0..10).map(|_| stranger(dir.path())));
        most = most.max(procfs::descriptors(first.pid()).len());
    }
    assert!(most < before + 20, "{before} descriptors, then {most}");
    let second = start(dir.path(), 2, &settings);
    for child in [&first, &second] {
        child.hear_line("ok created=");
    }
    let dropped = || flood.iter().all(is_closed).then_some(());
    poll_until("all are dropped", dropped);
}

#[test]
fn programs_that_are_silent_for_long_make_room_for_a_process() {
    let dir = TempDir::new().unwrap();
    let first = start(dir.path(), 2, &[]);
    // The process that leads accepts 256 of these connections, and the others wait.
    let silent: Vec<OwnedFd> = (0..260).map(|_| stranger(dir.path())).collect();
    let second = start(dir.path(), 2, &[]);
    for child in [&first, &second] {
        child.hear_line("ok created=");
    }
    drop(silent);
}

#[test]
fn flood_of_messages_that_are_none_is_slowed_down() {
    let server = server();
    let address = server.address().unwrap();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[7; 100]).unwrap();
    }
    let (mut quick, mut slowed) = (0, 0);
    let seen = Cell::new(0);
    let count = |event| {
        let Event::Refused { why, .. } = event else {
            return;
        };
        seen.set(seen.get() + 1);
        match why.contains("too many") {
            true => slowed += 1,
            false => quick += 1,
        }
    };
    server.run(|| seen.get() < 100, count);
    assert!(slowed > 0, "{quick} were refused as fast as they came");
}

/// The limits that a process has reached, and what its error says.
const LIMITS: [(&str, &str); 6] = [
    ("as=12000000", "no address can be used"),
    ("fsize=4096", "the limit on file sizes is 4096 bytes"),
    ("memlock=0", "lock"),
    ("memlock=4096", "lock"),
    ("nofile=5", "Too many open files"),
    ("nofile=8", "Too many open files"),
];

#[test]
fn process_at_a_limit_is_refused_with_the_reason_and_leaves_nothing() {
    for (limit, why) in LIMITS {
        let dir = folder_of_all();
        let one = ONE.to_string();
        // Locked memory of root has no limit.
        let settings = [
            ("HOSTBUFFER_USER", one.as_str()),
            ("HOSTBUFFER_LIMIT", limit),
            ("HOSTBUFFER_LOCKED", "1"),
        ];
        let mut limited = start(dir.path(), 1, &settings);
        let error = limited.hear_line("error ");
        assert!(error.contains(why), "{limit}: {error}");
        limited.wait();
        let left = dir.path().read_dir().unwrap().flatten().next();
        assert!(left.is_none(), "{limit}: {left:?}");
        start(dir.path(), 1, &settings[..1]).hear_line("ok created=true");
    }
}

#[test]
fn member_at_a_limit_is_named_to_all() {
    let dir = TempDir::new().unwrap();
    let limited = start(dir.path(), 3, &[("HOSTBUFFER_LIMIT", "as=12000000")]);
    let all = [start(dir.path(), 3, &[]), start(dir.path(), 3, &[])];
    for child in &all {
        let error = child.hear_line("error ");
        assert!(
            error.contains(&format!("process {}", limited.pid())),
            "{error}"
        );
    }
}
