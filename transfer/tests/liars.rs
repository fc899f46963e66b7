//! Owners that answer nonsense: an error, and the end of the connection.

use proptest::prelude::*;
use std::fs::{File, remove_file};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tcasm_core::sys::object::Object;
use tcasm_core::sys::socket;
use tcasm_transfer::wire::{REPLY_BYTES, Reply, Request, SLOT_BYTES, SLOTS};
use tcasm_transfer::{Cookie, Peer, Segment, Status, TransferError, Transport};

const PATIENCE: Duration = Duration::from_secs(20);
const BEACON: &[u8; 16] = b"0123456789abcdef";
const COOKIE: [u8; 16] = [7; 16];
/// The largest number of requests in a test. A peer that asks more would ask without end.
const MOST: usize = 50_000;

/// A message with descriptors.
type Answer = (Vec<u8>, Vec<OwnedFd>);

/// An owner that greets, and then answers as a test wants.
struct Liar {
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Liar {
    fn start(mut answer: impl FnMut(Request) -> Answer + Send + 'static) -> Liar {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tcasm-liar-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = socket::listen_at(&path).unwrap();
        let thread = std::thread::spawn(move || {
            assert!(socket::wait_readable(&listener, PATIENCE));
            let connection = socket::accept(&listener).unwrap();
            let mut message = [0; 100];
            for _ in 0..MOST {
                assert!(socket::wait_readable(&connection, PATIENCE));
                let Ok(n @ 1..) = socket::receive_plain(&connection, &mut message) else {
                    return;
                };
                let (bytes, files) = match Request::decode(&message[..n]).unwrap() {
                    Request::Hello { .. } => (done(welcome(), &[]), Vec::new()),
                    request => answer(request),
                };
                let files: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
                let _ = socket::send(&connection, &bytes, &files);
            }
            panic!("a peer asks without end");
        });
        let thread = Some(thread);
        Liar { path, thread }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        let _ = remove_file(&self.path);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

/// Tells the truth about where the beacon is, so that the peer copies directly.
fn welcome() -> [u64; 4] {
    let word = |at: usize| u64::from_le_bytes(BEACON[at..at + 8].try_into().unwrap());
    [Segment::of(BEACON).addr as u64, word(0), word(8), 0]
}

fn done(words: [u64; 4], segments: &[Segment]) -> Vec<u8> {
    let reply = Reply {
        segments: segments.to_vec(),
        ..Reply::of(Status::Done, words)
    };
    reply.encode()
}

/// Returns the descriptor of a file of fixed size.
fn file(len: u64) -> OwnedFd {
    let object = Object::create("tcasm-test", len).unwrap();
    object.as_fd().try_clone_to_owned().unwrap()
}

/// Checks that an operation fails with nonsense, and that the connection has ended.
fn refuses(
    what: &str,
    answer: impl Fn(Request) -> Answer + Send + 'static,
    ask: impl FnOnce(&mut Peer) -> Result<(), TransferError>,
) {
    let liar = Liar::start(answer);
    let mut peer = Peer::connect(&liar.path).unwrap();
    assert_eq!(peer.direct(), Ok(()));
    let asked = ask(&mut peer);
    let refused = matches!(asked, Err(TransferError::Nonsense(_)));
    assert!(refused, "{what}: {asked:?}");
    let again = peer.describe(cookie()).map(|_| ());
    assert!(
        matches!(again, Err(TransferError::Ended)),
        "{what}: {again:?}"
    );
}

fn cookie() -> Cookie {
    Cookie::from_bytes(COOKIE)
}

fn read(transport: Transport, len: usize) -> impl FnOnce(&mut Peer) -> Result<(), TransferError> {
    move |peer| {
        peer.use_only(Some(transport));
        peer.read(cookie(), 0, &mut vec![0; len]).map(|_| ())
    }
}

fn hold(peer: &mut Peer) -> Result<(), TransferError> {
    peer.hold(cookie(), 0, 10).map(|_| ())
}

fn parts(list: &[(usize, usize)]) -> impl Fn(Request) -> Answer + Send + 'static {
    let list: Vec<_> = list
        .iter()
        .map(|&(addr, len)| Segment { addr, len })
        .collect();
    move |request| match request {
        Request::Map(_) => (done([0; 4], &[]), vec![file(4096)]),
        _ => (done([0; 4], &list), Vec::new()),
    }
}

#[test]
fn lengths_that_were_not_asked_for_are_refused() {
    let at = Segment::of(BEACON).addr;
    for (what, list) in [
        ("no bytes", &[][..]),
        ("one byte more", &[(at, 11)]),
        (
            "bytes beyond all addresses",
            &[(1, usize::MAX - 1), (1, usize::MAX - 1)],
        ),
    ] {
        refuses(what, parts(list), read(Transport::Direct, 10));
        refuses(what, parts(list), read(Transport::Mapped, 10));
        refuses(what, parts(list), hold);
    }
    refuses("overlap", parts(&[(at, 5), (at + 4, 5)]), hold);
    let block = |_| (done([9, 0, 0, 0], &[]), vec![file(SLOTS * SLOT_BYTES)]);
    refuses("a shorter block", block, read(Transport::Ring, 10));
}

#[test]
fn segments_outside_of_their_file_are_refused() {
    for list in [[(4090, 7)], [(1 << 40, 7)]] {
        refuses("outside", parts(&list), read(Transport::Mapped, 7));
    }
    let map = |_| {
        let outside = Segment { addr: 4090, len: 7 };
        (done([0; 4], &[outside]), vec![file(4096)])
    };
    refuses("outside", map, |peer| peer.map(cookie()).map(|_| ()));
}

#[test]
fn files_that_can_shrink_or_are_missing_are_refused() {
    type Files = Box<dyn Fn() -> Vec<OwnedFd> + Send>;
    let all: [(&str, Files); 4] = [
        ("none", Box::new(Vec::new)),
        ("two", Box::new(|| vec![file(1 << 30), file(1 << 30)])),
        (
            "not sealed",
            Box::new(move || vec![File::open("/proc/self/exe").unwrap().into()]),
        ),
        (
            "a socket",
            Box::new(|| vec![std::net::UdpSocket::bind("127.0.0.1:0").unwrap().into()]),
        ),
    ];
    for (what, files) in all {
        let answer = move |_| (done([0; 4], &[]), files());
        refuses(what, answer, |peer| peer.map(cookie()).map(|_| ()));
    }
    let short = |_| (done([0; 4], &[]), vec![file(SLOTS * SLOT_BYTES - 1)]);
    refuses("a short ring", short, read(Transport::Ring, 10));
}

#[test]
fn parts_of_two_versions_are_refused() {
    let other = AtomicUsize::new(1);
    let answer = move |request| match request {
        Request::Ring => (done([0; 4], &[]), vec![file(SLOTS * SLOT_BYTES)]),
        _ => {
            let version = other.fetch_add(1, Ordering::Relaxed) as u64;
            (done([SLOT_BYTES, version, 0, 0], &[]), Vec::new())
        }
    };
    let twice = 2 * SLOT_BYTES as usize;
    refuses("another version", answer, read(Transport::Ring, twice));
}

#[test]
fn bytes_that_are_no_answer_are_refused() {
    let mut unknown = done([0; 4], &[]);
    unknown[0] = 200;
    for bytes in [vec![1], vec![0; 41], unknown, vec![0; REPLY_BYTES + 16]] {
        let answer = move |_| (bytes.clone(), Vec::new());
        refuses("garbage", answer, |peer| {
            peer.describe(cookie()).map(|_| ())
        });
    }
    let rights = |_| (done([10, 0, 0, 0], &[]), Vec::new());
    refuses("no rights", rights, |peer| {
        peer.describe(cookie()).map(|_| ())
    });
}

/// Numbers that an owner could answer.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(9),
        Just(10),
        Just(SLOT_BYTES),
        Just(70_000),
        any::<u64>()
    ]
}

