//! Deferred captures of an ordinary user, who cannot make system calls wait at protected memory.
//! They take a program that promises that no system call writes into its fields meanwhile.

use super::kernel::{by_own_writev, by_pread, by_read, by_recv};
use super::scene::{CHUNKS, Scene, text};
use super::storms::storm;
use crate::check::Check;
use crate::child::DEADLINE;
use crate::oracle::ensure;
use crate::user::become_ordinary;
use std::io::{Read, Write, pipe};
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::fault::{Held, hold_copiers};
use tcasm_producer::{Builder, CaptureMode, Published};

fn promised(builder: Builder) -> Builder {
    builder.no_kernel_writes(true)
}

/// Checks versions of an ordinary user whose pages are all overwritten as soon as `publish`
/// returns.
pub fn stores_of_an_ordinary_user_do_not_reach_the_version() -> Check {
    become_ordinary()?;
    let mut scene = Scene::with(CHUNKS, promised)?;
    storm(&mut scene)?;
    let stats = scene.producer.stats();
    let counted = (stats.user_mode_only, stats.chunks_deferred as usize);
    ensure(stats.deferred > 0 && counted == (true, CHUNKS), || {
        format!("user mode only, deferred chunks: {counted:?}")
    })
}

/// Checks that captures of an ordinary user are deferred if the program promises, and inline
/// otherwise. To insist on deferred captures without the promise must be an error.
pub fn captures_of_an_ordinary_user_are_deferred_only_with_the_promise() -> Check {
    become_ordinary()?;
    for promises in [false, true] {
        let settings = |b: Builder| b.capture(CaptureMode::Auto).no_kernel_writes(promises);
        let mut scene = Scene::with(CHUNKS, settings)?;
        for step in 1..8 {
            scene.fill(step)?;
            let published = scene.publish()?;
            scene.shows(&published, step)?;
        }
        let stats = scene.producer.stats();
        let found = (stats.user_mode_only, stats.deferred > 0);
        ensure(found == (promises, promises), || {
            format!("promised: {promises}; user mode only, some deferred: {found:?}")
        })?;
    }
    match Scene::new() {
        Err(why) if why.contains("no_kernel_writes()") => Ok(()),
        Err(why) => Err(format!("the error does not name the promise: {why}")),
        Ok(_) => Err("deferred capture was granted without the promise".to_owned()),
    }
}

/// Publishes a version with all bytes 2 whose capture is deferred as a whole, and holds the
/// copiers.
fn publish_and_hold(scene: &mut Scene) -> Result<(Published, Held), String> {
    scene.begin()?;
    scene.fill(2)?;
    let held = hold_copiers();
    let published = scene.publish()?;
    scene.all_deferred(&published)?;
    Ok((published, held))
}

/// Checks that system calls that write into a protected chunk fail and change nothing, neither live
/// memory nor the version nor what they would have read. They must succeed after `wait_captured`.
pub fn broken_promise_is_an_error_of_the_system_call() -> Check {
    become_ordinary()?;
    let mut scene = Scene::with(CHUNKS, promised)?;
    let (published, held) = publish_and_hold(&mut scene)?;
    let (mut reader, mut writer) = pipe().map_err(text)?;
    writer.write_all(&vec![3; page_size()]).map_err(text)?;
    let page = &mut scene.bytes()?[..page_size()];
    fails("read", by_read(page, 9))?;
    fails("pread", by_pread(page, 9))?;
    fails("recv", by_recv(page, 9))?;
    fails("process_vm_writev", by_own_writev(page, 9))?;
    fails("read of a pipe", reader.read_exact(page).map_err(text))?;
    ensure(page.iter().all(|byte| *byte == 2), || {
        "a call that failed has changed live memory".to_owned()
    })?;
    ensure(!scene.producer.wait_captured(Duration::ZERO), || {
        "the copiers were not held".to_owned()
    })?;
    drop(held);
    ensure(scene.producer.wait_captured(DEADLINE), || {
        "the capture does not end".to_owned()
    })?;
    let page = &mut scene.bytes()?[..page_size()];
    reader.read_exact(page).map_err(text)?;
    scene.shows(&published, 2)?;
    let published = scene.publish()?;
    scene.shows_bytes(&published, |page| if page == 0 { 3 } else { 2 })
}

/// Checks that a call has failed with EFAULT.
fn fails(what: &str, done: Check) -> Check {
    let error = format!("(os error {})", libc::EFAULT);
    let failed = matches!(&done, Err(why) if why.contains(&error));
    ensure(failed, || {
        format!("{what} into a protected chunk: {done:?}")
    })
}

/// Checks that system calls wait at protected chunks where the user can have that, in spite of the
/// promise.
pub fn broken_promise_has_no_effect_where_system_calls_wait() -> Check {
    let mut scene = Scene::with(CHUNKS, promised)?;
    let (published, held) = publish_and_hold(&mut scene)?;
    ensure(!scene.producer.stats().user_mode_only, || {
        "user mode only".to_owned()
    })?;
    by_read(&mut scene.bytes()?[..page_size()], 3)?;
    ensure(!scene.producer.wait_captured(Duration::ZERO), || {
        "the copiers were not held".to_owned()
    })?;
    drop(held);
    scene.shows(&published, 2)?;
    let published = scene.publish()?;
    scene.shows_bytes(&published, |page| if page == 0 { 3 } else { 2 })?;
    scene.stores_came_early()
}

/// Checks that `wait_captured` ends although the copiers do not run. Without a capture it must not
/// wait.
pub fn wait_captured_needs_no_copier() -> Check {
    let mut scene = Scene::with(CHUNKS, promised)?;
    let at_once = |scene: &Scene| {
        ensure(scene.producer.wait_captured(Duration::ZERO), || {
            "it waits although nothing is captured".to_owned()
        })
    };
    at_once(&scene)?;
    let (published, held) = publish_and_hold(&mut scene)?;
    ensure(scene.producer.wait_captured(DEADLINE), || {
        "the capture does not end".to_owned()
    })?;
    at_once(&scene)?;
    ensure(published.is_visible(), || "not visible".to_owned())?;
    drop(held);
    scene.shows(&published, 2)
}
