//! Groups: regions of several ranks, of which observers see one step at a time.

use crate::attrs::Texts;
use crate::border::{Count, Fill, Out, Text};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::status::{Failure, TCASM_NOT_FOUND, TCASM_VERSION_GONE};
use crate::version::Version;
use crate::waiting::Turns;
use std::ffi::{c_char, c_int};
use tcasm_observer::GroupError;

/// An attachment to the regions of all ranks of a group on this host.
pub struct GroupObserver(Turns<tcasm_observer::GroupObserver>);
object!(GroupObserver, "group observer", 11);

/// One step of a group, pinned in all of its ranks.
pub struct GroupVersion {
    pub(crate) inner: tcasm_observer::GroupVersion,
    texts: Texts,
}
object!(GroupVersion, "group version", 12);

impl GroupVersion {
    fn new(inner: tcasm_observer::GroupVersion) -> Self {
        let texts = Texts::default();
        GroupVersion { inner, texts }
    }
}

/// Attaches to the ranks of a group on this host. `tcasm_group_detach` ends the attachment.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_attach(name: Text, group: Out<Handle<GroupObserver>>) -> c_int {
    call(|| {
        let name = name.get("the name of the group")?;
        give(&group, || {
            let attached = tcasm_observer::GroupObserver::attach(name)?;
            Ok(GroupObserver(Turns::new(attached)))
        })
    })
}

/// Ends an attachment to a group. Versions stay until they are released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_detach(group: Handle<GroupObserver>) -> c_int {
    call(|| {
        group.remove()?.0.close();
        Ok(())
    })
}

/// Stores the newest step that all ranks on this host have, pinned in all of them until
/// `tcasm_group_release`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_latest(
    group: Handle<GroupObserver>,
    version: Out<Handle<GroupVersion>>,
) -> c_int {
    call(|| {
        give(&version, || {
            Ok(GroupVersion::new(group.get()?.0.with(|g| g.latest())??))
        })
    })
}

/// Waits for a step that is newer than all that were returned, for up to `timeout` seconds, or for
/// ever if it is negative. Waits also for ranks that have no region yet, or begin another run.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_wait_newer(
    group: Handle<GroupObserver>,
    timeout: f64,
    version: Out<Handle<GroupVersion>>,
) -> c_int {
    call(|| {
        give(&version, || {
            let not_yet =
                |found: &Result<_, GroupError>| found.as_ref().is_err_and(GroupError::may_pass);
            let group = group.get()?;
            let found = group
                .0
                .wait(timeout, |g, slice| g.wait_newer(slice), not_yet)?;
            Ok(GroupVersion::new(found?))
        })
    })
}

/// Stores the steps that all ranks on this host have now, ascending: as many as there is room for.
/// `count` is the number of all.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_steps(
    group: Handle<GroupObserver>,
    steps: Fill<u64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let all = group.get()?.0.with(|g| g.steps())??.common;
        count.set(steps.set(&room, &all, "the place for the steps")?);
        Ok(())
    })
}

/// Stores a step, pinned in all ranks on this host, if all of them have it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_at(
    group: Handle<GroupObserver>,
    step: u64,
    version: Out<Handle<GroupVersion>>,
) -> c_int {
    call(|| {
        give(&version, || {
            let found = group.get()?.0.with(|g| g.version(step))??;
            let absent = || {
                let text = format!("not all ranks on this host have step {step}");
                Failure::new(TCASM_VERSION_GONE, text)
            };
            Ok(GroupVersion::new(found.ok_or_else(absent)?))
        })
    })
}

/// Stores the newest step that all ranks of the job have, on all hosts, pinned in all ranks on this
/// host. `tcasm-agent` must run on each host. Waits for nobody. After the death of ranks, or of the
/// agent, this is the last step that was agreed, as long as it exists.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_agreed(
    group: Handle<GroupObserver>,
    version: Out<Handle<GroupVersion>>,
) -> c_int {
    call(|| {
        give(&version, || {
            Ok(GroupVersion::new(group.get()?.0.with(|g| g.agreed())??))
        })
    })
}

/// Stores how many ranks on this host are attached, and how many of these publish no more: those
/// that have closed their regions, and those that died. Waits for nobody.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_ends(
    group: Handle<GroupObserver>,
    attached: Out<usize>,
    closed: Out<usize>,
    lost: Out<usize>,
) -> c_int {
    call(|| {
        let ends = group.get()?.0.with(|g| g.ends())??;
        attached.set(ends.attached);
        closed.set(ends.closed.len());
        lost.set(ends.lost.len());
        Ok(())
    })
}

/// Lets go of a step in all ranks. Versions of ranks that were taken from it stay until they are
/// released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_release(version: Handle<GroupVersion>) -> c_int {
    call(|| version.remove().map(drop))
}

/// Stores the step, the time, and the number of ranks that the group has on all hosts.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_stamp(
    version: Handle<GroupVersion>,
    step: Out<u64>,
    time: Out<f64>,
    ranks: Out<u32>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        step.set(version.inner.step());
        time.set(version.inner.time());
        ranks.set(version.inner.ranks());
        Ok(())
    })
}

/// Stores the name of the run, which is empty if it has none. It is valid until the version is
/// released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_run(version: Handle<GroupVersion>, run: Out<*const c_char>) -> c_int {
    call(|| {
        let version = version.get()?;
        run.set(version.texts.pointer(version.inner.run()));
        Ok(())
    })
}

/// Stores the ranks that have regions on this host, ascending: as many as there is room for.
/// `count` is the number of all.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_ranks(
    version: Handle<GroupVersion>,
    numbers: Fill<u32>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let all: Vec<u32> = version.inner.members().map(|(rank, _)| rank).collect();
        count.set(numbers.set(&room, &all, "the place for the ranks")?);
        Ok(())
    })
}

/// Stores the version of a rank. `tcasm_release` lets go of it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_group_member(
    group: Handle<GroupVersion>,
    rank: u32,
    version: Out<Handle<Version>>,
) -> c_int {
    call(|| {
        let group = group.get()?;
        let absent = || {
            let text = format!("rank {rank} has no region on this host");
            Failure::new(TCASM_NOT_FOUND, text)
        };
        let member = group.inner.member(rank).ok_or_else(absent)?;
        give(&version, || Ok(Version::new(member.clone())))
    })
}
