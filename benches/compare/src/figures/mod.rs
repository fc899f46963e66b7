//! The two figures. They show the cost of a step against the share of pages that it writes, and
//! against the number of observers.

mod axis;
mod panel;
mod png;
mod style;
mod svg;

use crate::failure::{Failure, While};
use crate::plan::{COVERAGES, OBSERVED_COVERAGES, OBSERVERS};
use crate::row::Row;
use axis::Axis;
use panel::{Figure, Panel, Series};
use std::path::{Path, PathBuf};

/// Draws both figures into `dir`, as SVG and PNG. Returns the paths of the files. A figure without
/// rows is left out.
pub fn draw_all(rows: &[Row], dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(dir).context(format!("making {dir:?}"))?;
    let figures = [
        ("coverage", against_coverage(rows)),
        ("observers", against_observers(rows)),
    ];
    let mut written = Vec::new();
    for (name, figure) in figures.into_iter().filter(|(_, f)| !f.is_empty()) {
        let text = svg::draw(&figure);
        let pixels = png::render(name, &text)?;
        for (kind, bytes) in [("svg", text.as_bytes()), ("png", &pixels)] {
            let path = dir.join(format!("{name}.{kind}"));
            std::fs::write(&path, bytes).context(format!("writing {path:?}"))?;
            written.push(path);
        }
    }
    Ok(written)
}

/// A quantity that is drawn: the title of its axis, and a function that returns it in milliseconds.
type Measure = (&'static str, fn(&Row) -> f64);

const MEASURES: [Measure; 2] = [
    ("stall per step (ms), median", |row| row.stall_us_p50 / 1e3),
    ("added to a step in total (ms)", |row| row.step_added_ms),
];

fn against_coverage(rows: &[Row]) -> Figure {
    let x = Axis::log(
        "share of pages written per step (%)",
        &COVERAGES.map(f64::from),
    );
    let panels = MEASURES.map(|(title, value)| {
        let here = rows
            .iter()
            .filter(|r| r.pattern == "random" && r.observers == 1);
        let series = series(here, |row| Some(f64::from(row.coverage)), value);
        Panel::new("random pages, one observer", x.clone(), title, series)
    });
    Figure::new(panels.into(), size_of(rows))
}

fn against_observers(rows: &[Row]) -> Figure {
    let x = Axis::categories("observers", &OBSERVERS.map(|o| o.to_string()));
    let panels = OBSERVED_COVERAGES.into_iter().flat_map(|coverage| {
        let x = x.clone();
        MEASURES.map(move |(title, value)| {
            let here = rows
                .iter()
                .filter(|r| r.pattern == "random" && r.coverage == coverage);
            let place = |row: &Row| OBSERVERS.iter().position(|o| *o == row.observers);
            let series = series(here, |row| place(row).map(|at| at as f64), value);
            let heading = format!("{coverage} % of all pages, random");
            Panel::new(&heading, x.clone(), title, series)
        })
    });
    Figure::new(panels.collect(), size_of(rows))
}

/// Returns one line for each mode, in the order in which the modes first appear in `rows`.
fn series<'a>(
    rows: impl Iterator<Item = &'a Row>,
    x: impl Fn(&Row) -> Option<f64>,
    y: fn(&Row) -> f64,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for row in rows {
        let Some(x) = x(row) else { continue };
        let known = all
            .iter()
            .position(|s| (&s.method, &s.mode) == (&row.method, &row.mode));
        let at = known.unwrap_or_else(|| {
            all.push(Series::new(&row.method, &row.mode));
            all.len() - 1
        });
        all[at].points.push((x, y(row)));
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

/// Returns the size of the buffer in MiB, for the caption.
fn size_of(rows: &[Row]) -> u64 {
    let sizes = rows
        .iter()
        .filter(|r| r.pattern == "random")
        .map(|r| r.bytes >> 20);
    sizes.max().unwrap_or_default()
}
