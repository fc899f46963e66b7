//! Measures transfers beside a ring of shared memory and a pipe: `cargo bench -p tcasm-transfer
//! [-- MIB]`, up to 256 MiB or MIB. Prints tables of medians in microseconds.
//!
//! Every time begins before a process asks for bytes of another one, and ends when all of them are
//! in its own buffer, which was touched before.

mod helper;
mod ring;

use helper::Helper;
use std::fmt::Display;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_transfer::{Cookie, Mapped, Peer, Transport};

const TRANSPORTS: [Transport; 3] = [Transport::Direct, Transport::Mapped, Transport::Ring];
/// The number of processes that receive the same bytes, or have operands of a reduction.
const HELPERS: usize = 8;
/// Each measurement lasts about as long, but has at least a few repetitions.
const TIME: Duration = Duration::from_millis(400);
const REPETITIONS: std::ops::Range<usize> = 9..2000;

fn main() {
    let given = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let most: usize = given.unwrap_or(256) << 20;
    // All processes are forked here, before this one has threads.
    let mut helpers: Vec<Helper> = vec![Helper::start(most)];
    helpers.extend((1..HELPERS).map(|_| Helper::start(most.min(64 << 20))));
    one_peer(&mut helpers[0], most);
    broadcast(&mut helpers, most.min(64 << 20));
    reduction(&helpers, most.min(64 << 20));
}

/// Prints a table of the times to read from one process.
fn one_peer(helper: &mut Helper, most: usize) {
    let mut peer = helper.peer();
    let mut bytes = vec![1; most];
    println!("\n| bytes | held | direct | shared, direct | mapped | ring | plain ring | pipe |");
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    for len in sizes(4 << 10, most) {
        let part = &mut bytes[..len];
        peer.use_only(Some(Transport::Direct));
        let mut hold = peer.hold(helper.ordinary, 0, len as u64).expect("a hold");
        let mut row = vec![match hold.len() == len as u64 {
            true => median(|| {
                hold.read(0, part).expect("a read").may_be_torn();
            }),
            false => "-".to_owned(),
        }];
        drop(hold);
        row.push(median(|| read(&mut peer, helper.ordinary, part)));
        for transport in TRANSPORTS {
            peer.use_only(Some(transport));
            row.push(median(|| {
                peer.read(helper.cookie, 0, part)
                    .expect("a read")
                    .may_be_torn();
            }));
        }
        row.push(median(|| helper.by_ring(part)));
        row.push(median(|| helper.by_pipe(part)));
        print_row(len, &row);
    }
}

/// Prints a table of the times until all helpers have read the bytes of the first.
fn broadcast(helpers: &mut [Helper], most: usize) {
    println!("\n| bytes to {HELPERS} peers | direct | mapped | ring |\n|--:|--:|--:|--:|");
    let (address, cookie) = (helpers[0].address.clone(), helpers[0].cookie);
    for len in sizes(64 << 10, most) {
        let row = TRANSPORTS.map(|transport| {
            median(|| {
                let line = format!("read {address} {cookie} {transport:?} {len}");
                helpers.iter_mut().for_each(|helper| helper.tell(&line));
                helpers.iter_mut().for_each(Helper::done);
            })
        });
        print_row(len, &row);
    }
}

/// Prints a table of the times to add the numbers of all helpers up.
fn reduction(helpers: &[Helper], most: usize) {
    let mut peers: Vec<Peer> = helpers.iter().map(Helper::peer).collect();
    let pairs = peers.iter_mut().zip(helpers);
    let maps = pairs.map(|(peer, helper)| peer.map(helper.cookie).expect("a mapping"));
    let maps: Vec<Mapped> = maps.collect();
    println!("\n| bytes of {HELPERS} operands | in place | direct | ring |\n|--:|--:|--:|--:|");
    for len in sizes(64 << 10, most) {
        let (mut sums, mut operand) = (vec![0u64; len / 8], vec![1u8; len]);
        let in_place = median(|| maps.iter().for_each(|map| add(&mut sums, in_map(map, len))));
        let copied = [Transport::Direct, Transport::Ring].map(|transport| {
            median(|| {
                for (peer, helper) in peers.iter_mut().zip(helpers) {
                    peer.use_only(Some(transport));
                    let read = peer.read(helper.cookie, 0, &mut operand).expect("a read");
                    add(&mut sums, read.may_be_torn());
                }
            })
        });
        black_box(&sums);
        print_row(len, &[&[in_place], &copied[..]].concat());
    }
}

fn read(peer: &mut Peer, cookie: Cookie, into: &mut [u8]) {
    peer.read(cookie, 0, into).expect("a read").may_be_torn();
}

fn in_map(map: &Mapped, len: usize) -> &[u8] {
    // SAFETY: no process writes the memory of helpers once they have started.
    let mut parts = unsafe { map.parts() };
    &parts.next().expect("one part")[..len]
}

fn add(sums: &mut [u64], bytes: &[u8]) {
    for (sum, eight) in sums.iter_mut().zip(bytes.as_chunks().0) {
        *sum = sum.wrapping_add(u64::from_le_bytes(*eight));
    }
}

fn sizes(first: usize, most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), |len| Some(len * 4)).take_while(move |len| *len <= most)
}

/// Returns the median of the times of a call, in microseconds.
fn median(mut call: impl FnMut()) -> String {
    call();
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < REPETITIONS.start || times.len() < REPETITIONS.end && begin.elapsed() < TIME
    {
        let start = Instant::now();
        call();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    format!("{:.1}", times[times.len() / 2].as_secs_f64() * 1e6)
}

fn print_row(len: usize, row: &[impl Display]) {
    let cells: Vec<String> = row.iter().map(|cell| format!("{cell} |")).collect();
    println!("| {} KiB | {}", len >> 10, cells.join(" "));
}

fn connect(address: &str) -> Peer {
    Peer::connect(Path::new(address)).expect("an owner")
}
