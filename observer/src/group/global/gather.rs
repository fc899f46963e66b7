//! Copies parts of a global array out of the blocks.

use super::boxes::{common, is_empty};
use super::error::GlobalArrayError;
use super::field::{GlobalBlock, GlobalField};
use crate::error::ViewError;
use ndarray::{ArrayD, ArrayViewMutD, SliceInfoElem};
use std::ops::Range;
use tcasm_core::field::{Element, check_type};
use tcasm_core::sys::room;

/// The number of bytes up to which it is not checked whether there is memory for them.
const SMALL: u64 = 16 << 20;

impl GlobalField<'_> {
    /// Returns a part of the array, gathered from the blocks: one range of global indices for each
    /// axis. The last axis of a vector is its components. Only the chunks of memory are mapped in
    /// which the part lies. Indices that no block has are an error, or have the value of
    /// [`GlobalField::or_fill`].
    pub fn read<T: Element>(&self, ranges: &[Range<usize>]) -> Result<ArrayD<T>, GlobalArrayError> {
        check_type::<T>(&self.desc)?;
        self.check(ranges)?;
        let lens = ranges.iter().map(ExactSizeIterator::len);
        let components = (self.desc.components > 1).then_some(self.desc.components);
        let shape: Vec<usize> = lens.chain(components).collect();
        self.check_memory(shape.iter().product::<usize>() as u64 * size_of::<T>() as u64)?;
        let mut out = ArrayD::from_elem(shape, self.filling::<T>());
        if is_empty(ranges) {
            return Ok(out);
        }
        // The lowest rank comes last, so that its values remain where blocks overlap.
        for block in self.blocks.iter().rev() {
            if let Some(part) = common(ranges, &block.ranges) {
                let inside = slices(&part, ranges, self.desc.components);
                let to = out.view_mut().slice_move(inside.as_slice());
                let copied = copy(block, &part, to);
                copied.map_err(|source| GlobalArrayError::View {
                    rank: block.field.rank,
                    source,
                })?;
            }
        }
        Ok(out)
    }

    fn check_memory(&self, bytes: u64) -> Result<(), GlobalArrayError> {
        let why = (bytes > SMALL).then(|| room::refusal(bytes)).flatten();
        why.map_or(Ok(()), |why| {
            let name = self.desc.name.clone();
            Err(GlobalArrayError::Memory { name, why })
        })
    }
}

/// Copies a part of a block.
fn copy<T: Element>(
    block: &GlobalBlock<'_>,
    part: &[Range<usize>],
    mut to: ArrayViewMutD<'_, T>,
) -> Result<(), ViewError> {
    let (field, version) = (block.field.field, block.field.version);
    if field.shape.is_empty() {
        // One value without dimensions.
        let view = version.view_of(&[field.name.as_str()])?;
        let value = view.array::<T>(&field.name)?;
        to.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        return Ok(());
    }
    let local = block.local(part);
    let view = version.view_part(&field.name, &local)?;
    to.assign(&view.part::<T>(&field.name, &local)?);
    Ok(())
}

/// Returns the slices that select `part` of an array that has `ranges`.
fn slices(part: &[Range<usize>], all: &[Range<usize>], components: usize) -> Vec<SliceInfoElem> {
    let inside = |(part, all): (&Range<usize>, &Range<usize>)| {
        SliceInfoElem::from(part.start - all.start..part.end - all.start)
    };
    let components = (components > 1).then_some(SliceInfoElem::from(..));
    part.iter().zip(all).map(inside).chain(components).collect()
}
