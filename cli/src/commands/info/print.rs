//! The description of a region as text.

use super::description::{Attached, Field, Info, Latest};
use super::meshes;
use crate::output::{self, Table, bytes, count, number};
use crate::plain;
use std::time::{Duration, SystemTime};
use tcasm_core::field::{Attr, Centering, GlobalPlace, Kind, Order};

pub fn text(info: &Info) -> String {
    let mut out = head(info);
    if !info.fields.is_empty() {
        out += "\nfields\n";
        out += &fields(&info.fields);
        for error in info.fields.iter().filter_map(|f| f.mesh_error.as_ref()) {
            out += &plain::line(&format!("  ignored: {error}"));
        }
    }
    if !info.meshes.is_empty() {
        out += "\nmeshes\n";
        out += &meshes::text(&info.meshes);
    }
    if !info.observers.is_empty() {
        out += "\nobservers\n";
        out += &observers(&info.observers);
    }
    if !info.attrs.is_empty() {
        out += "\nattributes\n";
        let mut table = Table::indented(2);
        for (name, value) in &info.attrs {
            table.row([name.clone(), attr(value)]);
        }
        out += &table.render();
    }
    out
}

/// A row of the table at the top: its title, and its text.
type Row = (&'static str, String);

fn head(info: &Info) -> String {
    let mut table = Table::default();
    for (title, text) in [of_region(info), of_versions(info), of_memory(info)].concat() {
        table.row([title.to_owned(), text]);
    }
    table.render()
}

/// Returns the rows about the region and its producer.
fn of_region(info: &Info) -> Vec<Row> {
    let (producer, region) = (&info.producer, &info.region);
    let end = region.base + region.bytes;
    let state = if producer.alive { "running" } else { "gone" };
    let started = ago(producer.started_unix_ns);
    let producer = format!("process {}, {state}, started {started}", producer.pid);
    let address = format!("{:#x} .. {end:#x} ({})", region.base, bytes(region.bytes));
    let tracking = format!("{}, pages of {}", info.tracker, bytes(info.page_size));
    vec![
        ("region", info.name.clone()),
        ("producer", producer),
        ("address", address),
        ("tracking", tracking),
    ]
}

/// Returns the rows about the versions.
fn of_versions(info: &Info) -> Vec<Row> {
    let newest = info.latest.as_ref();
    let newest = newest.map_or("nothing published yet".into(), latest);
    let versions = format!(
        "{} of at most {} ({}), in {} of memory",
        info.versions.len(),
        info.region.max_versions,
        list(&info.versions),
        bytes(info.held_bytes)
    );
    let mut rows = vec![("latest", newest), ("versions", versions)];
    if let Some(stray) = info.counters.get("stray_bytes").filter(|n| **n != 0) {
        let text = "allocated by other processes, which read holes of planes";
        rows.push(("stray", format!("{} {text}", bytes(*stray))));
    }
    let published = count(info.publishes, "version");
    rows.push(("published", format!("{published}, {} skipped", info.skips)));
    rows
}

/// Returns the rows about publishing, and about the memory that it saves.
fn of_memory(info: &Info) -> Vec<Row> {
    let shared = bytes(info.capture.shared_bytes);
    let compacted = count(info.capture.compacted_pages, "page");
    vec![
        ("publish took", durations(info)),
        ("capture", capture(info)),
        (
            "shared",
            format!("{shared} of live memory shared with planes"),
        ),
        (
            "compacted",
            format!("{compacted}, so that observers need fewer mappings"),
        ),
    ]
}

fn latest(latest: &Latest) -> String {
    format!(
        "version {}, step {}, t = {}, {} changed, published {}",
        latest.version,
        latest.step,
        number(latest.time),
        count(latest.changed_pages, "page"),
        ago(latest.published_unix_ns)
    )
}

fn durations(info: &Info) -> String {
    let [p50, p99, max] = [
        info.publish_us.p50,
        info.publish_us.p99,
        info.publish_us.max,
    ]
    .map(microseconds);
    format!("{p50} (median), {p99} (99 %), {max} (longest)")
}

fn capture(info: &Info) -> String {
    let (capture, chunk) = (&info.capture, 512 * info.page_size);
    let kind = match capture.user_mode_only {
        true => " (user mode only)",
        false => "",
    };
    let mut text = format!(
        "{} deferred{kind}, the rest inline; {} expected to change",
        bytes(capture.deferred_chunks * chunk),
        count(capture.expected_pages, "page")
    );
    if capture.early_stores != 0 {
        let waited = microseconds(capture.early_us);
        text += &format!(
            "; {} had to wait, {waited} in all",
            count(capture.early_stores, "store")
        );
    }
    text
}

fn microseconds(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// Describes how long ago a time was.
fn ago(unix_ns: u64) -> String {
    let then = SystemTime::UNIX_EPOCH + Duration::from_nanos(unix_ns);
    match then.elapsed() {
        Ok(passed) if passed < Duration::from_secs(60) => {
            format!("{:.1} s ago", passed.as_secs_f64())
        }
        Ok(passed) => format!("{} ago", indicatif::HumanDuration(passed)),
        Err(_) => "just now".to_owned(),
    }
}

/// Joins numbers, such as `1, 2, 5`. Leaves out the middle of a list of more than 8 numbers.
fn list(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    match texts.as_slice() {
        [] => "none".to_owned(),
        [first, second, .., last] if texts.len() > 8 => format!("{first}, {second}, ..., {last}"),
        all => all.join(", "),
    }
}

fn fields(fields: &[Field]) -> String {
    let titles = [
        "NAME", "DTYPE", "SHAPE", "ORDER", "GHOSTS", "UNIT", "ON", "SIZE", "MESH",
    ];
    let mut table = Table::indented(2);
    table.row(titles);
    for field in fields {
        table.row(field_row(field));
    }
    table.render()
}

fn field_row(field: &Field) -> Vec<String> {
    let (dtype, shape) = dtype_and_shape(field);
    let order = match field.order {
        Order::C => "C",
        Order::F => "F",
    };
    let on = match field.centering {
        Centering::Point => "points",
        Centering::Cell => "cells",
        Centering::None => "-",
    };
    let unit = if field.unit.is_empty() {
        "-"
    } else {
        &field.unit
    };
    let cells = [
        &field.name,
        dtype,
        &shape,
        order,
        &ghosts(field),
        unit,
        on,
        &bytes(field.bytes),
        &mesh(field),
    ];
    cells.map(str::to_owned).to_vec()
}

fn dtype_and_shape(field: &Field) -> (&str, String) {
    let extents = extents(field);
    match &field.kind {
        Kind::Raw { type_name, .. } => (type_name.as_str(), extents),
        Kind::Array if field.components > 1 => {
            let shape = format!("{extents} ({} components)", field.components);
            (field.dtype, shape)
        }
        Kind::Array => (field.dtype, extents),
    }
}

/// Describes the shape, such as `12 x 3`: of a variable field with the most that there is room for,
/// and of a block with its place in the global array.
fn extents(field: &Field) -> String {
    let extents = output::shape(&field.shape);
    match (field.capacity, &field.global) {
        (Some(capacity), _) => format!("{extents}, length at most {capacity}"),
        (None, Some(GlobalPlace { shape, offset })) => {
            format!("{extents}, at {offset:?} of {}", output::shape(shape))
        }
        (None, None) => extents,
    }
}

/// Describes ghost layers, such as `1+1 0+2`: the layers before and after the interior per axis.
fn ghosts(field: &Field) -> String {
    let pairs = field.ghosts.iter().map(|[a, b]| format!("{a}+{b}"));
    if field.ghosts.iter().all(|g| *g == [0, 0]) {
        return "-".to_owned();
    }
    pairs.collect::<Vec<_>>().join(" ")
}

fn mesh(field: &Field) -> String {
    if field.mesh_error.is_some() {
        return "ignored".to_owned();
    }
    match (&field.on, &field.quantity) {
        (Some(mesh), Some(quantity)) => format!("{mesh}, as {quantity}"),
        (Some(mesh), None) => mesh.clone(),
        _ => field.mesh.as_ref().map_or("-".to_owned(), meshes::placed),
    }
}

fn observers(rows: &[Attached]) -> String {
    let mut table = Table::indented(2);
    table.row(["PID", "PROGRAM", "USER", "PINS VERSIONS", "HOLDS"]);
    for row in rows {
        table.row([
            row.pid.to_string(),
            row.program.clone().unwrap_or_else(|| "?".to_owned()),
            row.uid.to_string(),
            list(&row.pinned),
            bytes(row.held_bytes),
        ]);
    }
    table.render()
}

fn attr(value: &Attr) -> String {
    match value {
        Attr::Int(v) => v.to_string(),
        Attr::Float(v) => number(*v),
        Attr::Text(v) => v.clone(),
        Attr::Floats(v) => v.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, FieldDesc, Mesh};

    #[test]
    fn mesh_that_cannot_be_used_is_ignored_aloud() {
        let mut desc = FieldDesc::new("t", DType::F64, &[4]);
        desc.mesh = Some(Mesh {
            origin: [0.0; 3],
            spacing: [-0.5, 1.0, f64::NAN],
        });
        let field = Field::from(desc);
        assert_eq!(mesh(&field), "ignored");
        let error = field.mesh_error.unwrap();
        assert!(error.contains("[-0.5, 1.0, NaN]"), "{error}");
        assert_eq!(field.mesh, None);
    }

    #[test]
    fn long_lists_of_versions_are_shortened() {
        assert_eq!(list(&[]), "none");
        assert_eq!(list(&[4, 7]), "4, 7");
        assert_eq!(list(&(1..=20).collect::<Vec<_>>()), "1, 2, ..., 20");
    }

    #[test]
    fn program_that_is_not_known_is_a_question_mark() {
        let row = |program: Option<&str>| Attached {
            pid: 4711,
            program: program.map(str::to_owned),
            uid: 1000,
            pinned: vec![3],
            held_bytes: 4096,
        };
        let text = observers(&[row(Some("a\x1b[2J\nb")), row(None)]);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(lines[1][1], r"a\u{1b}[2J\nb");
        assert_eq!(lines[2][..3], ["4711", "?", "1000"]);
    }

    #[test]
    fn durations_have_a_suitable_unit() {
        assert_eq!(microseconds(12.34), "12.3 us");
        assert_eq!(microseconds(4_500.0), "4.50 ms");
        assert_eq!(microseconds(2e6), "2.00 s");
    }
}
