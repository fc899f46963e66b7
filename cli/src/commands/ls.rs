//! `tcasm ls`: lists the regions and groups of this user.

mod groups;
mod row;

use crate::args::Format;
use crate::failure::{Code, Failure};
use crate::output::{self, Table};
use row::{KEPT, Ranks, Row, absent, ask};
use tcasm_observer::{runtime_dir, sockets};

pub fn run(format: Format, ranks: bool) -> Result<(), Failure> {
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
    let rows = match ranks {
        true => without_running(rows),
        false => groups::collapsed(without_running(rows)),
    };
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
        "AGREED",
        "RANKS",
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
            cell(row.agreed.as_ref(), |agreed| match agreed.lag {
                0 => agreed.step.to_string(),
                lag => format!("{} (-{lag})", agreed.step),
            }),
            cell(row.ranks, of_group),
        ]);
    }
    table.render()
}

/// Describes the ranks of a group, such as `4/4`, or `4/4 of 16` if others are on other hosts.
fn of_group(ranks: Ranks) -> String {
    let here = format!("{}/{}", ranks.present, ranks.wanted);
    match ranks.all == ranks.wanted {
        true => here,
        false => format!("{here} of {}", ranks.all),
    }
}
