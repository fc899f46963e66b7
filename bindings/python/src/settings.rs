//! The settings of a region that Python gives.

use crate::errors;
use crate::group::Group;
use crate::values::{Values, attrs};
use pyo3::prelude::*;
use std::num::NonZeroU64;
use tcasm_producer::{Access, Builder, CaptureMode, Extent, HugePages, TrackerKind};

/// The most threads that copy for a region.
const MOST_COPIERS: usize = 256;

/// The settings of a region.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    name: String,
    capacity: usize,
    versions: usize,
    history: usize,
    first_version: u64,
    memory: Option<u64>,
    reserve_for_every: Option<u64>,
    tracker: Option<String>,
    capture: String,
    wait_for_capture: bool,
    no_kernel_writes: bool,
    shared_backing: bool,
    huge_pages: String,
    copiers: Option<usize>,
    copier_affinity: Vec<usize>,
    copier_nice: Option<i32>,
    check_hand_over: Option<bool>,
    allow: Allowed,
    max_observers: usize,
    base: Option<usize>,
    extent: Option<(u64, u64)>,
    attrs: Values,
    group: Option<Py<Group>>,
}

/// The users that may attach: a name for them, or their numbers.
#[derive(FromPyObject)]
enum Allowed {
    Name(String),
    Users(Vec<u32>),
}

/// Returns the builder of a region with these settings.
pub fn builder(settings: Settings) -> PyResult<Builder> {
    let builder = tcasm_producer::Producer::builder(&settings.name);
    let builder = placed(builder, &settings)?;
    let builder = bounded(builder, &settings)?;
    let builder = captured(builder, &settings)?;
    let builder = copied(builder, &settings)?;
    let mut builder = builder
        .allow(access(&settings.allow)?)
        .max_observers(settings.max_observers);
    for (name, value) in attrs(settings.attrs) {
        builder = builder.attr(&name, value);
    }
    Ok(match settings.group {
        Some(group) => builder.group(group.get().inner.clone()),
        None => builder,
    })
}

/// Sets how large the region is, and where it lies.
fn placed(builder: Builder, settings: &Settings) -> PyResult<Builder> {
    let builder = builder.capacity(settings.capacity);
    match (settings.base, settings.extent) {
        (None, None) => Ok(builder),
        (Some(base), None) => Ok(builder.base(base)),
        (None, Some((base, bytes))) => Ok(builder.extent(Extent { base, bytes })),
        (Some(base), Some((at, _))) => Err(errors::setting(format!(
            "the region cannot lie at base {base:#x} and in the extent at {at:#x}; give one of them"
        ))),
    }
}

/// Sets how many versions there can be.
fn bounded(builder: Builder, settings: &Settings) -> PyResult<Builder> {
    let mut builder = builder
        .versions(settings.versions)
        .history(settings.history)
        .first_version(settings.first_version);
    if let Some(bytes) = settings.memory {
        builder = builder.memory(bytes);
    }
    match settings.reserve_for_every.map(NonZeroU64::new) {
        None => Ok(builder),
        Some(Some(every)) => Ok(builder.reserve_for_every(every)),
        Some(None) => Err(errors::setting(
            "reserve_for_every cannot be 0; give a number of steps from 1 on, or None",
        )),
    }
}

/// Sets how changes are found, and get into versions.
fn captured(builder: Builder, settings: &Settings) -> PyResult<Builder> {
    let mut builder = builder
        .capture(capture(&settings.capture)?)
        .wait_for_capture(settings.wait_for_capture)
        .no_kernel_writes(settings.no_kernel_writes)
        .shared_backing(settings.shared_backing)
        .huge_pages(huge_pages(&settings.huge_pages)?);
    if let Some(name) = &settings.tracker {
        builder = builder.tracker(tracker(name)?);
    }
    Ok(match settings.check_hand_over {
        Some(check) => builder.check_hand_over(check),
        None => builder,
    })
}

/// Sets the threads that copy.
fn copied(builder: Builder, settings: &Settings) -> PyResult<Builder> {
    let mut builder = builder.copier_affinity(&settings.copier_affinity);
    if let Some(nice) = settings.copier_nice {
        builder = builder.copier_nice(nice);
    }
    match settings.copiers {
        None => Ok(builder),
        Some(copiers) if copiers <= MOST_COPIERS => Ok(builder.copiers(copiers)),
        Some(copiers) => Err(errors::setting(format!(
            "{copiers} copiers are too many; there can be {MOST_COPIERS} at most"
        ))),
    }
}

fn capture(name: &str) -> PyResult<CaptureMode> {
    match name {
        "auto" => Ok(CaptureMode::Auto),
        "inline" => Ok(CaptureMode::Inline),
        "deferred" => Ok(CaptureMode::Deferred),
        _ => Err(errors::choice("capture", name, "auto, inline, deferred")),
    }
}

fn huge_pages(name: &str) -> PyResult<HugePages> {
    match name {
        "off" => Ok(HugePages::Off),
        "transparent" => Ok(HugePages::Transparent),
        "reserved" => Ok(HugePages::Reserved),
        _ => {
            let known = "off, transparent, reserved";
            Err(errors::choice("huge_pages", name, known))
        }
    }
}

fn tracker(name: &str) -> PyResult<TrackerKind> {
    let found = TrackerKind::ALL.into_iter().find(|t| t.name() == name);
    let known = TrackerKind::ALL.map(TrackerKind::name);
    found.ok_or_else(|| errors::choice("tracker", name, &known.join(", ")))
}

fn access(allowed: &Allowed) -> PyResult<Access> {
    match allowed {
        Allowed::Users(users) => Ok(Access::Users(users.clone())),
        Allowed::Name(name) => match name.as_str() {
            "same-user" => Ok(Access::SameUser),
            "everyone" => Ok(Access::Everyone),
            _ => {
                let known = "same-user, everyone, or a list of user ids";
                Err(errors::choice("allow", name, known))
            }
        },
    }
}
