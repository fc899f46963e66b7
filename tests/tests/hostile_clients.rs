//! Descriptors that other processes send. Closing them may block, and nothing may wait for that.
//!
//! From Linux 6.16 on the kernel refuses descriptors for sockets that accept none. The tests cover
//! older kernels by switching that refusal off.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_core::format::wire::{self, Answer, Request};
use tcasm_core::sys::socket;
use tcasm_tests::child::{DEADLINE, Received, poll_until};
use tcasm_tests::hostile::{Attachment, HostileClient, Lingering, socket_path};
use tcasm_tests::procfs;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Keeps the other tests waiting while the returned guard lives. A process that another test starts
/// inherits the sockets of this one until it executes its program, and could be the last to close
/// them. Then it would be blocked before its program begins.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a producer of the region `x`, with these guards switched off.
fn region(off: &[&str]) -> (TempDir, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    for guard in off {
        producer.ok(&format!("sabotage {guard}"));
    }
    producer.ok("create x pages=64 versions=3 observers=100");
    producer.ok("publish 1");
    (dir, producer)
}

/// A message of a hostile client: its bytes, true if the client attaches before it sends them, and
/// the number of descriptors that come with them.
type HostileMessage = (Vec<u8>, bool, usize);

/// A client with the message that it is to send, and what its attach yielded, if it attached.
type Connected = (HostileMessage, HostileClient, Option<Attachment>);

fn hostile_messages() -> Vec<HostileMessage> {
    vec![
        (vec![7; 8], false, 1),
        (wire::hello(), false, 2),
        (Request::Observers.encode(), true, 1),
        (Vec::new(), true, 1),
        (Vec::new(), false, 253),
        (vec![9; 5000], true, 100),
    ]
}

/// Sends descriptors whose close blocks. Returns the sockets that keep them blocking, and how many
/// messages the kernel accepted.
fn attack(
    dir: &TempDir,
    producer: &Puppet,
    messages: impl IntoIterator<Item = HostileMessage>,
) -> (Vec<TcpStream>, usize) {
    let connect = |message: HostileMessage| {
        let client = HostileClient::connect(dir.path(), "x");
        let attached = message.1.then(|| client.attach());
        (message, client, attached)
    };
    let connected: Vec<_> = messages.into_iter().map(connect).collect();
    producer.child.stop();
    let send = |((bytes, _, times), client, _attached): Connected| {
        Lingering::new().send(&client, &bytes, times)
    };
    let (others, taken): (Vec<_>, Vec<bool>) = connected.into_iter().map(send).unzip();
    producer.child.signal(Signal::SIGCONT);
    (others, taken.into_iter().filter(|taken| *taken).count())
}

/// Checks that the service accepts observers, and releases the pins of dead ones.
fn serves(dir: &TempDir, producer: &mut Puppet) {
    let mut greedy = Puppet::start(PUPPET, dir.path());
    greedy.ok("attach x");
    for _ in 0..3 {
        producer.ok("publish 1");
        greedy.ok("latest");
    }
    assert_eq!(producer.number("publish 2", "skipped"), 2);
    greedy.child.kill();
    releases_pins(producer);
}

fn releases_pins(producer: &mut Puppet) {
    poll_until("a version is published", || {
        (producer.number("publish 1", "published") == 1).then_some(())
    });
}

#[test]
fn descriptors_that_block_when_closed_do_not_block_the_service() {
    let _alone = alone();
    for off in [&[][..], &["RefuseDescriptors"]] {
        let (dir, mut producer) = region(off);
        let before = procfs::descriptors(producer.child.pid()).len();
        let (others, taken) = attack(
            &dir,
            &producer,
            [hostile_messages(), hostile_messages()].concat(),
        );
        // A kernel that refuses descriptors accepts none of these messages.
        assert!(taken == 0 || taken == 12, "{taken} messages were taken");
        serves(&dir, &mut producer);
        drop(others);
        poll_until("all that was sent is closed", || {
            (procfs::descriptors(producer.child.pid()).len() == before).then_some(())
        });
        assert_eq!(producer.number("stats", "observers"), 0);
    }
}

#[test]
fn region_ends_although_descriptors_block_when_closed() {
    let _alone = alone();
    for off in [&[][..], &["RefuseDescriptors"]] {
        let (dir, mut producer) = region(off);
        let (_others, _) = attack(
            &dir,
            &producer,
            hostile_messages().into_iter().cycle().take(40),
        );
        // Another connection that is not accepted yet.
        producer.child.stop();
        let client = HostileClient::connect(dir.path(), "x");
        let (_other, _) = Lingering::new().send(&client, &[1; 8], 1);
        drop(client);
        producer.child.send("drop");
        producer.child.signal(Signal::SIGCONT);
        assert_eq!(
            producer.child.receive(DEADLINE),
            Received::Line("ok ".into())
        );
        producer.ok("create x pages=64 versions=3");
        producer.ok("drop");
    }
}

