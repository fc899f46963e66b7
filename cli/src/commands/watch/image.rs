//! Draws a slice as a heat map. Each character shows two samples, in its upper and its lower half.
//! The first row of the slice is the lowest.

use super::colours::{Depth, NOT_FINITE, Scale, pick, shade};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::widgets::Widget;
use tcasm_view::Image;

/// The largest ratio of the sides. If the ratio of a field is larger, its shorter side is drawn
/// longer than it is.
const LONGEST: f64 = 8.0;

pub struct HeatMap<'a> {
    pub image: &'a Image,
    pub scale: &'a Scale,
    pub palette: &'a [Color],
    pub depth: Depth,
    /// The distance of points along a row, divided by their distance along a column.
    pub stretch: f64,
}

impl Widget for HeatMap<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() || self.image.samples.is_empty() {
            return;
        }
        let size = self.fit(area);
        let lines = size[0].div_ceil(2);
        let left = area.x + (area.width - size[1]) / 2;
        let top = area.y + (area.height - lines) / 2;
        let values = resample(self.image, size.map(usize::from));
        let width = usize::from(size[1]);
        for line in 0..lines {
            for column in 0..size[1] {
                let at = |row: u16| {
                    let index = usize::from(row) * width + usize::from(column);
                    values.get(index).map(|value| self.scale.share(*value))
                };
                let halves = [at(2 * line), at(2 * line + 1)];
                let cell = &mut buffer[(left + column, top + line)];
                put(cell, halves, self.palette, self.depth);
            }
        }
    }
}

impl HeatMap<'_> {
    /// Returns the number of rows and columns of samples to draw, such that lengths are in
    /// proportion. Half a character is about as high as it is wide.
    fn fit(&self, area: Rect) -> [u16; 2] {
        let [rows, cols] = self.image.window.map(|[first, end]| (end - first) as f64);
        let aspect = cols * self.stretch / rows;
        let aspect = match aspect.is_finite() && aspect > 0.0 {
            true => aspect.clamp(1.0 / LONGEST, LONGEST),
            false => 1.0,
        };
        let (most_rows, most_cols) = (f64::from(area.height) * 2.0, f64::from(area.width));
        let width = most_cols.min(most_rows * aspect);
        let height = most_rows.min(width / aspect);
        [
            (height.round() as u16).clamp(1, area.height * 2),
            (width.round() as u16).clamp(1, area.width),
        ]
    }
}

/// Draws one character from the shares of its halves. The outer `None` stands for a half where
/// there is nothing, the inner one for a sample that is not finite.
pub fn put(cell: &mut Cell, halves: [Option<Option<f64>>; 2], palette: &[Color], depth: Depth) {
    if depth == Depth::None {
        cell.set_symbol(symbol(halves));
        return;
    }
    let bad = depth.not_finite();
    let colour = |share: Option<f64>| share.map_or(bad, |share| pick(palette, share));
    match halves.map(|half| half.map(colour)) {
        [Some(upper), Some(lower)] => cell.set_symbol("\u{2580}").set_fg(upper).set_bg(lower),
        [Some(upper), None] => cell.set_symbol("\u{2580}").set_fg(upper),
        [None, Some(lower)] => cell.set_symbol("\u{2584}").set_fg(lower),
        [None, None] => cell.set_symbol(" "),
    };
}

