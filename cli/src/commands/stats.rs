//! `tcasm stats`: prints moments and histogram of a field.

use crate::args::StatsArgs;
use crate::failure::Failure;
use crate::output::{self, Table};
use crate::plain;
use crate::region;
use ndarray::{ArrayViewD, Axis};
use serde::Serialize;
use tcasm_analytics::dynamic::{self, AnalyticsError};
use tcasm_analytics::histogram::histogram_of_points;
use tcasm_analytics::moments::moments_of_points;
use tcasm_analytics::{Histogram, Moments, Number, PerComponent, Range, Scalar, Selection};
use tcasm_core::field::{self, FieldDesc};
use tcasm_core::with_dtype;
use tcasm_observer::{Stamp, Version};

/// The output. For a vector field, the values outside of `components` describe the magnitude.
#[derive(Debug, Serialize)]
struct Stats {
    name: String,
    field: String,
    #[serde(flatten)]
    stamp: Stamp,
    dtype: String,
    unit: String,
    shape: Vec<usize>,
    #[serde(flatten)]
    whole: Moments,
    histogram: Histogram,
    components: Vec<Moments>,
    component_histograms: Vec<Histogram>,
}

struct Operators {
    moments: PerComponent<Moments>,
    histogram: PerComponent<Histogram>,
    shape: Vec<usize>,
}

pub fn run(args: &StatsArgs) -> Result<(), Failure> {
    let version = region::pin(&args.what.name, args.what.version)?;
    let desc = region::field(&version, &args.what.field)?;
    let stats = gather(args, &version, desc)?;
    if args.format.json {
        output::json(&stats)
    } else {
        output::text(&text(&stats))
    }
}

fn gather(args: &StatsArgs, version: &Version, desc: &FieldDesc) -> Result<Stats, Failure> {
    let done = match args.slice.is_all() {
        true => of_field(args, version, desc)?,
        false => with_dtype!(desc.dtype, T => of_part::<T>(args, version, desc))?,
    };
    Ok(Stats {
        name: args.what.name.clone(),
        field: desc.name.clone(),
        stamp: version.stamp(),
        dtype: desc.dtype.to_string(),
        unit: desc.unit.clone(),
        shape: done.shape,
        whole: whole(&done.moments).clone(),
        histogram: whole(&done.histogram).clone(),
        components: done.moments.components,
        component_histograms: done.histogram.components,
    })
}

/// Returns the result for the magnitude of a vector, or for the only component.
fn whole<R>(each: &PerComponent<R>) -> &R {
    let first = each.components.first();
    let whole = each.magnitude.as_ref().or(first);
    whole.expect("a field has at least one component")
}

fn range(args: &StatsArgs) -> Range {
    args.range
        .map_or(Range::Auto, |(low, high)| Range::Given(low, high))
}

/// Reads the whole field piece by piece. Nothing is mapped, because each version is looked at once.
fn of_field(args: &StatsArgs, version: &Version, desc: &FieldDesc) -> Result<Operators, Failure> {
    let read = |at: u64, out: &mut [u8]| -> Result<(), Failure> {
        Ok(version.read_bytes(&desc.name, at, out)?)
    };
    Ok(Operators {
        histogram: dynamic::read_histogram(desc, read, args.bins, range(args))?,
        moments: dynamic::read_moments(desc, read)?,
        shape: desc.interior_shape(),
    })
}

