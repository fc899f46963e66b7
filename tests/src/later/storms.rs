//! Stores that come as early and in as much disorder as they can.

use super::{CHUNKS, Check, Scene, os, text};
use crate::child::DEADLINE;
use crate::name;
use crate::oracle::ensure;
use crate::pattern::mix;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, Status};
use tcasm_producer::{CaptureMode, Producer, Receipt};

const THREADS: usize = 3;

/// Write `value` to the first, a middle and the last byte of all pages: by several threads, each in an order of its own.
pub(super) fn store_all(bytes: &mut [u8], value: u8) {
    let mut shares: [Vec<(u64, &mut [u8])>; THREADS] = Default::default();
    for (number, page) in bytes.chunks_exact_mut(page_size()).enumerate() {
        let order = mix(value.into(), number as u64, 3);
        shares[order as usize % THREADS].push((order, page));
    }
    std::thread::scope(|scope| {
        for mut share in shares {
            scope.spawn(move || {
                share.sort_unstable_by_key(|(order, _)| *order);
                for (_, page) in share {
                    for at in [page.len() - 1, 0, page.len() / 2] {
                        page[at] = value;
                    }
                }
            });
        }
    });
}

/// All pages are written by all threads, in no order, as soon as publish returns.
pub fn stores_come_at_once() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    for round in 2..14u8 {
        scene.fill(round)?;
        let published = scene.publish()?;
        scene.all_later(&published)?;
        store_all(scene.bytes()?, 100 + round);
        scene.shows(&published, round)?;
    }
    scene.stores_came_early()
}

/// The same where the kernel gives no huge pages.
pub fn without_huge_pages() -> Check {
    // SAFETY: takes integers.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } != 0 {
        return os("PR_SET_THP_DISABLE");
    }
    stores_come_at_once()
}

/// Most pages were never written when the chunks are protected: first stores to them wait as well.
pub fn pages_come_into_being() -> Check {
    let mut scene = Scene::new()?;
    let touch = |bytes: &mut [u8], value: u8| {
        let chunks = bytes.chunks_mut(CHUNK_PAGES * page_size());
        chunks.for_each(|chunk| chunk[..page_size()].fill(value));
    };
    for round in 1..3u8 {
        touch(scene.bytes()?, round);
        let published = scene.publish()?;
        if round == 2 {
            scene.all_later(&published)?;
            store_all(scene.bytes()?, 100);
        }
        let value = |page| if page % CHUNK_PAGES == 0 { round } else { 0 };
        scene.shows_bytes(&published, value)?;
    }
    scene.stores_came_early()
}

/// What the handler writes to: page after page, the number of its call.
static MEMORY: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
static CALLS: AtomicU64 = AtomicU64::new(0);
const PAGES: u64 = (CHUNKS * CHUNK_PAGES) as u64;

extern "C" fn handler(_: i32) {
    let call = CALLS.load(Ordering::Relaxed) + 1;
    // Far apart, so that each call meets another chunk.
    let page = call * 1031 % PAGES;
    let memory = MEMORY.load(Ordering::Relaxed);
    // SAFETY: live memory of so many pages, which stays; nothing is borrowed from it while signals are let in.
    unsafe {
        memory
            .add(page as usize * page_size() / 8)
            .write_volatile(call)
    };
    CALLS.store(call, Ordering::Relaxed);
}

/// A signal handler stores 5000 times a second, but for the calls of publish, during which nobody may.
pub fn a_signal_handler_stores() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(0)?;
    MEMORY.store(scene.bytes()?.as_mut_ptr().cast(), Ordering::Relaxed);
    let alarms = SigSet::from(Signal::SIGALRM);
    let block = |how| sigprocmask(how, Some(&alarms), None).map_err(text);
    // SAFETY: the handler stores to atomics and to the memory that was set up for it, and nothing else.
    unsafe { libc::signal(libc::SIGALRM, handler as *const () as usize) };
    every(200)?;
    let mut stamps = vec![0u64; PAGES as usize];
    let mut counted = 0;
    for _ in 0..25 {
        block(SigmaskHow::SIG_BLOCK)?;
        let published = scene.publish()?;
        let calls = CALLS.load(Ordering::Relaxed);
        block(SigmaskHow::SIG_UNBLOCK)?;
        for call in counted + 1..=calls {
            stamps[(call * 1031 % PAGES) as usize] = call;
        }
        counted = calls;
        let visible = published.wait_visible(DEADLINE).map_err(text)?;
        ensure(visible, || "not visible".to_owned())?;
        let version = scene.observer.latest().map_err(text)?;
        let mut found = vec![0u8; PAGES as usize * page_size()];
        version.read_bytes("a", 0, &mut found).map_err(text)?;
        let words = found
            .chunks(page_size())
            .map(|page| u64::from_ne_bytes(page[..8].try_into().expect("8 bytes")));
        let wrong = words
            .zip(&stamps)
            .position(|(found, wanted)| found != *wanted);
        ensure(wrong.is_none(), || {
            format!(
                "page {wrong:?} of version {} is not of call {calls}",
                version.number()
            )
        })?;
    }
    every(0)?;
    ensure(counted > 100, || format!("{counted} signals only"))?;
    scene.stores_came_early()
}

