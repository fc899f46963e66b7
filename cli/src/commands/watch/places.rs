//! Places the panels on the screen: as many as fit, the most useful ones first.

use super::panel;
use ratatui::layout::Rect;

/// The numbers of rows that panels need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    pub fields: usize,
    pub observers: usize,
}

/// The places of all panels. A panel that does not fit has an empty place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The most important values as text. On a very small screen it replaces all panels.
    pub summary: Rect,
    pub header: Rect,
    pub fields: Rect,
    pub slice: Rect,
    pub producer: Rect,
    pub observers: Rect,
    pub histogram: Rect,
    pub versions: Rect,
    pub status: Rect,
}

/// Columns and rows below which only the summary is shown.
const SMALLEST: (u16, u16) = (24, 5);
/// Columns below which no panel is beside the slice.
const WIDE: u16 = 70;
/// Rows of the panel of the producer.
const PRODUCER: u16 = 9;

impl Places {
    /// Places the panels in `area`.
    pub fn of(area: Rect, sizes: &Sizes) -> Places {
        let mut places = Places::default();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            places.summary = area;
            return places;
        }
        let mut rest = area;
        places.header = take_top(&mut rest, 1);
        places.status = take_bottom(&mut rest, 1);
        if area.height >= 12 {
            places.versions = take_bottom(&mut rest, 1);
        }
        let rows = rows_of_fields(rest.height, sizes.fields);
        places.fields = take_top(&mut rest, rows);
        if rest.width >= WIDE && rest.height >= 8 {
            places.beside(&mut rest, sizes);
        }
        if rest.height >= 4 {
            places.slice = rest;
        } else {
            places.fields.height += rest.height;
        }
        places
    }

    /// Places the panels to the right of the slice.
    fn beside(&mut self, rest: &mut Rect, sizes: &Sizes) {
        let width = (rest.width / 3).clamp(38, 46);
        let mut side = Rect {
            x: rest.right() - width,
            width,
            ..*rest
        };
        rest.width -= width;
        self.producer = take_top(&mut side, PRODUCER);
        let wanted = (sizes.observers.clamp(1, 6) + 2) as u16;
        if side.height >= wanted {
            self.observers = take_top(&mut side, wanted);
        }
        if side.height >= 6 {
            self.histogram = side;
        } else {
            let last = if self.observers.is_empty() {
                &mut self.producer
            } else {
                &mut self.observers
            };
            last.height += side.height;
        }
    }

    /// Returns the place of the slice itself, without the border and the bar of colours.
    pub fn image(&self) -> Rect {
        let mut inner = panel::inner(self.slice);
        take_bottom(&mut inner, 1);
        inner
    }

    /// Returns the numbers of rows and columns of samples of that place: two rows per line.
    pub fn pixels(&self) -> [usize; 2] {
        let image = self.image();
        [usize::from(image.height) * 2, usize::from(image.width)]
    }

    /// Returns the place of the bars of the histogram.
    pub fn bars(&self) -> Rect {
        let mut inner = panel::inner(self.histogram);
        take_bottom(&mut inner, 1);
        inner
    }

    /// Returns the places of all panels.
    #[cfg(test)]
    pub fn all(&self) -> [Rect; 9] {
        [
            self.summary,
            self.header,
            self.fields,
            self.slice,
            self.producer,
            self.observers,
            self.histogram,
            self.versions,
            self.status,
        ]
    }
}

/// Returns the rows of the table of fields, with its titles: at most a quarter of `height`, but two
/// if possible.
fn rows_of_fields(height: u16, fields: usize) -> u16 {
    let most = (height / 4).max(2).min(height);
    let wanted = u16::try_from(fields.max(1) + 1).unwrap_or(u16::MAX);
    wanted.min(most)
}

/// Cuts `rows` rows off at the top of `rest` and returns them.
pub fn take_top(rest: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(rest.height);
    let top = Rect { height, ..*rest };
    rest.y += height;
    rest.height -= height;
    top
}

/// Cuts `rows` rows off at the bottom of `rest` and returns them.
pub fn take_bottom(rest: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(rest.height);
    rest.height -= height;
    Rect {
        y: rest.bottom(),
        height,
        ..*rest
    }
}
