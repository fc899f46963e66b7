//! Draws a figure as SVG text.

use super::panel::{Figure, Panel, Series};
use super::style;
use std::fmt::Write;

const PANEL: (f64, f64) = (350.0, 290.0);
// The space around a panel: on the left for numbers and the title, at the top for the heading, and
// at the bottom for numbers and the title.
const LEFT: f64 = 78.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 52.0;
const LEGEND: (f64, f64) = (225.0, 19.0);
const COLUMNS: usize = 2;

const AXIS: &str = "#333333";
const GRID: &str = "#e4e4e4";

/// Returns `figure` as SVG text.
pub fn draw(figure: &Figure) -> String {
    let rows = figure.panels.len().div_ceil(COLUMNS) as f64;
    let cell = (LEFT + PANEL.0 + RIGHT, TOP + PANEL.1 + BOTTOM);
    let legend = figure.legend();
    let width = cell.0 * COLUMNS as f64 + LEGEND.0;
    let height = (cell.1 * rows).max(TOP + LEGEND.1 * legend.len() as f64) + 22.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" \
         font-family=\"Ubuntu, 'DejaVu Sans', Helvetica, sans-serif\" font-size=\"13\" \
         fill=\"{AXIS}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (i, panel) in figure.panels.iter().enumerate() {
        let (column, row) = ((i % COLUMNS) as f64, (i / COLUMNS) as f64);
        let at = (cell.0 * column + LEFT, cell.1 * row + TOP);
        draw_panel(&mut out, panel, at, &legend);
    }
    let left = cell.0 * COLUMNS as f64 + 8.0;
    for (i, (mode, series)) in legend.iter().enumerate() {
        draw_legend(
            &mut out,
            series,
            *mode,
            (left, TOP + 8.0 + LEGEND.1 * i as f64),
        );
    }
    text(
        &mut out,
        (LEFT, height - 10.0),
        "start",
        0,
        12,
        &figure.caption,
    );
    out + "</svg>\n"
}

fn draw_panel(
    out: &mut String,
    panel: &Panel,
    (left, top): (f64, f64),
    legend: &[(usize, &Series)],
) {
    let (width, height) = PANEL;
    let x = |v: f64| left + width * panel.x.place(v);
    let y = |v: f64| top + height * (1.0 - panel.y.place(v));
    for (value, label) in &panel.y.marks {
        line(out, (left, y(*value)), (left + width, y(*value)), GRID);
        text(out, (left - 8.0, y(*value) + 4.5), "end", 0, 12, label);
    }
    for (value, label) in &panel.x.marks {
        line(out, (x(*value), top), (x(*value), top + height), GRID);
        text(
            out,
            (x(*value), top + height + 18.0),
            "middle",
            0,
            12,
            label,
        );
    }
    line(out, (left, top), (left, top + height), AXIS);
    line(
        out,
        (left, top + height),
        (left + width, top + height),
        AXIS,
    );
    let middle = (left + width / 2.0, top + height / 2.0);
    text(out, (middle.0, top - 12.0), "middle", 0, 13, &panel.heading);
    text(
        out,
        (middle.0, top + height + 40.0),
        "middle",
        0,
        13,
        &panel.x.title,
    );
    text(
        out,
        (left - 60.0, middle.1),
        "middle",
        -90,
        13,
        &panel.y.title,
    );
    // TCASM is drawn last, so it lies on top of the others.
    let (ours, others): (Vec<_>, Vec<_>) = panel.series.iter().partition(|s| s.method == "tcasm");
    for series in others.into_iter().chain(ours) {
        let same =
            |(_, s): &&(usize, &Series)| (&s.method, &s.mode) == (&series.method, &series.mode);
        let mode = legend.iter().find(same).map_or(0, |l| l.0);
        let points = series
            .points
            .iter()
            .map(|(a, b)| (x(*a), y(*b), panel.y.is_below(*b)));
        draw_series(out, series, mode, &points.collect::<Vec<_>>());
    }
}

fn draw_series(out: &mut String, series: &Series, mode: usize, points: &[(f64, f64, bool)]) {
    let (colour, marker, dashes, width) = style::of(&series.method, mode);
    let path = points.iter().map(|(x, y, _)| format!("{x:.1},{y:.1}"));
    let path = path.collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        out,
        "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         stroke-dasharray=\"{dashes}\" stroke-linejoin=\"round\"/>"
    );
    for (x, y, below) in points {
        let fill = if *below { "#ffffff" } else { colour };
        let shape = marker.path(*x, *y);
        let _ = writeln!(
            out,
            "<path d=\"{shape}\" fill=\"{fill}\" stroke=\"{colour}\"/>"
        );
    }
}

fn draw_legend(out: &mut String, series: &Series, mode: usize, (x, y): (f64, f64)) {
    let points = [(x, y, false), (x + 30.0, y, false)];
    let (colour, marker, dashes, width) = style::of(&series.method, mode);
    let _ = writeln!(
        out,
        "<line x1=\"{}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"{colour}\" \
         stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"/>",
        points[0].0, points[1].0
    );
    let shape = marker.path(x + 15.0, y);
    let _ = writeln!(out, "<path d=\"{shape}\" fill=\"{colour}\"/>");
    text(out, (x + 37.0, y + 4.5), "start", 0, 13, &series.label());
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, turn: i32, size: u32, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let turn = match turn {
        0 => String::new(),
        angle => format!(" transform=\"rotate({angle} {x:.1} {y:.1})\""),
    };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" \
         font-size=\"{size}\"{turn}>{words}</text>"
    );
}
