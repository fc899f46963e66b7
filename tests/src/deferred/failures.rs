//! Threads that panic and memory that runs out during a deferred capture.

use super::kernel;
use super::scene::{CHUNKS, Scene, text};
use super::storms::store_all;
use crate::check::Check;
use crate::child::DEADLINE;
use crate::oracle::ensure;
use nix::sys::signal::{Signal, kill};
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::fault::run_out_of_memory_after;

/// Checks the case in which a thread panics while the program stores nothing. The environment
/// variable `TCASM_FAULT` names the point at which it panics.
pub fn panic_of_a_thread_gives_the_version_up() -> Check {
    panics(false)
}

/// Checks the same while stores wait at many chunks and a forked child has copies of all
/// descriptors.
pub fn panic_while_stores_wait_gives_the_version_up() -> Check {
    panics(true)
}

/// Checks that the version is given up and that waiters learn of it. Later versions must be whole,
/// and captured inside `publish`.
fn panics(stores: bool) -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    let bystander = kernel::child(true)?;
    let (mut given_up, mut newest, mut deferred) = (0, (1, 1), 0);
    for round in 2..40u8 {
        scene.fill(round)?;
        let published = scene.publish()?;
        deferred = published.deferred;
        if given_up != 0 {
            ensure(published.deferred == 0, || {
                format!("{published:?} after a panic")
            })?;
        }
        if stores {
            store_all(scene.bytes()?, 100 + round);
        }
        match published.wait_visible(DEADLINE) {
            Ok(true) => newest = (published.version, round),
            Ok(false) => return Err(format!("version {} hangs", published.version)),
            Err(error) => {
                given_up += 1;
                ensure(
                    !published.is_visible() && error.version == published.version,
                    || error.to_string(),
                )?;
            }
        }
        scene.newest_is(newest.0, |_| newest.1)?;
        if given_up != 0 && round > 10 {
            break;
        }
    }
    let stats = scene.producer.stats();
    let _ = kill(bystander, Signal::SIGKILL);
    // The fault thread may have died over a store to a version that was whole by then. That version
    // stays.
    let may_be_none = std::env::var("TCASM_FAULT").is_ok_and(|f| f.starts_with("panic@early"));
    let right = given_up == 1 || (given_up == 0 && may_be_none && deferred == 0);
    ensure(right && stats.given_up == given_up, || {
        format!(
            "{given_up} versions were given up, {} are counted, {deferred} pages are deferred",
            stats.given_up
        )
    })?;
    let whole = scene.producer.check_store().map_err(text)?;
    ensure(whole, || {
        "busy frames are not those that versions refer to".to_owned()
    })
}

/// Checks that a version is given up when memory runs out half-way through its deferred capture.
pub fn out_of_memory_gives_the_version_up() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(2)?;
    run_out_of_memory_after(CHUNKS as u64 / 2);
    let published = scene.publish()?;
    scene.all_deferred(&published)?;
    store_all(scene.bytes()?, 3);
    let outcome = published.wait_visible(DEADLINE);
    run_out_of_memory_after(u64::MAX);
    ensure(outcome.is_err(), || format!("{outcome:?}"))?;
    scene.newest_is(1, |_| 1)?;
    scene.bytes()?[..page_size()].fill(4);
    scene.bytes()?[page_size()..].fill(5);
    for version in 3..6 {
        let published = scene.publish()?;
        ensure(published.version == version, || format!("{published:?}"))?;
        // The gate did not fail, only memory ran out. So capture is deferred again.
        scene.all_deferred(&published)?;
        scene.shows_bytes(&published, |page| if page == 0 { 4 } else { 5 })?;
    }
    let stats = scene.producer.stats();
    ensure(stats.given_up == 1, || {
        format!("{} given up", stats.given_up)
    })?;
    let whole = scene.producer.check_store().map_err(text)?;
    ensure(whole, || {
        "busy frames are not those that versions refer to".to_owned()
    })
}
