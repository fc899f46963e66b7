//! Stores that come as early as they can, in random order.

use super::scene::{CHUNKS, Scene, os, text};
use crate::check::Check;
use crate::child::{DEADLINE, poll_until};
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

/// Writes `value` to the first, a middle and the last byte of all pages. Several threads do this,
/// each in a random order.
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

/// Checks versions whose pages are all overwritten by all threads, in random order, as soon as
/// `publish` returns.
pub fn stores_right_after_publish_do_not_reach_the_version() -> Check {
    storm(&mut Scene::new()?)
}

/// Does the same with the producer of `scene`.
pub(super) fn storm(scene: &mut Scene) -> Check {
    scene.begin()?;
    for round in 2..14u8 {
        scene.fill(round)?;
        let published = scene.publish()?;
        scene.all_deferred(&published)?;
        store_all(scene.bytes()?, 100 + round);
        scene.shows(&published, round)?;
    }
    scene.stores_came_early()
}

/// Runs the same scenario where the kernel gives no huge pages.
pub fn early_stores_without_huge_pages() -> Check {
    // SAFETY: takes integers.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } != 0 {
        return os("PR_SET_THP_DISABLE");
    }
    stores_right_after_publish_do_not_reach_the_version()
}

/// Checks that stores to pages that were never written also wait when their chunk is protected.
pub fn first_stores_to_untouched_pages_wait() -> Check {
    let mut scene = Scene::new()?;
    let touch = |bytes: &mut [u8], value: u8| {
        let chunks = bytes.chunks_mut(CHUNK_PAGES * page_size());
        chunks.for_each(|chunk| chunk[..page_size()].fill(value));
    };
    for round in 1..3u8 {
        touch(scene.bytes()?, round);
        let published = scene.publish()?;
        if round == 2 {
            scene.all_deferred(&published)?;
            store_all(scene.bytes()?, 100);
        }
        let value = |page| if page % CHUNK_PAGES == 0 { round } else { 0 };
        scene.shows_bytes(&published, value)?;
    }
    scene.stores_came_early()
}

/// The memory that the signal handler writes to. It writes the number of its call to one page per
/// call.
static MEMORY: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
static CALLS: AtomicU64 = AtomicU64::new(0);
const PAGES: u64 = (CHUNKS * CHUNK_PAGES) as u64;

extern "C" fn handler(_: i32) {
    let call = CALLS.load(Ordering::Relaxed) + 1;
    // Consecutive calls write pages that are far apart, so that each meets another chunk.
    let page = call * 1031 % PAGES;
    let memory = MEMORY.load(Ordering::Relaxed);
    // SAFETY: `memory` is live memory of `PAGES` pages, which stays mapped. Nothing borrows from it
    // while the signal is not blocked.
    unsafe {
        memory
            .add(page as usize * page_size() / 8)
            .write_volatile(call)
    };
    CALLS.store(call, Ordering::Relaxed);
}

/// Checks versions while a signal handler stores 5000 times a second. The signal is blocked during
/// `publish`, when no store is allowed.
pub fn stores_of_a_signal_handler_do_not_reach_the_version() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(0)?;
    MEMORY.store(scene.bytes()?.as_mut_ptr().cast(), Ordering::Relaxed);
    let alarms = SigSet::from(Signal::SIGALRM);
    let block = |how| sigprocmask(how, Some(&alarms), None).map_err(text);
    // SAFETY: the handler only stores to atomics and to the memory that was set up for it.
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

/// Requests a SIGALRM every `us` microseconds, or no more if `us` is 0.
fn every(us: libc::suseconds_t) -> Check {
    let time = libc::timeval {
        tv_sec: 0,
        tv_usec: us,
    };
    let timer = libc::itimerval {
        it_interval: time,
        it_value: time,
    };
    // SAFETY: the timer is valid, and a null pointer for the old timer is allowed.
    match unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => os("setitimer"),
    }
}

/// Checks two buffers that are bound in turn, each written right after it was published. The
/// buffers end in the middle of chunks.
pub fn swapped_buffers_can_be_written_during_capture() -> Check {
    let name = name("swaps");
    let bytes = 7 * CHUNK_PAGES * page_size() / 2;
    let builder = Producer::builder(&name).capacity(3 * bytes).copiers(1);
    let builder = builder.capture(CaptureMode::Deferred).copier_nice(19);
    let mut producer = builder.create().map_err(text)?;
    let field = producer.field::<u8, _>("a", [bytes]).add().map_err(text)?;
    let mut next = producer.buffer_like(field).map_err(text)?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    let mut deferred = 0;
    for step in 1..30u8 {
        producer.view_mut(next).map_err(text)?.fill(step);
        next = producer.bind(field, next).map_err(text)?;
        let Receipt::Published(published) = producer.publish(0, 0.0).map_err(text)? else {
            return Err("skipped".to_owned());
        };
        deferred += published.deferred;
        // The old buffer, which is bound next, and the one that is bound now.
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
    ensure(deferred > 0, || "nothing was deferred".to_owned())
}

/// Returns the number of threads of this process that capture.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks
        .flatten()
        .flat_map(|t| std::fs::read_to_string(t.path().join("comm")));
    names.filter(|name| name.starts_with("tcasm-")).count()
}

/// Checks that a version becomes visible when the producer is closed or dropped during its capture,
/// and that no thread is left.
pub fn close_and_drop_complete_the_capture() -> Check {
    for round in 0..6 {
        let mut scene = Scene::new()?;
        scene.begin()?;
        scene.fill(2)?;
        let published = scene.publish()?;
        scene.all_deferred(&published)?;
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
            "the end took more than 20 s".to_owned()
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
    // A thread that was joined may be listed a moment longer.
    poll_until("no thread is left", || (threads() == 0).then_some(()));
    Ok(())
}
