//! The blocks of a block-structured mesh (AMR) as one whole: the fields of a quantity on them, the
//! cells that indices refer to, and the part of each block that a slice cuts.

use crate::image::ShowError;
use crate::region::Axes;
use crate::request::Slice;
use std::collections::HashMap;
use tcasm_analytics::blocks;
use tcasm_core::field::{Block, Centering, FieldDesc, FieldTable, Kind, MeshDesc, MeshKind};

/// Maximum number of cells along an axis. If the finest blocks have more, the cells are larger.
const MOST_CELLS: f64 = 16_777_216.0;
/// Part of a point that may be due to rounding.
const ROUNDING: f64 = 1e-6;

/// One quantity on the blocks of a block-structured mesh, in one version.
pub struct Whole<'t> {
    /// The name of the block-structured mesh.
    pub of: &'t str,
    /// The name of the quantity.
    pub quantity: &'t str,
    /// The fields, each on a block of its own, in ascending order of level and name of the block.
    pub members: Vec<Member<'t>>,
}

/// A field on a block.
#[derive(Clone, Copy)]
pub struct Member<'t> {
    pub mesh: &'t MeshDesc,
    pub block: &'t Block,
    pub field: &'t FieldDesc,
}

/// A block that is used in the version, with its place.
pub struct Used<'t> {
    pub member: Member<'t>,
    pub axes: Axes,
    /// Number of values along each axis.
    shape: Vec<usize>,
    /// The coordinates at which the first value begins.
    low: Vec<f64>,
}

/// Cells of equal size over all used blocks, as small as the values of the finest ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Number of cells along each axis; 0 if no block is used.
    pub shape: Vec<usize>,
    /// The coordinates at which the first cell begins, and the size of a cell; `None` if no block
    /// is used.
    pub axes: Option<Axes>,
}

/// Returns true for the name of a field of a whole, such as `amr/rho`. No field has such a name.
pub fn is_whole(name: &str) -> bool {
    name.contains('/')
}

/// Returns the fields of all wholes. A whole has at least two blocks with the quantity.
pub fn wholes(table: &FieldTable) -> Vec<Whole<'_>> {
    collected(table, |_, _| true)
}

/// Returns the field of a whole that is called `name`.
pub fn whole<'t>(table: &'t FieldTable, name: &str) -> Option<Whole<'t>> {
    let (of, quantity) = name.split_once('/')?;
    collected(table, |whole, held| whole == of && held == quantity).pop()
}

/// Returns the names of the fields of which the field `name` of a whole consists. Empty for other
/// names.
pub fn members_of<'t>(table: &'t FieldTable, name: &str) -> Vec<&'t str> {
    let members = whole(table, name).map_or_else(Vec::new, |whole| whole.members);
    members.iter().map(|m| m.field.name.as_str()).collect()
}

/// Returns the wholes and quantities for which `wanted` returns true, in the order of the table.
fn collected(table: &FieldTable, wanted: impl Fn(&str, &str) -> bool) -> Vec<Whole<'_>> {
    let meshes = table.meshes.iter();
    let blocks = meshes.filter_map(|mesh| Some((mesh.name.as_str(), (mesh, mesh.block.as_ref()?))));
    let blocks: HashMap<&str, (&MeshDesc, &Block)> = blocks.collect();
    let mut numbers: HashMap<(&str, &str), usize> = HashMap::new();
    let mut found: Vec<Whole<'_>> = Vec::new();
    for field in &table.fields {
        let on = field.on.as_deref().and_then(|on| blocks.get(on));
        let Some(member) = on.and_then(|&(mesh, block)| Member::of(mesh, block, field)) else {
            continue;
        };
        let (of, quantity) = (member.block.of.as_str(), field.quantity());
        if !wanted(of, quantity) {
            continue;
        }
        let number = *numbers.entry((of, quantity)).or_insert(found.len());
        match found.get_mut(number) {
            Some(whole) if whole.members[0].is_like(&member) => whole.members.push(member),
            Some(_) => {}
            None => found.push(Whole {
                of,
                quantity,
                members: vec![member],
            }),
        }
    }
    found.retain(|whole| whole.members.len() > 1);
    for whole in &mut found {
        let key = |member: &Member<'_>| (member.block.level, member.mesh.name.clone());
        whole.members.sort_by_cached_key(key);
    }
    found
}

impl<'t> Member<'t> {
    /// Returns the field if it can be drawn together with others: as a slice through a uniform
    /// mesh.
    fn of(mesh: &'t MeshDesc, block: &'t Block, field: &'t FieldDesc) -> Option<Self> {
        let is_uniform = matches!(mesh.kind, MeshKind::Uniform { .. });
        let has_places = field.kind == Kind::Array && field.centering != Centering::None;
        let has_slices = (2..=3).contains(&field.shape.len());
        (is_uniform && has_places && has_slices).then_some(Member { mesh, block, field })
    }

