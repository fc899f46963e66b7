//! Draws the histogram of the whole field.

use super::colours::{Depth, pick};
use super::model::Model;
use super::panel::{self, dim};
use super::places::take_bottom;
use super::text::fit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::{Sparkline, SparklineBar, Widget};
use std::iter::zip;
use tcasm_analytics::Histogram;

/// Draws the bars, in the colours that the slice uses for the same values.
pub fn draw(model: &Model, depth: Depth, area: Rect, buffer: &mut Buffer) {
    panel::block(title(model)).render(area, buffer);
    let Some((_, histogram)) = &model.shown.histogram else {
        return;
    };
    let mut inside = panel::inner(area);
    let ends = take_bottom(&mut inside, 1);
    draw_ends(histogram, ends, buffer);
    let palette = depth.palette(model.choice.map);
    let colours = zip(&histogram.edges, histogram.edges.iter().skip(1)).map(|(low, high)| {
        let share = model.scale()?.share((low + high) / 2.0)?;
        Some(pick(&palette, share))
    });
    let heights = heights(&histogram.counts, inside.height);
    let bars: Vec<SparklineBar> = zip(heights, colours)
        .map(|(height, colour)| {
            let style = Style::new().fg(colour.unwrap_or(Color::Reset));
            SparklineBar::from(height).style(style)
        })
        .collect();
    Sparkline::default()
        .data(bars)
        .max(u64::from(inside.height) * EIGHTHS)
        .render(inside, buffer);
}

/// The number of different heights of a bar within one line of the terminal.
const EIGHTHS: u64 = 8;

/// Returns the heights of the bars, in eighths of a line. A bar that is not empty has at least one.
fn heights(counts: &[u64], lines: u16) -> Vec<u64> {
    let (most, room) = (
        counts.iter().max().copied().unwrap_or(0),
        u64::from(lines) * EIGHTHS,
    );
    let height = |count: &u64| {
        let height = u128::from(*count) * u128::from(room) / u128::from(most.max(1));
        (height as u64).max(u64::from(*count > 0))
    };
    counts.iter().map(height).collect()
}

fn title(model: &Model) -> String {
    if model.shown.histogram.is_none() {
        return " histogram ".to_owned();
    }
    format!(" values of {} ", model.shown_name())
}

fn draw_ends(histogram: &Histogram, area: Rect, buffer: &mut Buffer) {
    let (Some(first), Some(last)) = (histogram.edges.first(), histogram.edges.last()) else {
        return;
    };
    let width = usize::from(area.width) / 2;
    let (first, last) = (fit(*first, width.min(11)), fit(*last, width.min(11)));
    if area.is_empty() || width < 2 {
        return;
    }
    buffer.set_string(area.x, area.y, &first, dim());
    buffer.set_string(area.right() - last.len() as u16, area.y, &last, dim());
}

#[cfg(test)]
mod tests {
    use super::heights;

    #[test]
    fn highest_bar_fills_the_panel_and_the_lowest_is_visible() {
        assert_eq!(heights(&[0, 1, 500, 1000], 5), [0, 1, 20, 40]);
        assert_eq!(heights(&[0, 0], 5), [0, 0]);
        assert_eq!(heights(&[u64::MAX, 1], 2), [16, 1]);
    }
}
