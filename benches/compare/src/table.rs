//! Formats rows as a table for people.

use crate::row::Row;

/// Titles of the columns.
const TITLES: [&str; 11] = [
    "method/mode",
    "pattern",
    "pages",
    "observers",
    "stall p50",
    "p99",
    "max",
    "step added",
    "visible",
    "held MiB",
    "correct",
];

/// Returns the heading of the table.
pub fn heading() -> String {
    line(TITLES.map(str::to_owned))
}

/// Returns the line of `row`.
pub fn row(row: &Row) -> String {
    let skipped = match row.skipped {
        0 => String::new(),
        n => format!(", {n} skipped"),
    };
    line([
        format!("{}/{}", row.method, row.mode),
        row.pattern.clone(),
        format!("{} %", row.coverage),
        row.observers.to_string(),
        time(row.stall_us_p50),
        time(row.stall_us_p99),
        time(row.stall_us_max),
        time(row.step_added_ms * 1e3),
        row.visible_ms.map_or("-".to_owned(), |ms| time(ms * 1e3)),
        format!("{:.0}", row.held_bytes as f64 / f64::from(1 << 20)),
        if row.correct { "yes" } else { "NO" }.to_owned() + &skipped,
    ])
}

fn line(cells: [String; 11]) -> String {
    let [
        method,
        pattern,
        pages,
        observers,
        p50,
        p99,
        max,
        added,
        visible,
        held,
        correct,
    ] = cells;
    format!(
        "{method:<22} {pattern:<10} {pages:>5} {observers:>9}  {p50:>9} {p99:>9} {max:>9}  \
         {added:>10} {visible:>9} {held:>8}  {correct}"
    )
}

/// Formats a time that is given in microseconds, in a suitable unit.
pub fn time(us: f64) -> String {
    match us.abs() {
        a if a < 1e3 => format!("{us:.1} us"),
        a if a < 1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}
