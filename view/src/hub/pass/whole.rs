//! The parts of a pass that are made of several blocks.

use super::merged::{add, bins_for, merged};
use super::{Part, Pass, lane, part_of};
use crate::frame::{BlockImage, BlockImages, Frame, Probe};
use crate::hub::seen::field_of;
use crate::mesh::{self, Cells, Extent, Used};
use crate::region::Axes;
use crate::request::{Slice, ViewRequest};
use std::sync::Arc;
use tcasm_analytics::{Histogram, Moments, Range, dynamic};
use tcasm_core::field::FieldTable;

/// The wishes of a request for the blocks of a version.
struct Plan {
    cells: Cells,
    /// Number of blocks, and of those that are used.
    counts: [usize; 2],
    /// The parts of blocks that the slice cuts; `None` if no slice is wanted.
    parts: Option<Vec<BlockPart>>,
    /// The field of the block at the point, and the indices in it.
    probe: Option<(String, Vec<usize>)>,
}

/// The part of a block that a slice cuts.
struct BlockPart {
    mesh: String,
    field: String,
    level: u32,
    axes: Axes,
    slice: Slice,
}

impl BlockPart {
    fn of(block: &Used<'_>, slice: Slice) -> Self {
        let member = &block.member;
        BlockPart {
            mesh: member.mesh.name.clone(),
            field: member.field.name.clone(),
            level: member.block.level,
            axes: block.axes.clone(),
            slice,
        }
    }
}

impl Plan {
    fn new(table: &FieldTable, request: &ViewRequest) -> Result<Self, String> {
        let whole = mesh::whole(table, &request.field).ok_or_else(|| missing(&request.field))?;
        let used = whole.used();
        let cells = whole.cells(&used);
        let mut plan = Plan {
            counts: [whole.members.len(), used.len()],
            cells: cells.clone(),
            parts: None,
            probe: None,
        };
        let Some(own) = &cells.axes else {
            return Ok(plan); // No block is used.
        };
        let axes = request.axes.as_ref().unwrap_or(own);
        mesh::check_cells(axes, own.origin.len())?;
        if let Some(slice) = &request.slice {
            let parts = mesh::cut(&used, axes, slice).map_err(|e| e.to_string())?;
            let parts = parts.into_iter();
            let parts = parts.map(|(number, slice)| BlockPart::of(&used[number], slice));
            plan.parts = Some(parts.collect());
        }
        if let Some(at) = &request.probe {
            let found = mesh::block_at(&used, axes, at).map_err(|e| e.to_string())?;
            plan.probe = found.map(|(block, index)| (block.member.field.name.clone(), index));
        }
        Ok(plan)
    }
}

impl Pass {
    /// Returns the number of cells of a whole along each axis; empty if there is no such whole.
    pub(super) fn shape_of_whole(&self, name: &str) -> Vec<usize> {
        let whole = mesh::whole(self.view.table(), name);
        whole.map_or_else(Vec::new, |whole| whole.cells(&whole.used()).shape)
    }

    /// Computes the small parts of a request for a field of a whole.
    pub(super) fn fill_blocks(
        &mut self,
        request: &ViewRequest,
        frame: &mut Frame,
    ) -> Result<(), String> {
        let plan = Plan::new(self.view.table(), request)?;
        (frame.shape, frame.axes) = (plan.cells.shape, plan.cells.axes);
        if frame.is_empty() {
            return Ok(());
        }
        let images = plan
            .parts
            .map(|parts| self.block_images(request, plan.counts, parts));
        frame.blocks = images.transpose()?.map(Arc::new);
        let probe = request.probe.as_ref();
        let probe = probe.map(|at| self.probe_block(request, at, plan.probe));
        frame.probe = probe.transpose()?;
        Ok(())
    }

    fn block_images(
        &mut self,
        request: &ViewRequest,
        [count, used]: [usize; 2],
        parts: Vec<BlockPart>,
    ) -> Result<BlockImages, String> {
        let extent = Extent::from(&*self.moments(&part_of(request))?);
        let mut images = Vec::with_capacity(parts.len());
        for part in parts {
            let of = field(part.field, request.component);
            let image = self.image(&of, &part.slice)?;
            images.push(BlockImage {
                mesh: part.mesh,
                field: of.field,
                level: part.level,
                axes: part.axes,
                image,
            });
        }
        Ok(BlockImages {
            count,
            used,
            range: extent.range,
            not_finite: extent.not_finite,
            images,
        })
    }

    /// Returns the value at the cell `at`, which `found` has; without numbers if no block is there.
    fn probe_block(
        &self,
        request: &ViewRequest,
        at: &[usize],
        found: Option<(String, Vec<usize>)>,
    ) -> Result<Probe, String> {
        let probe = match found {
            Some((name, index)) => self.probe(&field(name, request.component), &index)?,
            None => Probe {
                at: Vec::new(),
                values: Vec::new(),
                text: "no block is there".to_owned(),
            },
        };
        let at = at.to_vec();
        Ok(Probe { at, ..probe })
    }

    /// Returns the names of the fields of the used blocks.
    fn used_fields(&self, name: &str) -> Result<Vec<String>, String> {
        let whole = mesh::whole(self.view.table(), name).ok_or_else(|| missing(name))?;
        let used = whole.used();
        let names = used.iter().map(|block| block.member.field.name.clone());
        Ok(names.collect())
    }

    pub(super) fn moments_of_whole(&mut self, part: &Part) -> Result<Arc<Moments>, String> {
        if let Some(made) = self.moments.get(part) {
            return made.clone();
        }
        let made = self.merged_moments(part).map(Arc::new);
        self.moments.insert(part.clone(), made.clone());
        made
    }

    fn merged_moments(&mut self, (name, component): &Part) -> Result<Moments, String> {
        let mut each = Vec::new();
        for field in self.used_fields(name)? {
            each.push(self.moments(&(field, *component))?);
        }
        Ok(merged(&each))
    }

    pub(super) fn histogram_of_whole(
        &mut self,
        part: &Part,
        bins: usize,
    ) -> Result<Arc<Histogram>, String> {
        let key = (part.clone(), bins);
        if let Some(made) = self.histograms.get(&key) {
            return made.clone();
        }
        let made = self.merged_histogram(part, bins).map(Arc::new);
        self.histograms.insert(key, made.clone());
        made
    }

    /// Counts the values of all used blocks in the same bins.
    fn merged_histogram(&mut self, part: &Part, bins: usize) -> Result<Histogram, String> {
        let (first, last) = bins_for(&*self.moments(part)?, bins);
        let mut sum: Option<Histogram> = None;
        for name in self.used_fields(&part.0)? {
            let (desc, bytes) = field_of(&self.view, &name)?;
            let all = dynamic::histogram(desc, bytes, bins, Range::Given(first, last));
            let all = all.map_err(|e| e.to_string())?;
            let one = all.get(lane(desc, part.1));
            let one = one.ok_or_else(|| format!("{name:?} has no component {:?}", part.1))?;
            match &mut sum {
                Some(sum) => add(sum, one),
                None => sum = Some(one.clone()),
            }
        }
        sum.ok_or_else(|| missing(&part.0))
    }
}

/// Returns a request for a field of a block.
fn field(field: String, component: Option<usize>) -> ViewRequest {
    ViewRequest {
        field,
        component,
        ..ViewRequest::default()
    }
}

/// Returns the reason why there is no such field of a whole.
fn missing(name: &str) -> String {
    format!(
        "this version has no blocks with {name:?}; give the name of a block-structured mesh and \
         the name of a quantity that two of its uniform blocks have, separated by a slash"
    )
}
