//! `tcasm ls`: lists the regions of this user.

use crate::args::Format;
use crate::failure::{Code, Failure};
use crate::output::{self, Table};
use serde::Serialize;
use tcasm_observer::{AttachError, ObserveError, Observer, Socket, runtime_dir, sockets};

/// The state of the memory that a dead producer left and `tcasm keep` holds.
const KEPT: &str = "kept";

/// One socket, and the region that answered there.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    pid: Option<u64>,
    alive: bool,
    /// `running`, `kept` (the producer is dead, and another process holds its memory), or the
    /// reason why nothing else is known: `dead`, `no-answer`, `not-allowed`, `full`,
    /// `other-layout`, `error`.
    state: &'static str,
    version: Option<u64>,
    step: Option<u64>,
    time: Option<f64>,
    versions: Option<usize>,
    held_bytes: Option<u64>,
    observers: Option<usize>,
}

pub fn run(format: Format) -> Result<(), Failure> {
    let folder = runtime_dir();
    let sockets = sockets(&folder).map_err(|error| {
        let text =
            format!("cannot read {folder:?}: {error}; set TCASM_RUNTIME_DIR as the producer does");
        Failure::new(Code::Io, text)
    })?;
    // Ask all producers at the same time: one that is stopped costs a timeout of seconds.
    let rows: Vec<Row> = std::thread::scope(|scope| {
        let threads = sockets.iter().map(|socket| scope.spawn(|| ask(socket)));
        let threads: Vec<_> = threads.collect();
        let threads = threads.into_iter().zip(&sockets);
        threads
            .map(|(thread, socket)| {
                let row = thread.join();
                row.unwrap_or_else(|_| absent(&socket.name, "error"))
            })
            .collect()
    });
    let rows = without_running(rows);
    match (format.json, rows.is_empty()) {
        (true, _) => output::json(&rows),
        (false, true) => output::line(&format!("no regions in {}", folder.display())),
        (false, false) => output::text(&table(&rows)),
    }
}

/// Removes `kept` rows of producers that still run. A keeper serves the memory of its producer
/// already while that runs.
fn without_running(rows: Vec<Row>) -> Vec<Row> {
    let who = |row: &Row| (row.name.clone(), row.pid);
    let running = rows.iter().filter(|row| row.alive).map(who);
    let running: Vec<_> = running.collect();
    let left = |row: &Row| row.state != KEPT || !running.contains(&who(row));
    rows.into_iter().filter(left).collect()
}

/// Attaches to the region of a socket and describes it.
fn ask(Socket { name, kept }: &Socket) -> Row {
    let attached = match kept {
        true => Observer::attach_kept(name),
        false => Observer::attach(name),
    };
    let state = match attached {
        Ok(mut observer) => match found(name, &mut observer) {
            Ok(row) if *kept => {
                return Row {
                    state: KEPT,
                    alive: false,
                    ..row
                };
            }
            Ok(row) => return row,
            Err(_) => "error",
        },
        Err(
            AttachError::Dead { .. } | AttachError::NotFound { .. } | AttachError::Ended { .. },
        ) => "dead",
        Err(AttachError::NoAnswer { .. }) => "no-answer",
        Err(AttachError::NotAllowed { .. } | AttachError::OtherUser { .. }) => "not-allowed",
        Err(AttachError::Full { .. } | AttachError::Failed { .. }) => "full",
        Err(AttachError::OtherLayout { .. }) => "other-layout",
        Err(_) => "error",
    };
    absent(name, state)
}

fn found(name: &str, observer: &mut Observer) -> Result<Row, ObserveError> {
    let info = observer.info()?;
    let own = u64::from(std::process::id());
    let others = observer
        .observers()?
        .iter()
        .filter(|o| o.pid != own)
        .count();
    let latest = match observer.latest() {
        Ok(version) => Some(version.stamp()),
        Err(ObserveError::NotReady) => None,
        Err(error) => return Err(error),
    };
    Ok(Row {
        name: name.to_owned(),
        pid: Some(info.pid),
        alive: observer.producer_alive(),
        state: "running",
        version: latest.map(|s| s.version),
        step: latest.map(|s| s.step),
        time: latest.map(|s| s.time),
        versions: Some(observer.available()?.len()),
        held_bytes: info.counter("HeldBytes"),
        observers: Some(others),
    })
}

fn absent(name: &str, state: &'static str) -> Row {
    Row {
        name: name.to_owned(),
        pid: None,
        // A producer that refuses or does not answer is alive.
        alive: !matches!(state, "dead" | "error"),
        state,
        version: None,
        step: None,
        time: None,
        versions: None,
        held_bytes: None,
        observers: None,
    }
}

fn table(rows: &[Row]) -> String {
    let titles = [
        "NAME",
        "STATE",
        "PID",
        "VERSION",
        "STEP",
        "TIME",
        "KEPT",
        "MEMORY",
        "OBSERVERS",
    ];
    let mut table = Table::new(&titles);
    fn cell<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
        value.map_or_else(|| "-".to_owned(), show)
    }
    for row in rows {
        table.row([
            row.name.clone(),
            row.state.to_owned(),
            cell(row.pid, |n| n.to_string()),
            cell(row.version, |n| n.to_string()),
            cell(row.step, |n| n.to_string()),
            cell(row.time, output::number),
            cell(row.versions, |n| n.to_string()),
            cell(row.held_bytes, output::bytes),
            cell(row.observers, |n| n.to_string()),
        ]);
    }
    table.render()
}
