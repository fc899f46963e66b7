//! The state of a region at one moment: its producer, its versions, its observers and its fields.

mod axes;
mod named;
mod whole;

use crate::mesh;
pub use axes::Axes;
pub use named::Mesh;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tcasm_analytics::blocks;
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind, MeshDesc};
use tcasm_core::format::stamp::Stamp;
use tcasm_observer::{Held, ObserveError, Observer, ObserverRow, RegionInfo, Status, Version};
pub use whole::Whole;

/// The state of a region's stream of versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The region does not exist yet.
    #[default]
    Waiting,
    /// The producer runs.
    Running,
    /// The producer has closed the region.
    Ended,
    /// The producer died without closing the region.
    Lost,
    /// The producer has revoked the lease.
    Revoked,
}

impl From<Status> for State {
    fn from(status: Status) -> Self {
        match status {
            Status::Ok | Status::NotReady => State::Running,
            Status::EndOfStream => State::Ended,
            Status::ProducerLost => State::Lost,
            Status::Revoked => State::Revoked,
        }
    }
}

/// The state of a region at one moment. `PROTOCOL.md` describes its fields, by the same names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // PROTOCOL.md describes the fields.
pub struct Region {
    pub name: String,
    pub state: State,
    /// The reason why the region cannot be read, and what to do.
    pub message: String,
    /// Version of this program.
    pub view: &'static str,
    /// The time when the producer began, in nanoseconds since the Unix epoch. It tells runs apart.
    pub run: String,
    pub pid: u64,
    pub tracker: String,
    pub page_size: u64,
    pub region_bytes: u64,
    pub latest: Option<Stamp>,
    pub versions: Vec<u64>,
    pub steps_per_second: Option<f64>,
    pub versions_per_second: Option<f64>,
    pub publish_us: [f64; 3],
    pub changed_bytes: u64,
    pub publishes: u64,
    pub skips: u64,
    pub held_bytes: u64,
    pub observers: Vec<Attached>,
    pub copied_bytes: u64,
    pub clients: usize,
    pub fields: Vec<Field>,
    pub meshes: Vec<Mesh>,
    pub wholes: Vec<Whole>,
}

/// An observer of the region.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // PROTOCOL.md describes the fields.
pub struct Attached {
    pub pid: u64,
    pub program: Option<String>,
    pub uid: u64,
    pub pinned: Vec<u64>,
    pub held_bytes: u64,
    pub own: bool,
}

/// The description of a field for clients: without ghost layers, axes in the order of a C array.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // PROTOCOL.md describes the fields.
pub struct Field {
    pub name: String,
    pub dtype: &'static str,
    pub unit: String,
    pub shape: Vec<usize>,
    pub axes: Vec<String>,
    pub components: usize,
    pub complex: bool,
    pub raw: bool,
    pub centering: Centering,
    pub origin: Option<Vec<f64>>,
    pub spacing: Option<Vec<f64>>,
    pub mesh_error: Option<String>,
    /// The name of the named mesh that the values are on.
    pub mesh: Option<String>,
    /// The kind of that mesh.
    pub mesh_kind: Option<&'static str>,
    pub quantity: String,
    pub capacity: Option<usize>,
    pub offset: u64,
    pub bytes: u64,
}

impl Field {
    /// Returns the description for clients of the field `desc` of `table`.
    pub fn of(desc: &FieldDesc, table: &FieldTable) -> Self {
        let shape = blocks::shape(desc);
        let count = shape.len();
        let named = mesh::mesh_of(table, desc).map(|(mesh, _)| mesh);
        let places = Axes::of(desc, table);
        let (origin, spacing) = places.map(|places| (places.origin, places.spacing)).unzip();
        Field {
            name: desc.name.clone(),
            dtype: desc.dtype.name(),
            unit: desc.unit.clone(),
            axes: axis_names(count),
            shape,
            components: desc.components,
            complex: desc.dtype.name().starts_with("complex"),
            raw: !matches!(desc.kind, Kind::Array),
            centering: desc.centering,
            origin,
            spacing,
            mesh_error: desc.check_mesh().err().map(|error| error.to_string()),
            mesh: named.map(|mesh| mesh.name.clone()),
            mesh_kind: named.map(MeshDesc::kind_name),
            quantity: desc.quantity().to_owned(),
            capacity: desc.capacity,
            offset: desc.offset,
            bytes: desc.bytes(),
        }
    }
}

/// Returns the names of axes. The last axis is `x`; before it are `y`, `z`, `w4`, `w5`, ...
fn axis_names(count: usize) -> Vec<String> {
    let name = |from_end: usize| match from_end {
        0 => "x".to_owned(),
        1 => "y".to_owned(),
        2 => "z".to_owned(),
        n => format!("w{}", n + 1),
    };
    (0..count).rev().map(name).collect()
}

/// The time over which rates are computed.
const RATE_OVER: Duration = Duration::from_secs(3);
/// Timeout for the answer of a producer. A running producer answers sooner.
const ANSWER: Duration = Duration::from_millis(50);
/// Delay before the next query to a producer that did not answer.
const SILENCE: Duration = Duration::from_secs(5);

/// A query of a region's state that is repeated. It keeps what rates are computed from.
#[derive(Debug, Default)]
pub struct Watch {
    seen: VecDeque<(Instant, Stamp)>,
    rows: Vec<ObserverRow>,
    ask_at: Option<Instant>,
}

