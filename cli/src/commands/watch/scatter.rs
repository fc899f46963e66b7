//! Draws points in space, and slices of curved and uneven meshes. Each character shows two pixels,
//! in its upper and its lower half.

use super::colours::{Depth, Scale};
use super::image::put;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::widgets::Widget;
use tcasm_view::mesh::Raster;

/// The least shade of a point, if there are no colours: the shade of nothing is blank.
const LEAST: f64 = 0.1;

pub struct Scatter<'a> {
    /// Pixels: two rows for each line, a column for each character.
    pub raster: &'a Raster,
    pub scale: &'a Scale,
    pub palette: &'a [Color],
    pub depth: Depth,
}

/// Returns the number of rows and columns of pixels of an area.
pub fn size(area: Rect) -> [usize; 2] {
    [usize::from(area.height) * 2, usize::from(area.width)]
}

impl Widget for Scatter<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        for line in 0..area.height {
            for column in 0..area.width {
                let upper = 2 * usize::from(line);
                let halves = [upper, upper + 1].map(|row| self.share(row, usize::from(column)));
                let cell = &mut buffer[(area.x + column, area.y + line)];
                put(cell, halves, self.palette, self.depth);
            }
        }
    }
}

impl Scatter<'_> {
    /// Returns the share of the scale of a pixel, counted from the top: `None` where there is
    /// nothing, `Some(None)` for a value that is not finite.
    fn share(&self, row: usize, column: usize) -> Option<Option<f64>> {
        let [rows, cols] = self.raster.size;
        let row = rows.checked_sub(row + 1)?;
        let inside = (column < cols).then_some(row * cols + column)?;
        let value = self.raster.values.get(inside).copied().flatten()?;
        let shown = |share: f64| match self.depth {
            Depth::None => LEAST + (1.0 - LEAST) * share,
            _ => share,
        };
        Some(self.scale.share(value).map(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::super::colours::NOT_FINITE;
    use super::*;

    fn drawn(values: Vec<Option<f64>>, depth: Depth) -> Vec<String> {
        let raster = Raster {
            size: [4, 2],
            axes: [1, 0],
            extent: [[0.0, 1.0]; 2],
            values,
        };
        let scale = Scale {
            low: 0.0,
            high: 1.0,
            log: false,
        };
        let area = Rect::new(0, 0, 3, 2);
        let mut buffer = Buffer::empty(area);
        let palette = &depth.palette(0);
        let scatter = Scatter {
            raster: &raster,
            scale: &scale,
            palette,
            depth,
        };
        scatter.render(area, &mut buffer);
        let symbols = |y: u16| (0..3_u16).map(|x| buffer[(x, y)].symbol()).collect();
        (0..2).map(symbols).collect()
    }

    #[test]
    fn first_row_is_the_lowest_and_nothing_is_blank() {
        let mut values = vec![None; 8];
        (values[0], values[7]) = (Some(0.0), Some(1.0));
        assert_eq!(
            drawn(values.clone(), Depth::True),
            [" \u{2580} ", "\u{2584}  "]
        );
        // A point with the least value is not blank.
        assert_eq!(drawn(values, Depth::None), [" @ ", ".  "]);
    }

    #[test]
    fn value_that_is_not_finite_is_marked() {
        let mut values = vec![None; 8];
        values[0] = Some(f64::NAN);
        assert_eq!(drawn(values, Depth::None)[1], format!("{NOT_FINITE}  "));
    }
}
