//! The content of a figure, before it is drawn.

use super::axis::Axis;

/// The smallest value that an axis shows, in milliseconds. Smaller values are too small to measure
/// and are drawn at the lower edge.
const FLOOR_MS: f64 = 0.001;

/// The line of one mode of a method.
#[derive(Clone, Debug)]
pub struct Series {
    pub method: String,
    pub mode: String,
    pub points: Vec<(f64, f64)>,
}

impl Series {
    pub fn new(method: &str, mode: &str) -> Self {
        Series {
            method: method.to_owned(),
            mode: mode.to_owned(),
            points: Vec::new(),
        }
    }

    /// Returns the name in the legend.
    pub fn label(&self) -> String {
        match self.mode.as_str() {
            "default" => self.method.clone(),
            mode => format!("{} {mode}", self.method),
        }
    }
}

/// A pair of axes with lines.
#[derive(Clone, Debug)]
pub struct Panel {
    pub heading: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

impl Panel {
    pub fn new(heading: &str, x: Axis, y_title: &str, series: Vec<Series>) -> Self {
        let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
        Panel {
            heading: heading.to_owned(),
            x,
            y: Axis::decades(y_title, values, FLOOR_MS),
            series,
        }
    }
}

/// Panels, two in each row, with one legend.
#[derive(Clone, Debug)]
pub struct Figure {
    pub panels: Vec<Panel>,
    pub caption: String,
}

impl Figure {
    pub fn new(panels: Vec<Panel>, mib: u64) -> Self {
        Figure {
            panels,
            caption: format!("Buffer of {mib} MiB. Open markers lie at or below the lower edge."),
        }
    }

    /// Returns true if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|p| p.series.is_empty())
    }

    /// Returns the entries of the legend. Each has the index of its mode among the modes of its
    /// method.
    pub fn legend(&self) -> Vec<(usize, &Series)> {
        let mut lines: Vec<(usize, &Series)> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series) {
            let same =
                |(_, s): &&(usize, &Series)| (&s.method, &s.mode) == (&series.method, &series.mode);
            if !lines.iter().any(|l| same(&l)) {
                let mode = lines
                    .iter()
                    .filter(|(_, s)| s.method == series.method)
                    .count();
                lines.push((mode, series));
            }
        }
        lines
    }
}