impl Watch {
    /// Reads the state of the region that `observer` is attached to. Pins the newest version
    /// meanwhile.
    pub fn poll(&mut self, observer: &mut Observer) -> Result<Region, ObserveError> {
        let (status, info) = (observer.status()?, observer.info()?);
        // Ask before pinning, so that the list of observers does not show this pin.
        self.ask(observer)?;
        let latest = match observer.latest() {
            Ok(version) => Some(version),
            Err(
                ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost,
            ) => None,
            Err(error) => return Err(error),
        };
        self.note(latest.as_ref().map(Version::stamp));
        let mut region = Region {
            state: status.into(),
            view: env!("CARGO_PKG_VERSION"),
            versions: observer.available()?,
            observers: self.observers(observer, &info, latest.as_ref())?,
            copied_bytes: observer.stats()?.copied_bytes,
            ..Region::default()
        };
        region.describe(info);
        if let Some(version) = latest {
            region.show(&version);
        }
        if region.state == State::Running {
            (region.steps_per_second, region.versions_per_second) = self.rates();
        }
        Ok(region)
    }

    /// Asks the producer for the observers that are attached.
    fn ask(&mut self, observer: &mut Observer) -> Result<(), ObserveError> {
        if self.ask_at.is_none_or(|at| Instant::now() >= at) {
            let rows = observer.observers_within(ANSWER)?;
            self.ask_at = rows.is_none().then(|| Instant::now() + SILENCE);
            self.rows = rows.unwrap_or_default();
        }
        Ok(())
    }

    fn observers(
        &self,
        observer: &mut Observer,
        info: &RegionInfo,
        latest: Option<&Version>,
    ) -> Result<Vec<Attached>, ObserveError> {
        let programs = self.rows.iter().map(|row| observer.program(row));
        let programs: Vec<Option<String>> = programs.collect();
        let mut held = latest.map(|v| Held::new(observer, v, info.page_size, info.bytes));
        let own = u64::from(std::process::id());
        let attached = |(row, program): (&ObserverRow, Option<String>)| {
            Ok(Attached {
                pid: row.pid,
                program,
                uid: row.uid,
                pinned: row.pinned.clone(),
                held_bytes: match &mut held {
                    Some(held) => held.bytes(&row.pinned)?,
                    None => 0,
                },
                own: row.pid == own,
            })
        };
        self.rows.iter().zip(programs).map(attached).collect()
    }

    /// Remembers the newest version, to compute rates.
    fn note(&mut self, latest: Option<Stamp>) {
        let (now, Some(stamp)) = (Instant::now(), latest) else {
            return self.seen.clear();
        };
        self.seen.push_back((now, stamp));
        while self.seen.len() > 2 && now - self.seen[1].0 > RATE_OVER {
            self.seen.pop_front();
        }
    }

    /// Returns the steps and the versions per second.
    fn rates(&self) -> (Option<f64>, Option<f64>) {
        let (Some((then, first)), Some((now, last))) = (self.seen.front(), self.seen.back()) else {
            return (None, None);
        };
        let seconds = (*now - *then).as_secs_f64();
        let rate = |first: u64, last: u64| {
            let more = last.checked_sub(first)?;
            (seconds > 0.0).then(|| more as f64 / seconds)
        };
        (
            rate(first.step, last.step),
            rate(first.version, last.version),
        )
    }
}

impl Region {
    /// Returns the state of a region that does not exist yet.
    pub fn waiting(name: &str, message: String) -> Self {
        Region {
            name: name.to_owned(),
            message,
            view: env!("CARGO_PKG_VERSION"),
            ..Region::default()
        }
    }

    fn describe(&mut self, info: RegionInfo) {
        let count = |name| info.counter(name).unwrap_or(0);
        self.publishes = count("Publishes");
        self.skips = count("Skips");
        self.held_bytes = count("HeldBytes");
        self.run = info.created.to_string();
        self.pid = info.pid;
        self.page_size = info.page_size;
        self.region_bytes = info.bytes;
        self.publish_us = info.publish_us;
        self.tracker = info.tracker;
        self.name = info.name;
    }

    fn show(&mut self, latest: &Version) {
        self.latest = Some(latest.stamp());
        self.changed_bytes = latest.changed_pages() * self.page_size;
        let table = latest.table();
        self.fields = table
            .fields
            .iter()
            .map(|field| Field::of(field, table))
            .collect();
        self.meshes = table
            .meshes
            .iter()
            .map(|mesh| Mesh::of(mesh, table))
            .collect();
        self.wholes = Whole::all(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, Mesh as Uniform};

    #[test]
    fn mesh_that_cannot_be_used_is_no_mesh_and_clients_learn_why() {
        let mut desc = FieldDesc::new("t", DType::F64, &[4, 5]);
        let of = |spacing: [f64; 3], desc: &mut FieldDesc| {
            let origin = [0.0; 3];
            desc.mesh = Some(Uniform { origin, spacing });
            Field::of(desc, &FieldTable::default())
        };
        let good = of([0.5, 0.25, 1.0], &mut desc);
        assert_eq!(good.spacing, Some(vec![0.25, 0.5]));
        assert_eq!(good.mesh_error, None);
        let bad = of([0.5, 0.0, 1.0], &mut desc);
        assert_eq!((bad.origin, bad.spacing), (None, None));
        assert!(bad.mesh_error.unwrap().contains("[0.5, 0.0, 1.0]"));
    }
}
