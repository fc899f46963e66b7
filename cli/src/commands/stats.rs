//! `tcasm stats`: prints moments and histogram of a field.

mod print;

use crate::args::StatsArgs;
use crate::failure::{Code, Failure};
use crate::output;
use crate::part::Part;
use crate::ranks::Ranks;
use crate::subject::{Moment, Source, Subject};
use ndarray::{ArrayD, ArrayViewD, Axis};
use print::Stats;
use tcasm_analytics::dynamic::{self, AnalyticsError};
use tcasm_analytics::histogram::histogram_of_points;
use tcasm_analytics::moments::moments_of_points;
use tcasm_analytics::{Histogram, Lane, Moments, Number, PerComponent, Range, Selection};
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;
use tcasm_observer::GlobalField;

/// The results, and what they describe.
struct Operators {
    moments: PerComponent<Moments>,
    histogram: PerComponent<Histogram>,
    shape: Vec<usize>,
    /// The numbers of the components that have results.
    numbers: Vec<usize>,
    /// The ranks of a group that have the values.
    ranks: Option<Ranks>,
}

pub fn run(args: &StatsArgs) -> Result<(), Failure> {
    let source = Source::pin(&args.what.name, args.what.version)?;
    let stats = gather(args, &source.field(&args.what.field)?, source.moment())?;
    if args.format.json {
        output::json(&stats)
    } else {
        output::text(&print::text(&stats))
    }
}

fn gather(args: &StatsArgs, subject: &Subject<'_>, moment: Moment) -> Result<Stats, Failure> {
    let desc = subject.desc();
    let lane = args.component.map(|c| c.of(desc)).transpose()?;
    let done = match args.slice.is_all() {
        true => of_field(args, subject)?,
        false => with_dtype!(desc.dtype, T => of_part::<T>(args, subject))?,
    };
    let done = only(done, lane);
    Ok(Stats {
        name: args.what.name.clone(),
        field: desc.name.clone(),
        moment,
        ranks: done.ranks.clone(),
        dtype: desc.dtype.to_string(),
        unit: desc.unit.clone(),
        describes: described(&done, desc),
        shape: done.shape,
        whole: whole(&done.moments).clone(),
        histogram: whole(&done.histogram).clone(),
        component_numbers: done.numbers,
        components: done.moments.components,
        component_histograms: done.histogram.components,
    })
}

/// Returns the results of one lane, or all if none is given.
fn only(done: Operators, lane: Option<Lane>) -> Operators {
    let Some(lane) = lane else {
        return done;
    };
    let chosen = |number: &usize| lane == Lane::Component(*number);
    Operators {
        moments: only_lane(&done.moments, lane),
        histogram: only_lane(&done.histogram, lane),
        shape: done.shape,
        numbers: done.numbers.into_iter().filter(chosen).collect(),
        ranks: done.ranks,
    }
}

fn only_lane<R: Clone>(each: &PerComponent<R>, lane: Lane) -> PerComponent<R> {
    let one = each.get(lane).cloned();
    match lane {
        Lane::Component(_) => PerComponent {
            components: one.into_iter().collect(),
            magnitude: None,
        },
        Lane::Magnitude => PerComponent {
            components: Vec::new(),
            magnitude: one,
        },
    }
}

/// Says what the results outside of `components` describe.
fn described(done: &Operators, desc: &FieldDesc) -> String {
    match (&done.moments.magnitude, done.numbers.first()) {
        _ if desc.components == 1 => "values".to_owned(),
        (None, Some(number)) => format!("component {number}"),
        _ => "magnitude".to_owned(),
    }
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

/// Reads the whole field piece by piece, each piece once. Of the array of a group this is the part
/// that is on this host. If the part has gaps between its blocks, it is gathered.
fn of_field(args: &StatsArgs, subject: &Subject<'_>) -> Result<Operators, Failure> {
    let ranks = subject.ranks(None);
    match subject {
        Subject::Blocks(blocks) if !blocks.here.missing().is_empty() => {
            let here = &blocks.here;
            let part = Part::of(here.desc(), &Selection::all(), false)?;
            let done = with_dtype!(here.desc().dtype, T => of_present::<T>(args, here, &part))?;
            Ok(Operators { ranks, ..done })
        }
        _ => subject.read(|desc, read| {
            Ok(Operators {
                histogram: dynamic::read_histogram(desc, read, args.bins, range(args))?,
                moments: dynamic::read_moments(desc, read)?,
                shape: desc.interior_shape(),
                numbers: (0..desc.components).collect(),
                ranks,
            })
        }),
    }
}

/// Maps the part of the field that has the selection.
fn of_part<T: Number>(args: &StatsArgs, subject: &Subject<'_>) -> Result<Operators, Failure> {
    let desc = subject.desc();
    let part = Part::of(desc, &args.slice, false)?;
    if part.names_components() && args.component.is_some() {
        let text = "both --slice and --component choose components; use one of them";
        return Err(Failure::new(Code::Usage, text));
    }
    let ranks = subject.ranks(Some(part.ranges()));
    let done = match subject {
        Subject::Blocks(blocks) if !blocks.all.missing_in(part.ranges()).is_empty() => {
            of_present::<T>(args, &blocks.all, &part)
        }
        _ => part.read::<T, _>(subject, |selected| of_points(args, desc, &part, selected)),
    };
    Ok(Operators { ranks, ..done? })
}

/// Gathers a part of the array of a group, and takes only the values that ranks of this host have.
fn of_present<T: Number>(
    args: &StatsArgs,
    array: &GlobalField<'_>,
    part: &Part<'_>,
) -> Result<Operators, Failure> {
    part.read_present::<T, _>(array, |selected, is_here| {
        let axes = selected.ndim() - usize::from(part.is_vector());
        let shape = selected.shape()[..axes].to_vec();
        let values = present(selected, is_here, part.is_vector());
        let done = of_points(args, array.desc(), part, values.view())?;
        Ok(Operators { shape, ..done })
    })
}

/// Returns the values that are here as a list. That of a vector has a second axis, its components.
fn present<T: Number>(
    values: ArrayViewD<'_, T>,
    is_here: ArrayViewD<'_, bool>,
    is_vector: bool,
) -> ArrayD<T> {
    let components = values.shape().last().copied().filter(|_| is_vector);
    let all = values.iter().zip(is_here);
    let list = all
        .filter(|(_, is_here)| **is_here)
        .map(|(value, _)| *value);
    let list: Vec<T> = list.collect();
    let mut shape = vec![list.len() / components.unwrap_or(1)];
    shape.extend(components);
    ArrayD::from_shape_vec(shape, list).expect("all components of each value")
}

fn of_points<T: Number>(
    args: &StatsArgs,
    desc: &FieldDesc,
    part: &Part<'_>,
    selected: ArrayViewD<'_, T>,
) -> Result<Operators, Failure> {
    let last = Axis(selected.ndim());
    let points = match part.is_vector() {
        true => selected,
        false => selected.insert_axis(last),
    };
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
        numbers: part.components(),
        ranks: None,
    })
}
