//! Threads that get memory of an allocator and give it back, with a registrar that keeps pages as a
//! device does. A pipe has references to the pages of each registration (`vmsplice`), so reading
//! from it tells what a device would read. A hit is stale if that is not what the program wrote.

use super::{must_end_within, pages};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, tee, vmsplice};
use nix::unistd::{pipe2, read};
use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tcasm_registration::{Following, Limits, Memory, RegisterError, Registrar, RegistrationCache};

/// The largest part of a block that is registered.
const MOST: usize = 400_000;
const SIZES: [usize; 7] = [
    3000, 20_000, 140_000, 300_000, 600_000, 1_500_000, 5_000_000,
];
const THREADS: u64 = 4;
const BLOCKS: usize = 24;

/// A pipe with room for the memory of a registration.
#[derive(Debug)]
pub struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    fn new(len: usize) -> nix::Result<Self> {
        let (out, into) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        fcntl(&into, FcntlArg::F_SETPIPE_SZ(len.try_into().unwrap()))?;
        Ok(Pipe { out, into })
    }

    /// Refers to the pages of the range.
    fn hold(&self, range: &Range<usize>) -> nix::Result<()> {
        let mut at = range.start;
        while at < range.end {
            // SAFETY: the kernel checks that the memory is mapped. The slice goes nowhere else.
            let rest = unsafe { std::slice::from_raw_parts(at as *const u8, range.end - at) };
            at += vmsplice(&self.into, &[IoSlice::new(rest)], SpliceFFlags::empty())?;
        }
        Ok(())
    }

    /// Returns the bytes up to `len`, and leaves the pages in the pipe.
    fn look(&self, len: usize) -> Vec<u8> {
        let copy = Pipe::new(len).unwrap();
        let (mut bytes, mut got) = (vec![0; len], 0);
        let found = tee(&self.out, &copy.into, len, SpliceFFlags::empty()).unwrap();
        assert!(found >= len, "{found} of {len} bytes are held");
        while got < len {
            got += read(&copy.out, &mut bytes[got..]).unwrap();
        }
        bytes
    }
}

/// Keeps the pages of registered memory in pipes.
#[derive(Debug)]
struct Holding;

impl Registrar for Holding {
    type Handle = Pipe;

    fn register(&self, range: &Range<usize>) -> Result<Pipe, RegisterError> {
        let held = Pipe::new(range.len()).and_then(|pipe| pipe.hold(range).map(|()| pipe));
        held.map_err(|error: Errno| RegisterError::Refused {
            addr: range.start,
            len: range.len(),
            how: "vmsplice",
            source: error.into(),
        })
    }

    fn deregister(&self, _range: &Range<usize>, _pipe: &Pipe, _memory: Memory) {}
}

/// The blocks that threads share, and what was seen.
struct Churn {
    cache: RegistrationCache<Holding>,
    blocks: [Mutex<Vec<u8>>; BLOCKS],
    end: Instant,
    stop: AtomicBool,
    checks: AtomicUsize,
    stale: AtomicUsize,
}

impl Churn {
    fn run(following: Following, time: Duration, until_stale: bool) -> Self {
        let builder = RegistrationCache::builder(Holding).following(following);
        let churn = Churn {
            cache: builder
                .limits(Limits::keep_at_most(100, 64 << 20))
                .build()
                .unwrap(),
            blocks: Default::default(),
            end: Instant::now() + time,
            stop: AtomicBool::new(false),
            checks: AtomicUsize::new(0),
            stale: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            for seed in 1..=THREADS {
                let churn = &churn;
                scope.spawn(move || churn.thread(seed, until_stale));
            }
        });
        churn
    }

    fn thread(&self, seed: u64, until_stale: bool) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        };
        while Instant::now() < self.end && !self.stop.load(Ordering::Relaxed) {
            let mut block = self.blocks[random(BLOCKS)].lock().unwrap();
            change(&mut block, &mut random);
            if !block.is_empty() {
                self.use_block(&mut block, &mut random);
            }
            if until_stale && self.stale.load(Ordering::Relaxed) > 0 {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Registers a part of the block, writes to it, and compares what a device would read.
    fn use_block(&self, block: &mut [u8], random: &mut impl FnMut(usize) -> usize) {
        let start = random(block.len());
        let len = (block.len() - start).min(MOST);
        let part = &mut block[start..start + len];
        // Never fails: the block stays allocated, whatever happens to memory beside it.
        let got = self.cache.get(part.as_ptr() as usize, len).unwrap();
        let (at, value) = (random(len), random(255) as u8);
        part[at] = value ^ 0x80;
        let address = std::hint::black_box(&raw mut part[at]) as usize;
        let offset = address - got.range().start;
        self.checks.fetch_add(1, Ordering::Relaxed);
        let seen = got.handle().look(offset + 1);
        if seen[offset] != value ^ 0x80 {
            self.stale.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Frees, allocates, or reallocates a block, and stores to each of its pages.
fn change(block: &mut Vec<u8>, random: &mut impl FnMut(usize) -> usize) {
    let size = SIZES[random(SIZES.len())];
    let size = size / 2 + random(size);
    match random(6) {
        0 => *block = Vec::new(),
        1 | 2 => {
            *block = Vec::new();
            *block = Vec::with_capacity(size);
        }
        3 => {
            block.truncate(size);
            block.shrink_to_fit();
        }
        4 => block.reserve_exact(size.saturating_sub(block.len())),
        _ => return,
    }
    let size = block.capacity();
    block.resize(size, 0);
    block
        .iter_mut()
        .step_by(pages(1))
        .for_each(|byte| *byte = 1);
}

/// The seconds of the test, which `ci/soak.sh` sets.
fn seconds() -> u64 {
    let set = std::env::var("TCASM_SOAK_SECONDS").ok();
    set.map_or(3, |s| s.parse().expect("TCASM_SOAK_SECONDS is a number"))
}

/// Checks that the memory of this program's allocator is never hit after it was given back.
pub fn sees_no_stale_hit() {
    let time = Duration::from_secs(seconds());
    must_end_within(time + Duration::from_secs(60), move || {
        let churn = Churn::run(Following::Kernel, time, false);
        let (stats, checks) = (churn.cache.stats(), churn.checks.into_inner());
        println!("{checks} checks, {stats:?}");
        assert_eq!(
            churn.stale.into_inner(),
            0,
            "stale hits of {checks}: {stats:?}"
        );
        let used = stats.hits > 0 && stats.misses > 0 && stats.invalidated > 0;
        assert!(used, "nothing was tested: {stats:?}");
    });
}

/// Checks that the same threads see stale hits if the cache does not follow the memory.
pub fn sees_stale_hits_without_following() {
    let most = Duration::from_secs(60);
    must_end_within(2 * most, move || {
        let churn = Churn::run(Following::ByHand, most, true);
        let stale = churn.stale.into_inner();
        assert!(
            stale > 0,
            "the other test could not see one: {:?}",
            churn.cache.stats()
        );
    });
}