/// Segments whose bytes are there, or not, or too many.
fn segment() -> impl Strategy<Value = Segment> {
    let at = Segment::of(BEACON).addr;
    let addr = prop_oneof![Just(at), Just(0), Just(4090), Just(usize::MAX - 9)];
    let len = prop_oneof![
        Just(0),
        Just(10),
        Just(5000),
        Just(70_000),
        Just(usize::MAX)
    ];
    (addr, len).prop_map(|(addr, len)| Segment { addr, len })
}

/// Any answer: its status, its words, its segments, and the lengths of the files that go with it.
fn answer() -> impl Strategy<Value = (u64, [u64; 4], Vec<Segment>, Vec<u64>)> {
    let status = prop_oneof![4 => Just(0), 1 => 0u64..20];
    let len = prop_oneof![Just(1), Just(4096), Just(SLOTS * SLOT_BYTES)];
    let words = [(); 4].map(|()| number());
    let segments = proptest::collection::vec(segment(), 0..3);
    (
        status,
        words,
        segments,
        proptest::collection::vec(len, 0..3),
    )
}

/// Does what a number chooses. An error is as good as success.
fn anything(peer: &mut Peer, choice: u8) -> Result<(), TransferError> {
    let mut bytes = vec![0; if choice & 8 == 0 { 10 } else { 70_000 }];
    let [direct, mapped, ring] = [Transport::Direct, Transport::Mapped, Transport::Ring].map(Some);
    let transport = [None, direct, mapped, ring][usize::from(choice & 3)];
    peer.use_only(transport);
    match choice >> 4 {
        0 => peer.describe(cookie()).map(|_| ()),
        1 => peer.map(cookie()).map(|mapped| _ = mapped.load::<8>(2)),
        2 => {
            let mut hold = peer.hold(cookie(), 0, bytes.len() as u64)?;
            hold.read(0, &mut bytes[..5]).map(|_| ())
        }
        // The memory that a liar names for writing is in this process.
        3 if transport.is_some_and(|only| only != Transport::Direct) => {
            peer.write(cookie(), 3, &bytes)
        }
        _ => peer.read(cookie(), 3, &mut bytes).map(|_| ()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_answers_end_what_a_peer_does(
        answers in proptest::collection::vec(answer(), 1..6),
        choices in proptest::collection::vec(0u8..96, 1..6),
    ) {
        let mut turn = answers.into_iter().cycle();
        let liar = Liar::start(move |_| {
            let (status, words, segments, files) = turn.next().unwrap();
            let mut bytes = done(words, &segments);
            bytes[..8].copy_from_slice(&status.to_le_bytes());
            (bytes, files.into_iter().map(file).collect())
        });
        let mut peer = Peer::connect(&liar.path).unwrap();
        for choice in choices {
            let _ = anything(&mut peer, choice);
        }
    }
}
