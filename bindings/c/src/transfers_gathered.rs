//! Versions of memory in pieces.

use crate::border::{Count, List, Out, Text, gathered_from};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::status::{Failure, TCASM_SKIPPED};
use crate::transfers::{Owner, layout_of, stored, tcasm_cookie, tcasm_segment};
use crate::waiting::Turns;
use std::ffi::c_int;

/// Memory in pieces that is published as versions.
pub struct Gathered(Turns<tcasm_transfer::Gathered>);
object!(Gathered, "gathered memory", 22);

/// Creates the region `name` with one field, `bytes`, which has the bytes of `count` pieces of
/// memory, one after another, and publishes their first version. Peers read the newest one by the
/// cookie, and observers attach to the region. `tcasm_gathered_free` ends it.
///
/// The pieces must stay mapped until then, and no other thread may write them during this call and
/// `tcasm_gathered_publish`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_gathered_new(
    owner: Handle<Owner>,
    name: Text,
    segments: List<tcasm_segment>,
    count: Count,
    gathered: Out<Handle<Gathered>>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the region")?;
        let layout = layout_of(&segments, &count)?;
        let owner = owner.get()?;
        give(&gathered, || {
            let made = gathered_from(&owner.inner, name, layout)?;
            Ok(Gathered(Turns::new(made)))
        })
    })
}

/// Publishes the present bytes of the pieces as the next version, of simulation step `step` and
/// time `time`: pages that differ from the version before are copied. Returns `TCASM_SKIPPED` if
/// there is no room. Then peers read the version before.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_gathered_publish(
    gathered: Handle<Gathered>,
    step: u64,
    time: f64,
) -> c_int {
    call(|| {
        let receipt = gathered
            .get()?
            .0
            .with(|g| g.publish(step, time).map_err(Failure::from))??;
        match receipt.skipped() {
            None => Ok(()),
            Some(reason) => Err(Failure::new(TCASM_SKIPPED, reason.to_string())),
        }
    })
}

/// Stores the cookie by which peers read the newest version.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_gathered_cookie(
    gathered: Handle<Gathered>,
    cookie: Out<tcasm_cookie>,
) -> c_int {
    call(|| {
        cookie.set(stored(gathered.get()?.0.with(|g| g.cookie())?));
        Ok(())
    })
}

/// Ends the region and its cookie. Peers and observers keep the versions that they read.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_gathered_free(gathered: Handle<Gathered>) -> c_int {
    call(|| {
        gathered.remove()?.0.close();
        Ok(())
    })
}