/// SIGALRM every so many microseconds; 0: no more.
fn every(us: libc::suseconds_t) -> Check {
    let time = libc::timeval {
        tv_sec: 0,
        tv_usec: us,
    };
    let timer = libc::itimerval {
        it_interval: time,
        it_value: time,
    };
    // SAFETY: a valid timer, and no place for the old one.
    match unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => os("setitimer"),
    }
}

/// Two buffers that are bound in turn; the one that was just published is written at once. They end in the middle of chunks.
pub fn buffers_swap() -> Check {
    let name = name("swaps");
    let bytes = 7 * CHUNK_PAGES * page_size() / 2;
    let builder = Producer::builder(&name).capacity(3 * bytes).copiers(1);
    let builder = builder.capture(CaptureMode::Later).copier_nice(19);
    let mut producer = builder.create().map_err(text)?;
    let field = producer.field::<u8, _>("a", [bytes]).add().map_err(text)?;
    let mut next = producer.buffer_like(field).map_err(text)?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    let mut later = 0;
    for step in 1..30u8 {
        producer.view_mut(next).map_err(text)?.fill(step);
        next = producer.bind(field, next).map_err(text)?;
        let Receipt::Published(published) = producer.publish(0, 0.0).map_err(text)? else {
            return Err("skipped".to_owned());
        };
        later += published.later;
        // The old buffer, which is the next one, and the new one as well.
        let mut view = producer.view_mut(next).map_err(text)?;
        store_all(view.as_slice_mut().ok_or("one piece")?, 200);
        let mut view = producer.view_mut(field).map_err(text)?;
        store_all(view.as_slice_mut().ok_or("one piece")?, 201);
        ensure(published.wait_visible(DEADLINE).map_err(text)?, || {
            "not visible".to_owned()
        })?;
        let version = observer.latest().map_err(text)?;
        let mut found = vec![0; bytes];
        version.read_bytes("a", 0, &mut found).map_err(text)?;
        let wrong = found.iter().position(|b| *b != step);
        ensure(wrong.is_none() && version.number() == step.into(), || {
            format!(
                "step {step}: byte {wrong:?} of version {}",
                version.number()
            )
        })?;
    }
    ensure(later > 0, || "nothing was captured later".to_owned())
}

/// This process's threads that capture.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks
        .flatten()
        .flat_map(|t| std::fs::read_to_string(t.path().join("comm")));
    names.filter(|name| name.starts_with("tcasm-")).count()
}

/// The producer is closed, or dropped, while a capture goes on: the version is there, and no thread is left.
pub fn the_producer_ends() -> Check {
    for round in 0..6 {
        let mut scene = Scene::new()?;
        scene.begin()?;
        scene.fill(2)?;
        let published = scene.publish()?;
        scene.all_later(&published)?;
        let (mut observer, start) = (scene.observer, Instant::now());
        match round % 2 {
            0 => drop(scene.producer),
            _ => {
                scene.producer.close();
                ensure(published.is_visible(), || {
                    "closed, and not visible".to_owned()
                })?;
            }
        }
        ensure(start.elapsed() < Duration::from_secs(20), || {
            "it took long".to_owned()
        })?;
        ensure(published.is_visible(), || "not visible".to_owned())?;
        ensure(matches!(observer.status(), Ok(Status::EndOfStream)), || {
            "no end".to_owned()
        })?;
        let version = observer.latest().map_err(text)?;
        let mut found = vec![0; CHUNKS * CHUNK_PAGES * page_size()];
        version.read_bytes("a", 0, &mut found).map_err(text)?;
        ensure(
            version.number() == 2 && found.iter().all(|b| *b == 2),
            || format!("version {} is not whole", version.number()),
        )?;
    }
    ensure(threads() == 0, || format!("{} threads are left", threads()))
}
