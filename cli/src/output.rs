//! Prints the output of commands: JSON, tables, numbers.

use crate::failure::Failure;
use crate::plain;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{Write, stderr, stdout};
use tcasm_analytics::Scalar;

/// Prints complete lines. Control characters other than newlines are escaped. Text from other
/// processes or files must go through [`plain::line`] or a [`Table`] first, so that it cannot begin
/// a line of its own.
pub fn text(text: &str) -> Result<(), Failure> {
    raw(&plain::lines(text))
}

/// Prints one line.
pub fn line(text: &str) -> Result<(), Failure> {
    raw(&plain::line(text))
}

/// Prints text without escaping. The caller makes sure that it is safe for a terminal.
pub fn raw(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a message on standard error.
pub fn note(text: &str) {
    let _ = write!(stderr(), "tcasm: {}", plain::line(text));
}

/// Prints JSON with indentation.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)? + "\n";
    raw(&plain::json(&text))
}

/// Prints JSON in one line, for streams.
pub fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(std::io::Error::from)? + "\n";
    raw(&plain::json(&text))
}

/// Rows of cells in aligned columns.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// Creates a table whose first row holds these titles.
    pub fn new(titles: &[&str]) -> Self {
        let mut table = Table::default();
        table.row(titles.iter().copied());
        table
    }

    /// Creates a table without titles, indented by `indent` columns.
    pub fn indented(indent: usize) -> Self {
        let rows = Vec::new();
        Table { rows, indent }
    }

    /// Adds a row. Newlines in cells are escaped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let plain = |cell: String| plain::plain(&cell).into_owned();
        let cells = cells.into_iter().map(|cell| plain(cell.into()));
        self.rows.push(cells.collect());
    }

    /// Renders the table. Columns of numbers are aligned to the right, others to the left.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |c: usize| self.rows.iter().filter_map(move |row| row.get(c));
        let widths: Vec<usize> = (0..columns)
            .map(|c| cells(c).map(|s| s.chars().count()).max().unwrap_or(0))
            .collect();
        // Skip the first row: it may hold titles.
        let right: Vec<bool> = (0..columns)
            .map(|c| cells(c).count() > 1 && cells(c).skip(1).all(|s| is_numeric(s)))
            .collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (c, cell) in row.iter().enumerate() {
                let width = widths[c];
                let _ = if right[c] {
                    write!(line, "{cell:>width$}  ")
                } else {
                    write!(line, "{cell:<width$}  ")
                };
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }
}

fn is_numeric(cell: &str) -> bool {
    cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'))
}

/// Formats a number with six significant digits, without trailing zeros.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let scientific = format!("{x:.5e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, e)| e.parse::<i32>().ok())
        .unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let digits = (5 - exponent) as usize;
        return shorten(&format!("{x:.digits$}")).to_owned();
    }
    let (mantissa, _) = scientific.split_once('e').unwrap_or((&scientific, ""));
    format!("{}e{exponent}", shorten(mantissa))
}

/// Formats a number from a field of integers, such as a mean: with all digits before the point, so
/// that it can be compared with values of the field.
pub fn of_integers(x: f64) -> String {
    match x.abs() {
        large if large >= 1e3 && x.is_finite() => shorten(&format!("{x:.3}")).to_owned(),
        _ => number(x),
    }
}

/// Removes the zeros at the end of a fraction.
fn shorten(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

/// Formats a value of any dtype: integers exactly, floats like [`number`].
pub fn scalar(value: Scalar) -> String {
    match value {
        Scalar::Int(_) | Scalar::UInt(_) => value.to_string(),
        Scalar::Float(x) => number(x),
        Scalar::Complex { re, im } => {
            let sign = if im.is_sign_negative() { "-" } else { "+" };
            format!("{}{sign}{}i", number(re), number(im.abs()))
        }
    }
}

/// Formats a size in bytes, such as `4.00 KiB`.
pub fn bytes(n: u64) -> String {
    indicatif::BinaryBytes(n).to_string()
}

/// Formats a number of things, such as `1 page` and `2 pages`.
pub fn count(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Formats a shape, such as `96 x 96 x 96`.
pub fn shape(extents: &[usize]) -> String {
    if extents.is_empty() {
        return "1 value".to_owned();
    }
    let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
    extents.join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_six_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (1.0 / 3.0, "0.333333"),
            (123_456.7, "123457"),
            (1_234_567.0, "1.23457e6"),
            (999_999.7, "1e6"),
            (0.000_012_5, "1.25e-5"),
            (2e-300, "2e-300"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn numbers_from_integers_keep_all_digits_before_the_point() {
        for (x, text) in [
            (0.0, "0"),
            (2.0 / 3.0, "0.666667"),
            (-1_234_567.0, "-1234567"),
            (123_456_789.25, "123456789.25"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(of_integers(x), text);
        }
    }

    #[test]
    fn complex_numbers_have_one_sign_between_parts() {
        let z = |re, im| scalar(Scalar::Complex { re, im });
        assert_eq!(
            (z(1.5, -2.0), z(0.0, 0.25)),
            ("1.5-2i".into(), "0+0.25i".into())
        );
    }

    #[test]
    fn one_thing_has_no_plural_s() {
        let texts = [0, 1, 2].map(|n| count(n, "page"));
        assert_eq!(texts, ["0 pages", "1 page", "2 pages"]);
    }

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_spaces() {
        let mut table = Table::new(&["NAME", "PID"]);
        table.row(["heat", "12"]);
        table.row(["x", "12345"]);
        assert_eq!(table.render(), "NAME    PID\nheat     12\nx     12345\n");
    }
}
