//! The output of `tcasm stats`, and its form as text.

use crate::output::{self, Table};
use crate::plain;
use crate::ranks::Ranks;
use crate::subject::Moment;
use serde::Serialize;
use tcasm_analytics::{Histogram, Moments, Scalar};

/// The output. The values outside of `components` describe what `describes` names.
#[derive(Debug, Serialize)]
pub struct Stats {
    pub(super) name: String,
    pub(super) field: String,
    #[serde(flatten)]
    pub(super) moment: Moment,
    /// The ranks of a group that have the values. A single region has none.
    pub(super) ranks: Option<Ranks>,
    pub(super) dtype: String,
    pub(super) unit: String,
    pub(super) shape: Vec<usize>,
    /// `values`, or for a vector field `magnitude` or, for example, `component 1`.
    pub(super) describes: String,
    #[serde(flatten)]
    pub(super) whole: Moments,
    pub(super) histogram: Histogram,
    /// The numbers of the components that the next two lists describe.
    pub(super) component_numbers: Vec<usize>,
    pub(super) components: Vec<Moments>,
    pub(super) component_histograms: Vec<Histogram>,
}

pub fn text(stats: &Stats) -> String {
    let unit = match stats.unit.as_str() {
        "" | "1" => String::new(), // "1": dimensionless
        unit => format!("  in {unit}"),
    };
    let heading = format!(
        "{} of {}  {}  {}{unit}  {}",
        stats.field,
        stats.name,
        stats.dtype,
        output::shape(&stats.shape),
        stats.moment
    );
    let mut out = plain::line(&heading);
    let note = stats.ranks.as_ref().and_then(Ranks::note);
    out += &note.map_or_else(String::new, |note| plain::line(&note));
    out.push('\n');
    out += &moments(stats);
    out.push('\n');
    if stats.describes != "values" {
        out += &format!("histogram of {}\n", described(stats));
    }
    out += &bars(&stats.histogram, &stats.whole);
    out
}

fn described(stats: &Stats) -> String {
    match stats.components.len() {
        0 | 1 => format!("the {}", stats.describes),
        _ => format!("the {} (--component chooses another)", stats.describes),
    }
}

/// Renders the moments: one column per component, and one for the magnitude.
fn moments(stats: &Stats) -> String {
    let mut columns: Vec<&Moments> = stats.components.iter().collect();
    let numbers = stats.component_numbers.iter();
    let mut titles: Vec<String> = numbers.map(|n| format!("component {n}")).collect();
    if stats.describes == "magnitude" {
        titles.push("magnitude".to_owned());
        columns.push(&stats.whole);
    }
    let mut table = Table::default();
    if stats.describes != "values" {
        table.row([String::new()].into_iter().chain(titles));
    }
    for (name, show) in ROWS {
        let cells = columns.iter().map(|m| show(m));
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    table.render() + &left_out(&columns)
}

/// A row of the table: its title, and how a cell is made.
type Row = (&'static str, fn(&Moments) -> String);

const ROWS: [Row; 9] = [
    ("count", |m| m.count.to_string()),
    ("nan", |m| m.nans.to_string()),
    ("+inf", |m| m.positive_infinities.to_string()),
    ("-inf", |m| m.negative_infinities.to_string()),
    ("min", |m| exact(m, m.min)),
    ("max", |m| exact(m, m.max)),
    ("mean", |m| exact(m, m.mean)),
    ("variance", |m| float(m.variance)),
    ("std", |m| float(m.std)),
];

/// Formats a value of the moments `of`: of integers with all digits before the point.
fn exact(of: &Moments, value: Option<Scalar>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Scalar::Float(x)) => number(of)(x),
        Some(value) => output::scalar(value),
    }
}

fn float(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), output::number)
}

/// Returns how numbers in the range of the values are formatted.
fn number(of: &Moments) -> fn(f64) -> String {
    match of.min {
        Some(Scalar::Int(_) | Scalar::UInt(_)) => output::of_integers,
        _ => output::number,
    }
}

/// Says over which values the moments were taken, if not over all.
fn left_out(columns: &[&Moments]) -> String {
    let finite = |m: &&&Moments| m.finite() == m.count;
    match columns.iter().filter(finite).count() == columns.len() {
        true => String::new(),
        false => {
            let each: Vec<String> = columns.iter().map(|m| m.finite().to_string()).collect();
            let each = each.join(", ");
            format!("min to std are those of the finite values: {each}\n")
        }
    }
}

/// Length of the longest bar of the histogram, in characters.
const BAR: usize = 50;

fn bars(histogram: &Histogram, moments: &Moments) -> String {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let number = number(moments);
    let mut table = Table::default();
    for (edges, count) in histogram.edges.windows(2).zip(&histogram.counts) {
        let length = (*count as f64 / most as f64 * BAR as f64).ceil() as usize;
        table.row([
            number(edges[0]),
            "..".to_owned(),
            number(edges[1]),
            count.to_string(),
            "#".repeat(length),
        ]);
    }
    let mut out = table.render();
    let (low, high) = (moments.negative_infinities, moments.positive_infinities);
    for (count, what) in [
        (histogram.below.saturating_sub(low), "below"),
        (histogram.above.saturating_sub(high), "above"),
        (low, "-inf"),
        (high, "+inf"),
        (histogram.nans, "nan"),
    ] {
        if count > 0 {
            out += &format!("{what}: {count}\n");
        }
    }
    out
}
