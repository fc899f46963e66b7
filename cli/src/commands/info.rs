//! `tcasm info`: describes one region.

mod print;

use crate::args::InfoArgs;
use crate::exit::Failure;
use crate::output;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tcasm_core::field::{Attr, Centering, FieldDesc, Kind, Mesh, Order};
use tcasm_observer::{Held, ObserveError, Observer, Status, Version};

/// The output. The names of the fields are the JSON keys, which scripts rely on.
#[derive(Debug, Serialize)]
struct Info {
    name: String,
    producer: Producer,
    region: Region,
    page_size: u64,
    tracker: String,
    latest: Option<Latest>,
    versions: Vec<u64>,
    publishes: u64,
    skips: u64,
    held_bytes: u64,
    observers: Vec<Attached>,
    fields: Vec<Field>,
    attrs: BTreeMap<String, Attr>,
    publish_us: Durations,
    capture: Capture,
    counters: BTreeMap<String, u64>,
}

/// How pages are captured now, and the counters of captures so far.
#[derive(Debug, Serialize)]
struct Capture {
    /// Chunks (2 MiB) whose capture is deferred: they are copied after publish.
    deferred_chunks: u64,
    /// Expected pages: they are left unprotected, because they are expected to be written.
    expected_pages: u64,
    /// Stores that had to wait until their chunk was copied.
    early_stores: u64,
    /// The total time that these stores waited, in microseconds.
    early_us: f64,
    /// Versions that were given up, because their deferred capture could not be completed.
    given_up: u64,
    /// Bytes of live memory that are shared with a plane: they exist once.
    shared_bytes: u64,
    /// Pages that compaction copied next to their neighbours, so that observers need fewer
    /// mappings.
    compacted_pages: u64,
}

#[derive(Debug, Serialize)]
struct Producer {
    pid: u64,
    alive: bool,
    started_unix_ns: u64,
}

#[derive(Debug, Serialize)]
struct Region {
    base: u64,
    base_hex: String,
    bytes: u64,
    max_versions: usize,
}

#[derive(Debug, Serialize)]
struct Latest {
    version: u64,
    step: u64,
    time: f64,
    changed_pages: u64,
    published_unix_ns: u64,
}

#[derive(Debug, Serialize)]
struct Attached {
    pid: u64,
    uid: u64,
    pinned: Vec<u64>,
    held_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Field {
    name: String,
    kind: Kind,
    /// The name that numpy uses.
    dtype: &'static str,
    shape: Vec<usize>,
    components: usize,
    order: Order,
    ghosts: Vec<[usize; 2]>,
    unit: String,
    centering: Centering,
    mesh: Option<Mesh>,
    attrs: BTreeMap<String, Attr>,
    offset: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Durations {
    p50: f64,
    p99: f64,
    max: f64,
}

/// The interval of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let mut observer = Observer::attach(&args.name)?;
    loop {
        // Ask for the status first: if the producer has ended, what follows is the last state.
        let status = observer.status()?;
        let info = gather(&mut observer)?;
        match (args.format.json, args.watch) {
            (true, true) => output::json_line(&info)?,
            (true, false) => output::json(&info)?,
            (false, _) => output::text(&print::text(&info))?,
        }
        if !args.watch || status == Status::EndOfStream {
            return Ok(());
        }
        if status == Status::ProducerLost {
            return Err(ObserveError::ProducerLost.into());
        }
        std::thread::sleep(WATCH);
        if !args.format.json {
            output::text("\n")?;
        }
    }
}

fn gather(observer: &mut Observer) -> Result<Info, Failure> {
    let known = observer.info()?;
    // Read the pins before the newest version, so that no pinned version is newer than it.
    let rows = observer.observers()?;
    let latest = match observer.latest() {
        Ok(version) => Some(version),
        Err(ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost) => {
            None
        }
        Err(error) => return Err(error.into()),
    };
    let table = latest.as_ref().map(|v| v.table().clone());
    let table = table.unwrap_or_default();
    let own = u64::from(std::process::id());
    let mut observers: Vec<Attached> = rows
        .into_iter()
        .filter(|row| row.pid != own)
        .map(|row| Attached {
            pid: row.pid,
            uid: row.uid,
            pinned: row.pinned,
            held_bytes: 0,
        })
        .collect();
    let (alive, versions) = (observer.producer_alive(), observer.available()?);
    if let Some(latest) = &latest {
        let mut held = Held::new(observer, latest, known.page_size, known.bytes);
        for row in &mut observers {
            row.held_bytes = held.bytes(&row.pinned)?;
        }
    }
    let count = |name| known.counter(name).unwrap_or(0);
    Ok(Info {
        producer: Producer {
            pid: known.pid,
            alive,
            started_unix_ns: known.created,
        },
        region: Region {
            base: known.base,
            base_hex: format!("{:#x}", known.base),
            bytes: known.bytes,
            max_versions: known.max_versions,
        },
        page_size: known.page_size,
        tracker: known.tracker.clone(),
        latest: latest.as_ref().map(describe),
        versions,
        publishes: count("Publishes"),
        skips: count("Skips"),
        held_bytes: count("HeldBytes"),
        observers,
        fields: table.fields.into_iter().map(Field::from).collect(),
        attrs: table.attrs,
        publish_us: Durations {
            p50: known.publish_us[0],
            p99: known.publish_us[1],
            max: known.publish_us[2],
        },
        capture: Capture {
            deferred_chunks: count("ChunksDeferred"),
            expected_pages: count("PagesExpected"),
            early_stores: count("EarlyStores"),
            early_us: count("EarlyNs") as f64 / 1e3,
            given_up: count("GivenUp"),
            shared_bytes: count("SharedBytes"),
            compacted_pages: count("PagesCompacted"),
        },
        counters: known
            .counters
            .iter()
            .map(|(n, v)| (snake_case(n), *v))
            .collect(),
        name: known.name,
    })
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
            name: desc.name,
            kind: desc.kind,
            dtype: desc.dtype.name(),
            shape: desc.shape,
            components: desc.components,
            order: desc.order,
            ghosts: desc.ghosts,
            unit: desc.unit,
            centering: desc.centering,
            mesh: desc.mesh,
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
