//! Another process: it owns bytes that others read, and reads those of others when it is told.

use crate::connect;
use crate::ring::Ring;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, fork};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines, PipeReader, PipeWriter, Read, Write, pipe};
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, Layout, Owner, Peer, Segment, SharedMemory, Transport,
};

/// The process, as the measuring one sees it.
pub struct Helper {
    orders: PipeWriter,
    answers: Lines<BufReader<PipeReader>>,
    data: PipeReader,
    ring: Ring,
    pub address: String,
    /// Shared memory.
    pub cookie: Cookie,
    /// As many bytes of ordinary memory.
    pub ordinary: Cookie,
}

/// The ends that the helper itself has.
struct Ends {
    orders: PipeReader,
    answers: PipeWriter,
    data: PipeWriter,
    ring: Ring,
}

impl Helper {
    /// Forks a process that owns `bytes` bytes.
    pub fn start(bytes: usize) -> Helper {
        let pipe = || pipe().expect("a pipe");
        let ((orders_out, orders), (answers, answers_in)) = (pipe(), pipe());
        let ((data, data_in), ring) = (pipe(), Ring::new());
        // As large as a user without privileges may make it.
        fcntl(&data_in, FcntlArg::F_SETPIPE_SZ(1 << 20)).expect("a larger pipe");
        // SAFETY: this process has one thread here.
        if let ForkResult::Child = unsafe { fork() }.expect("a process") {
            drop((orders, answers, data));
            let ends = Ends {
                orders: orders_out,
                answers: answers_in,
                data: data_in,
                ring,
            };
            set_pdeathsig(Signal::SIGKILL).expect("a signal");
            serve(ends, bytes);
            std::process::exit(0);
        }
        drop((orders_out, answers_in, data_in));
        let mut answers = BufReader::new(answers).lines();
        let mut line = || answers.next().expect("an answer").expect("a line");
        let (address, cookie, ordinary) = (line(), line(), line());
        Helper {
            orders,
            answers,
            data,
            ring,
            address,
            cookie: cookie.parse().expect("a cookie"),
            ordinary: ordinary.parse().expect("a cookie"),
        }
    }

    pub fn peer(&self) -> Peer {
        connect(&self.address)
    }

    pub fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("a process");
    }

    /// Waits until an order is carried out.
    pub fn done(&mut self) {
        self.answers.next().expect("an answer").expect("a line");
    }

    pub fn by_ring(&mut self, into: &mut [u8]) {
        self.tell(&format!("ring {}", into.len()));
        self.ring.take(into);
    }

    pub fn by_pipe(&mut self, into: &mut [u8]) {
        self.tell(&format!("pipe {}", into.len()));
        self.data.read_exact(into).expect("bytes");
    }
}

fn serve(ends: Ends, bytes: usize) {
    let memory = SharedMemory::create(bytes).expect("memory");
    let ones = vec![1; bytes];
    memory.write(0, &ones);
    let whole = Segment {
        addr: memory.addr(),
        len: bytes,
    };
    let layout = Layout::new([whole]).expect("a segment");
    let owner = Owner::create(Allowed::SameUser).expect("an owner");
    let declared = Declaration::shared(&memory, layout, Access::Read).expect("inside");
    let cookie = owner.declare(declared).expect("a cookie");
    let mut answers = &ends.answers;
    let layout = Layout::new([Segment::of(&ones)]).expect("a segment");
    // SAFETY: peers only read it, and it lives as long as the process.
    let declared = unsafe { Declaration::live(layout, Access::Read) }.expect("memory");
    let ordinary = owner.declare(declared).expect("a cookie");
    let address = owner.address().display();
    writeln!(answers, "{address}\n{cookie}\n{ordinary}").expect("a reader");
    let mut peers: HashMap<String, Peer> = HashMap::new();
    let mut buffer = vec![1; bytes];
    for order in BufReader::new(ends.orders).lines().map_while(Result::ok) {
        let words: Vec<&str> = order.split(' ').collect();
        let len: usize = words.last().and_then(|n| n.parse().ok()).expect("a length");
        match words[..] {
            ["ring", _] => ends.ring.put(&ones[..len]),
            ["pipe", _] => (&ends.data).write_all(&ones[..len]).expect("a reader"),
            ["read", address, cookie, transport, _] => {
                let peer = peers
                    .entry(address.to_owned())
                    .or_insert_with(|| connect(address));
                peer.use_only(Some(match transport {
                    "Direct" => Transport::Direct,
                    "Mapped" => Transport::Mapped,
                    _ => Transport::Ring,
                }));
                let cookie = cookie.parse().expect("a cookie");
                peer.read(cookie, 0, &mut buffer[..len])
                    .expect("a read")
                    .may_be_torn();
                writeln!(answers, "done").expect("a reader");
            }
            _ => panic!("{order}: ring, pipe or read"),
        }
    }
}