/// Maps the part of the field that has the selection.
fn of_part<T: Number>(
    args: &StatsArgs,
    version: &Version,
    desc: &FieldDesc,
) -> Result<Operators, Failure> {
    field::check_type::<T>(desc).map_err(AnalyticsError::from)?;
    let failed = |source| {
        let name = desc.name.clone();
        AnalyticsError::Slice { name, source }
    };
    let (inner, rest) = args.slice.within(&desc.interior_shape()).map_err(failed)?;
    let ghosts = desc.ghosts.iter().map(|[before, _]| *before);
    let ranges = inner.iter().zip(ghosts);
    let ranges: Vec<_> = ranges.map(|(r, g)| r.start + g..r.end + g).collect();
    let view = version.view_part(&desc.name, &ranges)?;
    let part = view.part::<T>(&desc.name, &ranges)?;
    let points = with_components(&rest)
        .of(with_axis(part, desc))
        .map_err(failed)?;
    let histogram = histogram_of_points(points.view(), args.bins, range(args));
    let histogram = histogram.map_err(|source| {
        let name = desc.name.clone();
        AnalyticsError::Histogram { name, source }
    })?;
    let axes = points.ndim() - 1;
    Ok(Operators {
        shape: points.shape()[..axes].to_vec(),
        moments: moments_of_points(points),
        histogram,
    })
}

/// Returns an array whose last axis holds the components.
fn with_axis<'a, T>(array: ArrayViewD<'a, T>, desc: &FieldDesc) -> ArrayViewD<'a, T> {
    let axis = Axis(array.ndim());
    match desc.components {
        1 => array.insert_axis(axis),
        _ => array,
    }
}

/// Returns a selection of all axes that takes all components, too.
fn with_components(selection: &Selection) -> Selection {
    let text = format!("{selection},:");
    text.parse().expect("a selection and one more item")
}

fn text(stats: &Stats) -> String {
    let stamp = &stats.stamp;
    let unit = match stats.unit.as_str() {
        "" | "1" => String::new(), // "1": dimensionless
        unit => format!("  in {unit}"),
    };
    let heading = format!(
        "{} of {}  {}  {}{unit}  version {}  step {}  t = {}",
        stats.field,
        stats.name,
        stats.dtype,
        output::shape(&stats.shape),
        stamp.version,
        stamp.step,
        output::number(stamp.time)
    );
    let mut out = plain::line(&heading) + "\n";
    out += &moments(stats);
    out.push('\n');
    out += &bars(&stats.histogram);
    out
}

/// Renders the moments: one column per component, and one for the magnitude.
fn moments(stats: &Stats) -> String {
    let mut columns: Vec<&Moments> = stats.components.iter().collect();
    let mut table = Table::default();
    if columns.len() > 1 {
        let titles = (0..columns.len()).map(|c| format!("component {c}"));
        let names = [String::new()].into_iter().chain(titles);
        table.row(names.chain(["magnitude".to_owned()]));
        columns.push(&stats.whole);
    }
    let exact = |v: Option<Scalar>| v.map_or("-".to_owned(), output::scalar);
    let float = |v: Option<f64>| v.map_or("-".to_owned(), output::number);
    type Show<'s> = &'s dyn Fn(&Moments) -> String;
    let rows: [(&str, Show<'_>); 8] = [
        ("count", &|m| m.count.to_string()),
        ("NaN", &|m| m.nans.to_string()),
        ("infinite", &|m| m.infinities.to_string()),
        ("min", &|m| exact(m.min)),
        ("max", &|m| exact(m.max)),
        ("mean", &|m| exact(m.mean)),
        ("variance", &|m| float(m.variance)),
        ("std", &|m| float(m.std)),
    ];
    for (name, show) in rows {
        table.row(
            [name.to_owned()]
                .into_iter()
                .chain(columns.iter().map(|m| show(m))),
        );
    }
    table.render()
}

/// Length of the longest bar of the histogram, in characters.
const BAR: usize = 50;

fn bars(histogram: &Histogram) -> String {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let mut table = Table::default();
    for (edges, count) in histogram.edges.windows(2).zip(&histogram.counts) {
        let length = (*count as f64 / most as f64 * BAR as f64).ceil() as usize;
        table.row([
            output::number(edges[0]),
            "..".to_owned(),
            output::number(edges[1]),
            count.to_string(),
            "#".repeat(length),
        ]);
    }
    let mut out = table.render();
    for (count, what) in [
        (histogram.below, "below"),
        (histogram.above, "above"),
        (histogram.nans, "NaN"),
    ] {
        if count > 0 {
            out += &format!("{what}: {count}\n");
        }
    }
    out
}