#[test]
fn many_blocking_closes_make_only_new_observers_wait() {
    let _alone = alone();
    let (dir, mut producer) = region(&["RefuseDescriptors"]);
    let before = procfs::descriptors(producer.child.pid()).len();
    let mut greedy = Puppet::start(PUPPET, dir.path());
    greedy.ok("attach x");
    for _ in 0..3 {
        producer.ok("publish 1");
        greedy.ok("latest");
    }
    let (others, taken) = attack(&dir, &producer, vec![(vec![7; 8], false, 1); 50]);
    assert_eq!(taken, 50);
    let mut late = Puppet::start(PUPPET, dir.path());
    let error = late.error("attach x");
    assert!(error.starts_with("NoAnswer"), "{error}");
    greedy.child.kill();
    releases_pins(&mut producer);
    let open = procfs::descriptors(producer.child.pid()).len();
    assert!(open < before + 100, "{open} descriptors are open");
    let threads = procfs::status(producer.child.pid(), "Threads").unwrap();
    assert!(threads < 40, "{threads} threads");
    drop(others);
    poll_until("a place is free", || {
        late.ask("attach x")?.starts_with("ok").then_some(())
    });
    late.ok("detach");
    poll_until("all that was sent is closed", || {
        (procfs::descriptors(producer.child.pid()).len() == before).then_some(())
    });
}

#[test]
fn control_without_both_guards_the_service_is_blocked() {
    let _alone = alone();
    let (dir, producer) = region(&["RefuseDescriptors", "CloseElsewhere"]);
    let (_others, taken) = attack(&dir, &producer, vec![(vec![7; 8], false, 1); 2]);
    assert_eq!(taken, 2);
    let error = Puppet::start(PUPPET, dir.path()).error("attach x");
    assert!(error.starts_with("NoAnswer"), "{error}");
}

/// Listens at the socket of a producer, sends these messages to the observer, and stays until the
/// returned sender is dropped. The observer is stopped while the messages are sent, so that it gets
/// the last descriptors of the sockets.
fn impostor(
    dir: &TempDir,
    observer: i32,
    messages: Vec<(Vec<u8>, Vec<OwnedFd>)>,
) -> (std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let listener = socket::listen_at(&socket_path(dir.path(), "x")).unwrap();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        assert!(socket::wait_readable(&listener, DEADLINE));
        let stream = socket::accept(&listener).unwrap();
        let signal = |signal| kill(Pid::from_raw(observer), signal).unwrap();
        signal(Signal::SIGSTOP);
        poll_until("it is stopped", || {
            procfs::is_in_state(observer, 'T').then_some(())
        });
        for (bytes, fds) in messages {
            let raw: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
            socket::send(&stream, &bytes, &raw).unwrap();
        }
        signal(Signal::SIGCONT);
        let _ = ended.recv();
    });
    (end, thread)
}

/// Returns the answer of a puppet. Without an answer it is blocked, and the test fails.
fn answer(puppet: &mut Puppet, command: &str) -> String {
    puppet.child.send(command);
    match puppet.child.receive(DEADLINE / 2) {
        Received::Line(line) => line,
        said => panic!("{command}: {said:?}"),
    }
}

#[test]
fn descriptors_from_an_impostor_do_not_block_an_observer() {
    let _alone = alone();
    let welcome = || wire::answer(Answer::Welcome);
    let answers = [
        (welcome(), 3),
        (welcome(), 200),
        (wire::answer(Answer::Full), 1),
        (b"HTTP/1.1 400 Bad Request".to_vec(), 1),
        (Vec::new(), 1),
    ];
    for (bytes, times) in answers {
        let dir = TempDir::new().unwrap();
        let mut observer = Puppet::start(PUPPET, dir.path());
        let lingering = Lingering::new();
        let socket = OwnedFd::from(lingering.socket);
        let copies = (1..times).map(|_| socket.try_clone().unwrap());
        let mut fds: Vec<OwnedFd> = copies.collect();
        fds.push(socket);
        let (end, thread) = impostor(&dir, observer.child.pid(), vec![(bytes, fds)]);
        let line = answer(&mut observer, "attach x");
        assert!(line.starts_with("error"), "{line}");
        assert!(answer(&mut observer, "whoami").starts_with("ok"));
        drop((end, lingering.other));
        thread.join().unwrap();
    }
}

#[test]
fn detach_does_not_block_while_descriptors_wait_in_the_socket() {
    let _alone = alone();
    let real = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, real.path());
    producer.ok("create x pages=16");
    producer.ok("publish 1");
    let client = HostileClient::connect(real.path(), "x");
    let objects = client.attach().objects;
    let dir = TempDir::new().unwrap();
    let mut observer = Puppet::start(PUPPET, dir.path());
    let lingering = Lingering::new();
    let messages = vec![
        (wire::answer(Answer::Welcome), objects),
        (
            wire::NOTICE.to_le_bytes().to_vec(),
            vec![lingering.socket.into()],
        ),
    ];
    let (end, thread) = impostor(&dir, observer.child.pid(), messages);
    assert!(answer(&mut observer, "attach x").starts_with("ok"));
    assert_eq!(answer(&mut observer, "latest"), "ok version=1");
    assert!(answer(&mut observer, "detach").starts_with("ok"));
    drop((end, lingering.other));
    thread.join().unwrap();
}
