//! Threads that die, and memory that runs out, while a capture goes on.

use super::storms::store_all;
use super::{CHUNKS, Check, Scene, kernel, text};
use crate::child::DEADLINE;
use crate::oracle::ensure;
use nix::sys::signal::{Signal, kill};
use tcasm_core::fault::run_out_of_memory_after;
use tcasm_core::sys::mem::page_size;

/// A thread panics at the point that the environment names, while nobody stores.
pub fn a_thread_panics() -> Check {
    panics(false)
}

/// The same while stores wait at many chunks, and a forked child has copies of all descriptors.
pub fn a_thread_panics_while_stores_wait() -> Check {
    panics(true)
}

/// The version is given up, and everybody is told; what is published afterwards is whole, and captured inside publish.
fn panics(stores: bool) -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    let bystander = kernel::child(true)?;
    let (mut given_up, mut newest, mut later) = (0, (1, 1), 0);
    for round in 2..40u8 {
        scene.fill(round)?;
        let published = scene.publish()?;
        later = published.later;
        if given_up != 0 {
            ensure(published.later == 0, || {
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
    // The fault thread may have died over a store to a version that was whole by then: that one stays.
    let may_be_none = std::env::var("TCASM_FAULT").is_ok_and(|f| f.starts_with("panic@early"));
    let right = given_up == 1 || (given_up == 0 && may_be_none && later == 0);
    ensure(right && stats.given_up == given_up, || {
        format!(
            "{given_up} versions were given up, {} are counted, {later} pages are captured later",
            stats.given_up
        )
    })?;
    let whole = scene.producer.check_store().map_err(text)?;
    ensure(whole, || {
        "busy slots are not those that versions refer to".to_owned()
    })
}

/// Memory runs out half-way through a later capture.
pub fn memory_runs_out() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(2)?;
    run_out_of_memory_after(CHUNKS as u64 / 2);
    let published = scene.publish()?;
    scene.all_later(&published)?;
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
        // The error was the machine's, and not of the gate.
        scene.all_later(&published)?;
        scene.shows_bytes(&published, |page| if page == 0 { 4 } else { 5 })?;
    }
    let stats = scene.producer.stats();
    ensure(stats.given_up == 1, || {
        format!("{} given up", stats.given_up)
    })?;
    let whole = scene.producer.check_store().map_err(text)?;
    ensure(whole, || {
        "busy slots are not those that versions refer to".to_owned()
    })
}
