//! The observers of a region, as its producer sees them.

use crate::border::{Count, Fill, Out};
use crate::call::call;
use crate::handles::Handle;
use crate::observer::Observer;
use crate::producer::Producer;
use crate::status::Failure;
use std::collections::BTreeSet;
use std::ffi::c_int;

/// Stores the observers that are attached to the region, as its producer sees them: the process and
/// the user of each, and how many versions it pins, for as many as there is room for. `count` is
/// the number of all. Asks the producer, and waits for its answer for some seconds at most. There
/// are none if it does not answer, or is dead.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_observers(
    observer: Handle<Observer>,
    pids: Fill<u64>,
    uids: Fill<u64>,
    pins: Fill<usize>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let rows = observer.with(|o| o.observers())?;
        let pid: Vec<u64> = rows.iter().map(|row| row.pid).collect();
        let uid: Vec<u64> = rows.iter().map(|row| row.uid).collect();
        let pinned: Vec<usize> = rows.iter().map(|row| row.pinned.len()).collect();
        pids.set(&room, &pid, "the place for the processes")?;
        uids.set(&room, &uid, "the place for the users")?;
        count.set(pins.set(&room, &pinned, "the place for the numbers of versions")?);
        Ok(())
    })
}

/// Stores the numbers of the versions that observers of the process `pid` pin, ascending: as many
/// as there is room for. `count` is the number of all. Asks the producer as `tcasm_observers` does.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_pinned(
    observer: Handle<Observer>,
    pid: u64,
    versions: Fill<u64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let rows = observer.with(|o| o.observers())?;
        let rows = rows.into_iter().filter(|row| row.pid == pid);
        let numbers: BTreeSet<u64> = rows.flat_map(|row| row.pinned).collect();
        let numbers = Vec::from_iter(numbers);
        count.set(versions.set(&room, &numbers, "the place for the numbers")?);
        Ok(())
    })
}

/// Revokes the leases of all observers of the process `pid`, so that they get no more versions.
/// Versions that they hold stay as they are, and keep their memory until they let go. Stores how
/// many observers there were.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_revoke_observer(
    producer: Handle<Producer>,
    pid: u64,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let none = |_| Failure::argument(format!("{pid} is no number of a process"));
        let pid = i32::try_from(pid).map_err(none)?;
        count.set(producer.with(|p| Ok::<_, Failure>(p.revoke(pid)))?);
        Ok(())
    })
}