/// Returns the character for the shares of two halves.
fn symbol(halves: [Option<Option<f64>>; 2]) -> &'static str {
    if halves.contains(&Some(None)) {
        return NOT_FINITE;
    }
    let shares: Vec<f64> = halves.into_iter().flatten().flatten().collect();
    shade(shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Resamples the image to `height` rows and `width` columns. The uppermost row, which is the last
/// one of the image, comes first. A value is the mean of several samples, or a sample is repeated.
fn resample(image: &Image, [height, width]: [usize; 2]) -> Vec<f64> {
    let [rows, cols] = image.size;
    let span = |i: usize, of: usize, count: usize| {
        let first = i * count / of;
        first..((i + 1) * count / of).max(first + 1)
    };
    let value = |row: usize, col: usize| {
        let lines = span(height - 1 - row, height, rows);
        let across = span(col, width, cols);
        let samples = lines.flat_map(|r| &image.samples[r * cols..][across.clone()]);
        mean(samples) + image.base
    };
    let all = (0..height).flat_map(|row| (0..width).map(move |col| (row, col)));
    all.map(|(row, col)| value(row, col)).collect()
}

/// Returns the mean of the samples. It is not finite if one of them is not.
fn mean<'a>(samples: impl Iterator<Item = &'a f32>) -> f64 {
    let (sum, count) = samples.fold((0.0, 0), |(sum, count), sample| {
        (sum + f64::from(*sample), count + 1)
    });
    sum / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends and the middle of the colour map viridis.
    const LOW: Color = Color::Rgb(0x44, 0x01, 0x54);
    const MIDDLE: Color = Color::Rgb(0x20, 0x91, 0x8c);
    const HIGH: Color = Color::Rgb(0xfd, 0xe7, 0x25);

    fn image(size: [usize; 2], samples: &[f32]) -> Image {
        let [rows, cols] = size;
        Image {
            size,
            block: [1, 1],
            window: [[0, rows], [0, cols]],
            base: 10.0,
            range: Some([10.0, 12.0]),
            samples: samples.to_vec(),
            not_finite: 0,
            envelope: Vec::new(),
        }
    }

    fn drawn(image: &Image, depth: Depth, stretch: f64, [width, height]: [u16; 2]) -> Buffer {
        let scale = Scale::of(image, None, false).unwrap();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let palette = &depth.palette(0);
        let map = HeatMap {
            image,
            scale: &scale,
            palette,
            depth,
            stretch,
        };
        map.render(area, &mut buffer);
        buffer
    }

    fn cell(buffer: &Buffer, x: u16, y: u16) -> (&str, Color, Color) {
        let cell = &buffer[(x, y)];
        (cell.symbol(), cell.fg, cell.bg)
    }

    #[test]
    fn first_row_is_the_lowest_and_values_have_their_colours() {
        let buffer = drawn(
            &image([2, 2], &[0.0, 1.0, 2.0, 0.0]),
            Depth::True,
            1.0,
            [2, 1],
        );
        assert_eq!(cell(&buffer, 0, 0), ("\u{2580}", HIGH, LOW));
        assert_eq!(cell(&buffer, 1, 0), ("\u{2580}", LOW, MIDDLE));
    }

    #[test]
    fn samples_that_are_not_finite_have_a_colour_of_their_own() {
        let bad = Depth::True.not_finite();
        let samples = [0.0, f32::NAN, f32::NAN, f32::NAN, 2.0, 2.0];
        let buffer = drawn(&image([2, 3], &samples), Depth::True, 1.0, [3, 1]);
        assert_eq!(cell(&buffer, 0, 0), ("\u{2580}", bad, LOW));
        assert_eq!(cell(&buffer, 1, 0), ("\u{2580}", HIGH, bad));
        let samples = [0.0, f32::INFINITY, 2.0, f32::NAN];
        let buffer = drawn(&image([2, 2], &samples), Depth::True, 1.0, [2, 1]);
        assert_eq!(cell(&buffer, 1, 0), ("\u{2580}", bad, bad));
    }

    #[test]
    fn one_nan_among_many_samples_of_a_character_is_drawn() {
        let mut samples = [1.0; 64 * 64];
        samples[64 * 20 + 33] = f32::NAN;
        let image = image([64, 64], &samples);
        for (depth, seen) in [(Depth::True, "\u{2580}"), (Depth::None, NOT_FINITE)] {
            let buffer = drawn(&image, depth, 1.0, [8, 4]);
            let bad = depth.not_finite();
            let marked = |cell: &&Cell| match depth {
                Depth::None => cell.symbol() == NOT_FINITE,
                _ => cell.fg == bad || cell.bg == bad,
            };
            let marked: Vec<&Cell> = buffer.content.iter().filter(marked).collect();
            assert_eq!(marked.len(), 1, "{depth:?}");
            assert_eq!(marked[0].symbol(), seen, "{depth:?}");
        }
    }

    #[test]
    fn shades_replace_colours_if_there_are_none() {
        let samples = [0.0, 2.0, f32::NAN, 0.0, 2.0, f32::NAN];
        let buffer = drawn(&image([2, 3], &samples), Depth::None, 1.0, [3, 1]);
        let row: String = (0..3).map(|x| cell(&buffer, x, 0).0).collect();
        assert_eq!(row, " @?");
        assert!(
            buffer
                .content
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }

    /// Returns the number of columns, and of rows of half characters, that are drawn on.
    fn extent(buffer: &Buffer) -> [usize; 2] {
        let area = buffer.area;
        let drawn = |x, y| buffer[(x, y)].fg != Color::Reset;
        let columns = (0..area.width).filter(|x| (0..area.height).any(|y| drawn(*x, y)));
        let lines = (0..area.height).filter(|y| (0..area.width).any(|x| drawn(x, *y)));
        [columns.count(), lines.count() * 2]
    }

    #[test]
    fn lengths_are_in_proportion() {
        let samples = [0.5; 64 * 32];
        let wide = image([32, 64], &samples);
        let extent_of = |stretch, size| extent(&drawn(&wide, Depth::True, stretch, size));
        assert_eq!(extent_of(1.0, [40, 40]), [40, 20]);
        assert_eq!(extent_of(1.0, [100, 10]), [40, 20]);
        assert_eq!(
            extent_of(0.5, [40, 40]),
            [40, 40],
            "points are closer along rows"
        );
        assert_eq!(
            extent_of(1000.0, [40, 40])[1],
            6,
            "at most eight times as long"
        );
        assert_eq!(extent_of(f64::NAN, [40, 40]), [40, 40]);
    }

    #[test]
    fn samples_are_averaged_or_repeated() {
        let samples: Vec<f32> = (0..16)
            .map(|i| if i % 2 == 0 { 0.0 } else { 2.0 })
            .collect();
        let values = resample(&image([4, 4], &samples), [2, 2]);
        assert_eq!(values, [11.0; 4]);
        let values = resample(&image([1, 2], &[0.0, 2.0]), [2, 4]);
        assert_eq!(values, [10.0, 10.0, 12.0, 12.0, 10.0, 10.0, 12.0, 12.0]);
    }
}
