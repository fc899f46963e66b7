//! Draws a field of one axis as a line.

use super::colours::Scale;
use super::panel::dim;
use super::text::fit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};
use tcasm_view::Image;

/// Draws the values of `image`, which has one row. `scale` sets the ends of the vertical axis.
pub fn draw(image: &Image, scale: Option<Scale>, area: Rect, buffer: &mut Buffer) {
    let Some(scale) = scale else {
        return;
    };
    let lines = lines(image, &scale);
    let line = |points| {
        let set = Dataset::default().marker(Marker::Braille);
        set.graph_type(GraphType::Line).data(points)
    };
    let datasets = lines.iter().map(|points| line(points)).collect();
    let [first, end] = image.window[1];
    let last = end.saturating_sub(1).max(first);
    let across = axis(first as f64, (last as f64).max(first as f64 + 1.0))
        .labels([first.to_string(), last.to_string()]);
    let up = axis(0.0, 1.0).labels([fit(scale.low, 11), fit(scale.high, 11)]);
    Chart::new(datasets)
        .x_axis(across)
        .y_axis(up)
        .render(area, buffer);
}

fn axis<'a>(low: f64, high: f64) -> Axis<'a> {
    Axis::default().style(dim()).bounds([low, high])
}

/// Returns the lines between neighbouring values. A line ends where a value is not finite. Where a
/// sample stands for several points, the line goes through their least and their greatest value.
fn lines(image: &Image, scale: &Scale) -> Vec<Vec<(f64, f64)>> {
    let place = |i: usize| {
        let middle = i * image.block[1] + (image.block[1] - 1) / 2;
        (image.window[1][0] + middle) as f64
    };
    let ends = |(i, sample): (usize, &f32)| {
        let value = image.base + f64::from(*sample);
        let [low, high] = image.envelope.get(i).copied().unwrap_or([value; 2]);
        let x = place(i);
        Some([(x, scale.share(low)?), (x, scale.share(high)?)])
    };
    let ends: Vec<Option<[(f64, f64); 2]>> = image.samples.iter().enumerate().map(ends).collect();
    ends.split(Option::is_none)
        .filter(|part| !part.is_empty())
        .map(line_of)
        .collect()
}

/// Returns the line through these pairs of ends. A pair of equal ends is one point.
fn line_of(ends: &[Option<[(f64, f64); 2]>]) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = ends.iter().flatten().flatten().copied().collect();
    line.dedup();
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_at_nan() {
        let image = Image {
            size: [1, 4],
            block: [1, 2],
            window: [[0, 1], [10, 18]],
            base: 100.0,
            range: Some([100.0, 104.0]),
            samples: vec![0.0, 2.0, f32::NAN, 4.0],
            not_finite: 1,
            envelope: Vec::new(),
        };
        let scale = Scale::of(&image, None, false).unwrap();
        let right = vec![vec![(10.0, 0.0), (12.0, 0.5)], vec![(16.0, 1.0)]];
        assert_eq!(lines(&image, &scale), right);
    }

    #[test]
    fn line_reaches_the_spikes_of_its_blocks() {
        let nan = f64::NAN;
        let image = Image {
            size: [1, 3],
            block: [1, 3],
            window: [[0, 1], [0, 9]],
            base: 0.0,
            range: Some([0.0, 4.0]),
            samples: vec![1.0, f32::NAN, f32::NAN],
            not_finite: 4,
            envelope: vec![[0.0, 4.0], [1.0, 1.0], [nan, nan]],
        };
        let scale = Scale::of(&image, None, false).unwrap();
        let right = [(1.0, 0.0), (1.0, 1.0), (4.0, 0.25)];
        assert_eq!(lines(&image, &scale), [right]);
    }
}
