//! The choice of the user: the field and slice that are shown, and how. Keys change it.

use tcasm_view::colormaps::MAPS;
use tcasm_view::region::Field;

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Quit, or close the help.
    Quit,
    /// Quit, even if the help is shown.
    Interrupt,
    /// Stop the program until the shell continues it.
    Suspend,
    /// Draw the whole screen again.
    Redraw,
    /// Show the help.
    Help,
    /// Move the selection down by this number of fields.
    Field(isize),
    /// Cut the field across this axis.
    Cut(Axis),
    /// Move the slice by this number of points.
    Move(isize),
    /// Move the slice by this number of tenths of the axis.
    Page(isize),
    /// Show the next component.
    Component,
    /// Use the next colour map.
    Map,
    /// Switch the logarithmic scale on or off.
    Log,
    /// Keep the range of the colours, or release it.
    Range,
    /// Stay at the version that is shown, or follow the newest again.
    Pause,
    /// Go forward by this number of versions.
    Version(isize),
}

/// An axis that a key selects. `Next` is the one after the current axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    X,
    Y,
    Z,
    Next,
}

/// A coordinate axis: z at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Along {
    X,
    Y,
    #[default]
    Z,
}

impl Along {
    /// Returns the axis after a key was pressed.
    fn turned(self, axis: Axis) -> Along {
        match (axis, self) {
            (Axis::X, _) | (Axis::Next, Along::Z) => Along::X,
            (Axis::Y, _) | (Axis::Next, Along::X) => Along::Y,
            (Axis::Z, _) | (Axis::Next, Along::Y) => Along::Z,
        }
    }

    /// Returns the axes that go up and to the right: 0 for x, 1 for y, 2 for z.
    pub fn others(self) -> [usize; 2] {
        match self {
            Along::X => [2, 1],
            Along::Y => [2, 0],
            Along::Z => [1, 0],
        }
    }
}

/// The field, slice and version that are selected, and how they are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Name of the field.
    pub field: String,
    /// The component of a vector, or `None` for its magnitude.
    pub component: Option<usize>,
    /// The axis that the slice cuts, if the field has three or more. `at` has the position.
    pub cut: usize,
    /// An index for each axis.
    pub at: Vec<usize>,
    /// The axis along which points in space are seen.
    pub along: Along,
    /// The number of the colour map.
    pub map: usize,
    /// True if the colours have a logarithmic scale.
    pub log: bool,
    /// The values at the ends of the colours, if the user keeps them.
    pub range: Option<[f64; 2]>,
    /// The version that is shown. `None` to follow the newest.
    pub version: Option<u64>,
}

impl Choice {
    /// Returns the position of the selected field in the list.
    pub fn index(&self, fields: &[Field]) -> Option<usize> {
        fields.iter().position(|field| field.name == self.field)
    }

    /// Changes the choice to a field and indices that exist.
    pub fn fit(&mut self, fields: &[Field]) {
        let index = self
            .index(fields)
            .or_else(|| fields.iter().position(|field| !field.raw))
            .or_else(|| (!fields.is_empty()).then_some(0));
        if let Some(index) = index {
            self.select(&fields[index]);
        }
    }

    /// Selects a field. The position stays if the number of axes is the same.
    fn select(&mut self, field: &Field) {
        if field.name != self.field {
            self.field = field.name.clone();
            (self.component, self.range) = (None, None);
        }
        if self.at.len() != field.shape.len() {
            self.at = field.shape.iter().map(|len| len / 2).collect();
            self.cut = field.shape.len().saturating_sub(3);
        }
        for (at, len) in self.at.iter_mut().zip(&field.shape) {
            *at = (*at).min(len.saturating_sub(1));
        }
        self.component = self.component.filter(|c| *c < field.components);
    }

    /// Moves the selection in the list of fields. It stops at the ends.
    pub fn step(&mut self, fields: &[Field], by: isize) {
        let here = self.index(fields).unwrap_or(0);
        let last = fields.len().saturating_sub(1);
        if let Some(field) = fields.get(here.saturating_add_signed(by).min(last)) {
            self.select(field);
        }
    }

    /// Returns the axes that are rows and columns of the slice, of a field with `count` axes: the
    /// last two that are not cut.
    pub fn plane(&self, count: usize) -> Option<[usize; 2]> {
        match count {
            0 => None,
            1 => Some([0, 0]),
            2 => Some([0, 1]),
            _ => {
                let mut axes = (0..count).rev().filter(|axis| *axis != self.cut);
                let (cols, rows) = (axes.next()?, axes.next()?);
                Some([rows, cols])
            }
        }
    }

    /// Selects the axis that is cut, or along which points are seen. Cuts nothing if the field has
    /// fewer than three axes.
    pub fn cut(&mut self, axis: Axis) {
        self.along = self.along.turned(axis);
        let count = self.at.len();
        if count < 3 {
            return;
        }
        self.cut = match axis {
            Axis::X => count - 1,
            Axis::Y => count - 2,
            Axis::Z => count - 3,
            Axis::Next => (self.cut + 1) % count,
        };
    }

    /// Moves the slice by `by` points, or by `by` tenths of the axis if `tenths`.
    pub fn shift(&mut self, fields: &[Field], by: isize, tenths: bool) {
        let Some(index) = self.index(fields).filter(|_| self.at.len() > 2) else {
            return;
        };
        let len = fields[index].shape.get(self.cut).copied().unwrap_or(1);
        let far = if tenths { (len / 10).max(1) } else { 1 };
        if let Some(at) = self.at.get_mut(self.cut) {
            let to = at.saturating_add_signed(by.saturating_mul(far as isize));
            *at = to.min(len.saturating_sub(1));
        }
    }

    /// Selects the next component. After the last one comes the magnitude.
    pub fn next_component(&mut self, fields: &[Field]) {
        let components = self.index(fields).map_or(1, |i| fields[i].components);
        if components > 1 {
            let next = self.component.map_or(0, |c| c + 1);
            self.component = (next < components).then_some(next);
            self.range = None;
        }
    }

    pub fn next_map(&mut self) {
        self.map = (self.map + 1) % MAPS.len();
    }
}

/// Returns the name of a field, magnitude or component, such as `u`, `|velocity|`, `velocity[2]`.
pub fn part_name(field: &str, components: usize, component: Option<usize>) -> String {
    match component {
        Some(component) => format!("{field}[{component}]"),
        None if components > 1 => format!("|{field}|"),
        None => field.to_owned(),
    }
}