    /// Returns true if both fields have values of the same type at the same places of their blocks.
    fn is_like(&self, other: &Member<'_>) -> bool {
        let (a, b) = (self.field, other.field);
        a.dtype == b.dtype
            && a.components == b.components
            && a.unit == b.unit
            && a.centering == b.centering
            && a.shape.len() == b.shape.len()
    }
}

impl<'t> Whole<'t> {
    /// Returns the name of the field of the whole.
    pub fn name(&self) -> String {
        format!("{}/{}", self.of, self.quantity)
    }

    /// Returns the blocks that have values in this version, in ascending order of level.
    pub fn used(&self) -> Vec<Used<'t>> {
        let members = self.members.iter().copied();
        members.filter_map(Used::of).collect()
    }

    /// Returns the cells of the version, of which `used` are the used blocks.
    pub fn cells(&self, used: &[Used<'_>]) -> Cells {
        let count = self.members.first().map_or(0, |m| m.field.shape.len());
        if used.is_empty() {
            let shape = vec![0; count];
            return Cells { shape, axes: None };
        }
        let (mut shape, mut origin, mut spacing) = (Vec::new(), Vec::new(), Vec::new());
        for axis in 0..count {
            let [low, high] = ends(used, axis);
            let sizes = used.iter().map(|block| block.axes.spacing[axis]);
            let finest = sizes.fold(f64::INFINITY, f64::min);
            let size = finest.max((high - low) / MOST_CELLS);
            shape.push((((high - low) / size - ROUNDING).ceil() as usize).max(1));
            origin.push(low);
            spacing.push(size);
        }
        let axes = Some(Axes { origin, spacing });
        Cells { shape, axes }
    }
}

impl<'t> Used<'t> {
    /// Returns the block with its place; `None` if it is unused.
    fn of(member: Member<'t>) -> Option<Self> {
        let axes = Axes::of_block(member.field, member.mesh)?;
        // A value on a point stands for what is nearer to it than to its neighbours.
        let shift = match member.field.centering {
            Centering::Point => 0.5,
            _ => 0.0,
        };
        let ends = axes.origin.iter().zip(&axes.spacing);
        let low = ends.map(|(origin, size)| origin - shift * size).collect();
        let used = Used {
            member,
            shape: blocks::shape(member.field),
            low,
            axes,
        };
        let mut all = 0..used.shape.len();
        let has_place = all.all(|axis| {
            let is_finite = used.low[axis].is_finite() && used.high(axis).is_finite();
            used.shape[axis] > 0 && used.axes.spacing[axis] > 0.0 && is_finite
        });
        has_place.then_some(used)
    }

    /// Returns the coordinate at which the last value ends.
    fn high(&self, axis: usize) -> f64 {
        self.low[axis] + self.shape[axis] as f64 * self.axes.spacing[axis]
    }

    /// Returns a coordinate as a number of values from the edge.
    fn place(&self, axis: usize, x: f64) -> f64 {
        (x - self.low[axis]) / self.axes.spacing[axis]
    }

    /// Returns the index of the value at a coordinate; `None` outside of the block.
    fn index(&self, axis: usize, x: f64) -> Option<usize> {
        let place = self.place(axis, x);
        (place >= 0.0 && place < self.shape[axis] as f64).then_some(place as usize)
    }

    /// Returns the indices `[first, end)` of the values between two coordinates.
    fn window(&self, axis: usize, [low, high]: [f64; 2]) -> Option<[usize; 2]> {
        let first = (self.place(axis, low) + ROUNDING).floor().max(0.0) as usize;
        let end = (self.place(axis, high) - ROUNDING).ceil().max(0.0) as usize;
        let end = end.min(self.shape[axis]);
        (first < end).then_some([first, end])
    }

    /// Returns the part that a slice cuts, whose rows and columns lie between the coordinates
    /// `spans`.
    fn part(&self, cells: &Axes, slice: &Slice, spans: [[f64; 2]; 2]) -> Option<Slice> {
        let mut at = vec![0; self.shape.len()];
        for (axis, index) in at.iter_mut().enumerate() {
            if !slice.axes.contains(&axis) {
                *index = self.index(axis, middle(cells, axis, slice.at[axis]))?;
            }
        }
        let rows = self.window(slice.axes[0], spans[0])?;
        let cols = self.window(slice.axes[1], spans[1])?;
        let most = |side: usize, [first, end]: [usize; 2]| {
            let length = (end - first) as f64 * self.axes.spacing[slice.axes[side]];
            let share = length / (spans[side][1] - spans[side][0]);
            let pixels = (share * slice.pixels[side] as f64).ceil() as usize;
            pixels.min(slice.pixels[side]).min(end - first).max(1)
        };
        Some(Slice {
            axes: slice.axes,
            at,
            pixels: [most(0, rows), most(1, cols)],
            rows: Some(rows),
            cols: Some(cols),
        })
    }
}

