//! The description of a region, as JSON and for the text.

use super::meshes::{self, NamedMesh};
use crate::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use tcasm_core::field::{Attr, Centering, FieldDesc, GlobalPlace, Kind, Mesh, Order};
use tcasm_observer::{Held, ObserveError, Observer, ObserverRow, RegionInfo, Version};

/// The output. The names of the fields are the JSON keys, which scripts rely on.
#[derive(Debug, Serialize)]
pub struct Info {
    pub name: String,
    pub producer: Producer,
    pub region: Region,
    pub page_size: u64,
    pub tracker: String,
    pub latest: Option<Latest>,
    pub versions: Vec<u64>,
    pub publishes: u64,
    pub skips: u64,
    pub held_bytes: u64,
    pub observers: Vec<Attached>,
    pub fields: Vec<Field>,
    /// The named meshes of the latest version.
    pub meshes: Vec<NamedMesh>,
    pub attrs: BTreeMap<String, Attr>,
    pub publish_us: Durations,
    pub capture: Capture,
    pub counters: BTreeMap<String, u64>,
}

/// How pages are captured now, and the counters of captures so far.
#[derive(Debug, Serialize)]
pub struct Capture {
    /// Chunks (2 MiB) whose capture is deferred: they are copied after publish.
    pub deferred_chunks: u64,
    /// True if capture is deferred in user mode only: a system call of the producer that writes
    /// into a chunk that is not copied yet fails.
    pub user_mode_only: bool,
    /// Expected pages: they are left unprotected, because they are expected to be written.
    pub expected_pages: u64,
    /// Stores that had to wait until their chunk was copied.
    pub early_stores: u64,
    /// The total time that these stores waited, in microseconds: of those to a chunk, the first.
    pub early_us: f64,
    /// Versions that were given up, because their deferred capture could not be completed.
    pub given_up: u64,
    /// Bytes of live memory that are shared with a plane: they exist once.
    pub shared_bytes: u64,
    /// Pages that compaction copied next to their neighbours, so that observers need fewer
    /// mappings.
    pub compacted_pages: u64,
}

#[derive(Debug, Serialize)]
pub struct Producer {
    pub pid: u64,
    pub alive: bool,
    pub started_unix_ns: u64,
}

#[derive(Debug, Serialize)]
pub struct Region {
    pub base: u64,
    pub base_hex: String,
    pub bytes: u64,
    pub max_versions: usize,
}

#[derive(Debug, Serialize)]
pub struct Latest {
    pub version: u64,
    pub step: u64,
    pub time: f64,
    pub changed_pages: u64,
    pub published_unix_ns: u64,
}

