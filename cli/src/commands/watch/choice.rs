//! What is looked at, and how it is shown: what the keys change.

use tcasm_view::colormaps::MAPS;
use tcasm_view::region::Field;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// End, or close the help.
    Quit,
    /// End, whatever is shown.
    Interrupt,
    Suspend,
    Redraw,
    Help,
    /// So many fields further down.
    Field(isize),
    Cut(Axis),
    /// Move the slice.
    Move(isize),
    /// The same, by tenths of the axis.
    Page(isize),
    Component,
    Map,
    Log,
    Range,
    Pause,
    /// So many versions forward.
    Version(isize),
}

/// An axis, as keys name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    X,
    Y,
    Z,
    Next,
}

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Name of the field.
    pub field: String,
    /// One component of a vector, or its magnitude.
    pub component: Option<usize>,
    /// The axis that the slice is across, where there are three and more; `at` says where.
    pub cut: usize,
    /// An index for each axis.
    pub at: Vec<usize>,
    /// Number of the colour map.
    pub map: usize,
    /// Colours by logarithm.
    pub log: bool,
    /// What the ends of the colours stand for, if that is kept.
    pub range: Option<[f64; 2]>,
    /// The version; the newest, again and again, if absent.
    pub version: Option<u64>,
}

impl Choice {
    /// Where the field is in the list.
    pub fn index(&self, fields: &[Field]) -> Option<usize> {
        fields.iter().position(|field| field.name == self.field)
    }

    /// Make it something that is there.
    pub fn fit(&mut self, fields: &[Field]) {
        let index = self
            .index(fields)
            .or_else(|| fields.iter().position(|field| !field.raw))
            .or_else(|| (!fields.is_empty()).then_some(0));
        if let Some(index) = index {
            self.select(&fields[index]);
        }
    }

    /// Look at this field, at the same place if it has the same axes.
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

    /// Another field of the list; it ends at its ends.
    pub fn step(&mut self, fields: &[Field], by: isize) {
        let here = self.index(fields).unwrap_or(0);
        let last = fields.len().saturating_sub(1);
        if let Some(field) = fields.get(here.saturating_add_signed(by).min(last)) {
            self.select(field);
        }
    }

    /// The axes that are rows and columns of the slice, of a field of `count` axes: the last ones that it does not cut.
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

    pub fn cut(&mut self, axis: Axis) {
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

    /// Move the slice by so many points, or tenths of the axis.
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

    /// The magnitude, then each component.
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

/// `u`, `|velocity|`, `velocity[2]`.
pub fn part_name(field: &str, components: usize, component: Option<usize>) -> String {
    match component {
        Some(component) => format!("{field}[{component}]"),
        None if components > 1 => format!("|{field}|"),
        None => field.to_owned(),
    }
}