/// Returns the least and the greatest coordinate of the blocks.
fn ends(used: &[Used<'_>], axis: usize) -> [f64; 2] {
    let low = used.iter().map(|block| block.low[axis]);
    let high = used.iter().map(|block| block.high(axis));
    [
        low.fold(f64::INFINITY, f64::min),
        high.fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// Returns the coordinate of the middle of the cell with this index.
fn middle(cells: &Axes, axis: usize, index: usize) -> f64 {
    cells.origin[axis] + (index as f64 + 0.5) * cells.spacing[axis]
}

/// Checks that indices can refer to such cells, of a whole with `count` axes.
pub fn check_cells(cells: &Axes, count: usize) -> Result<(), String> {
    let Axes { origin, spacing } = cells;
    let has_axes = origin.len() == count && spacing.len() == count;
    let are_finite = origin.iter().chain(spacing).all(|x| x.is_finite());
    match has_axes && are_finite && spacing.iter().all(|size| *size > 0.0) {
        true => Ok(()),
        false => Err(format!(
            "the axes of the request have the origin {origin:?} and the spacing {spacing:?}; give \
             {count} finite numbers each, and positive spacings"
        )),
    }
}

/// Returns the parts of the blocks that a slice cuts, in ascending order of level: the number of
/// each block in `used`, and the slice through it in its own indices. Indices of `slice` refer to
/// `cells`.
///
/// All parts together have at most as many samples as `slice` has pixels, but each has one.
pub fn cut(
    used: &[Used<'_>],
    cells: &Axes,
    slice: &Slice,
) -> Result<Vec<(usize, Slice)>, ShowError> {
    let (count, axes) = (cells.origin.len(), slice.axes);
    if axes[0] == axes[1] || axes.iter().any(|axis| *axis >= count) {
        return Err(ShowError::Axes { axes, count });
    }
    check_point(&slice.at, count)?;
    let span = |side: usize, window: Option<[usize; 2]>| match window {
        Some(window) => window.map(|end| {
            let axis = axes[side];
            cells.origin[axis] + end as f64 * cells.spacing[axis]
        }),
        None => ends(used, axes[side]),
    };
    let spans = [span(0, slice.rows), span(1, slice.cols)];
    let parts = used.iter().enumerate();
    let part = |(number, block): (usize, &Used<'_>)| {
        let part = block.part(cells, slice, spans)?;
        Some((number, part))
    };
    let mut parts: Vec<(usize, Slice)> = parts.filter_map(part).collect();
    bound(&mut parts, slice.pixels[0].saturating_mul(slice.pixels[1]));
    Ok(parts)
}

fn check_point(at: &[usize], count: usize) -> Result<(), ShowError> {
    let given = at.len();
    match given == count {
        true => Ok(()),
        false => Err(ShowError::Point { given, count }),
    }
}

/// Returns the number of samples of all parts.
fn samples(parts: &[(usize, Slice)]) -> usize {
    let counts = parts.iter().map(|(_, part)| part.pixels);
    counts.map(|[rows, cols]| rows * cols).sum()
}

/// Makes the samples of all parts larger until there are at most `most`, or one for each part.
fn bound(parts: &mut [(usize, Slice)], most: usize) {
    while samples(parts) > most.max(parts.len()) {
        for (_, part) in parts.iter_mut() {
            part.pixels = part.pixels.map(|n| (n * 3 / 4).max(1));
        }
    }
}

/// Returns the finest block at the cell with these indices, and the indices of the value in it;
/// `None` if no block is there.
pub fn block_at<'u, 't>(
    used: &'u [Used<'t>],
    cells: &Axes,
    at: &[usize],
) -> Result<Option<(&'u Used<'t>, Vec<usize>)>, ShowError> {
    check_point(at, cells.origin.len())?;
    let indices = |block: &Used<'_>| -> Option<Vec<usize>> {
        let all = at.iter().enumerate();
        let index = all.map(|(axis, i)| block.index(axis, middle(cells, axis, *i)));
        index.collect()
    };
    let mut finest = used.iter().rev();
    Ok(finest.find_map(|block| Some((block, indices(block)?))))
}

#[cfg(test)]
mod tests;