#[derive(Debug, Serialize)]
pub struct Attached {
    pub pid: u64,
    /// The name of the program, if it is known.
    pub program: Option<String>,
    pub uid: u64,
    pub pinned: Vec<u64>,
    pub held_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    /// The name that numpy uses.
    pub dtype: &'static str,
    /// The shape in the latest version.
    pub shape: Vec<usize>,
    /// The extent of the slowest axis, if it may change from version to version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// The largest length that there is room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<usize>,
    pub components: usize,
    pub order: Order,
    pub ghosts: Vec<[usize; 2]>,
    pub unit: String,
    pub centering: Centering,
    /// The place in a global array, if the field is a block of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<GlobalPlace>,
    /// The name of the mesh that the field is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The uniform mesh of the field itself.
    pub mesh: Option<Mesh>,
    /// The reason why the mesh of the region is left out here, if it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh_error: Option<String>,
    pub attrs: BTreeMap<String, Attr>,
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Durations {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Describes the region that `observer` is attached to.
pub fn gather(observer: &mut Observer) -> Result<Info, Failure> {
    let known = observer.info()?;
    // Read the pins before the newest version, so that no pinned version is newer than it.
    let rows = observer.observers()?;
    let latest = newest(observer)?;
    let table = latest.as_ref().map(|v| v.table().clone());
    let table = table.unwrap_or_default();
    let alive = observer.producer_alive();
    let versions = observer.available()?;
    let observers = attached(observer, rows, &known, latest.as_ref())?;
    let count = |name| known.counter(name).unwrap_or(0);
    let counters = known.counters.iter();
    Ok(Info {
        producer: Producer {
            pid: known.pid,
            alive,
            started_unix_ns: known.created,
        },
        region: Region::of(&known),
        page_size: known.page_size,
        tracker: known.tracker.clone(),
        latest: latest.as_ref().map(describe),
        versions,
        publishes: count("Publishes"),
        skips: count("Skips"),
        held_bytes: count("HeldBytes"),
        observers,
        meshes: meshes::of(&table),
        fields: table.fields.into_iter().map(Field::from).collect(),
        attrs: table.attrs,
        publish_us: Durations::of(&known),
        capture: Capture::of(&known),
        counters: counters.map(|(n, v)| (snake_case(n), *v)).collect(),
        name: known.name,
    })
}

/// Returns the newest version, if there is one.
fn newest(observer: &mut Observer) -> Result<Option<Version>, Failure> {
    match observer.latest() {
        Ok(version) => Ok(Some(version)),
        Err(ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Describes the other observers, which are those of `rows`.
fn attached(
    observer: &mut Observer,
    rows: Vec<ObserverRow>,
    known: &RegionInfo,
    latest: Option<&Version>,
) -> Result<Vec<Attached>, Failure> {
    let own = u64::from(std::process::id());
    let others = rows.into_iter().filter(|row| row.pid != own);
    let describe = |row: ObserverRow| Attached {
        pid: row.pid,
        program: observer.program(&row),
        uid: row.uid,
        pinned: row.pinned,
        held_bytes: 0,
    };
    let mut observers: Vec<Attached> = others.map(describe).collect();
    if let Some(latest) = latest {
        let mut held = Held::new(observer, latest, known.page_size, known.bytes);
        for row in &mut observers {
            row.held_bytes = held.bytes(&row.pinned)?;
        }
    }
    Ok(observers)
}

impl Region {
    fn of(known: &RegionInfo) -> Self {
        Region {
            base: known.base,
            base_hex: format!("{:#x}", known.base),
            bytes: known.bytes,
            max_versions: known.max_versions,
        }
    }
}

impl Durations {
    fn of(known: &RegionInfo) -> Self {
        let [p50, p99, max] = known.publish_us;
        Durations { p50, p99, max }
    }
}

impl Capture {
    fn of(known: &RegionInfo) -> Self {
        let count = |name| known.counter(name).unwrap_or(0);
        Capture {
            deferred_chunks: count("ChunksDeferred"),
            user_mode_only: count("UserModeOnly") != 0,
            expected_pages: count("PagesExpected"),
            early_stores: count("EarlyStores"),
            early_us: count("EarlyNs") as f64 / 1e3,
            given_up: count("GivenUp"),
            shared_bytes: count("SharedBytes"),
            compacted_pages: count("PagesCompacted"),
        }
    }
}

fn describe(version: &Version) -> Latest {
    Latest {
        version: version.number(),
        step: version.step(),
        time: version.time(),
        changed_pages: version.changed_pages(),
        published_unix_ns: version.published(),
    }
}

impl From<FieldDesc> for Field {
    fn from(desc: FieldDesc) -> Self {
        Field {
            bytes: desc.bytes(),
            length: desc.capacity.map(|_| desc.length()),
            capacity: desc.capacity,
            mesh: desc.usable_mesh(),
            mesh_error: desc.check_mesh().err().map(|error| error.to_string()),
            name: desc.name,
            kind: desc.kind,
            dtype: desc.dtype.name(),
            shape: desc.shape,
            components: desc.components,
            order: desc.order,
            ghosts: desc.ghosts,
            unit: desc.unit,
            centering: desc.centering,
            global: desc.global,
            on: desc.on,
            quantity: desc.quantity,
            attrs: desc.attrs,
            offset: desc.offset,
        }
    }
}

/// Converts a name such as `HeldBytes` to the form of JSON keys, `held_bytes`.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn counter_names_become_snake_case() {
        assert_eq!(snake_case("SkipsNoMemory"), "skips_no_memory");
        assert_eq!(snake_case("Pages"), "pages");
    }
}
