//! The part of a field that `--slice` selects.
//!
//! A slice names the axes of the field. If it names one axis more and the field is a vector, the
//! last one is that of the components.

use crate::failure::{Code, Failure};
use crate::subject::Subject;
use ndarray::{ArrayD, ArrayViewD, Axis, Slice};
use std::ops::Range;
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_analytics::{Number, Pick, Selection};
use tcasm_core::field::{ArrayError, FieldDesc, Kind};
use tcasm_observer::GlobalField;

/// A part of a field, as a sub-array and what is selected of it.
#[derive(Debug)]
pub struct Part<'d> {
    desc: &'d FieldDesc,
    /// The sub-array: indices along each axis, ghost layers included.
    ranges: Vec<Range<usize>>,
    /// The components of the sub-array.
    components: Range<usize>,
    /// The selected part of the sub-array. A vector has one more pick, for its components.
    picks: Selection,
    /// True if the slice names the axis of the components.
    names_components: bool,
}

impl<'d> Part<'d> {
    /// Returns the part of `desc` that `slice` selects. Indices count ghost layers only if `ghosts`
    /// is true.
    pub fn of(desc: &'d FieldDesc, slice: &Selection, ghosts: bool) -> Result<Self, Failure> {
        check_array(desc)?;
        let mut shape = match ghosts {
            true => desc.shape.clone(),
            false => desc.interior_shape(),
        };
        let named = slice.picks().iter().filter(|p| **p != Pick::Rest).count();
        let names_components = desc.components > 1 && named > shape.len();
        if names_components {
            shape.push(desc.components);
        }
        if named > shape.len() {
            return Err(too_many_axes(desc, named, ghosts));
        }
        let (mut ranges, picks) = slice.within(&shape).map_err(|source| {
            let name = desc.name.clone();
            AnalyticsError::Slice { name, source }
        })?;
        let components = match names_components {
            true => ranges.pop().unwrap_or_default(),
            false => 0..desc.components,
        };
        let whole = (desc.components > 1 && !names_components).then_some(Pick::ALL);
        let picks = Selection::new(picks.picks().iter().copied().chain(whole));
        if !ghosts {
            ranges = behind_ghosts(desc, ranges);
        }
        Ok(Part {
            desc,
            ranges,
            components,
            picks,
            names_components,
        })
    }

    /// Returns the indices along each axis from the first to the last that is taken.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns true if the slice names the axis of the components.
    pub fn names_components(&self) -> bool {
        self.names_components
    }

    /// Returns true if an axis of components is left: the field is a vector, and the slice does not
    /// take a single component by its index.
    pub fn is_vector(&self) -> bool {
        let last = self.picks.picks().last();
        self.desc.components > 1 && !matches!(last, Some(Pick::Index(_)))
    }

    /// Returns the numbers of the selected components, in their order.
    pub fn components(&self) -> Vec<usize> {
        let all = self.components.clone();
        match self.picks.picks().last() {
            Some(Pick::Range { step, .. }) if self.desc.components > 1 => {
                let distance = step.unsigned_abs();
                match *step > 0 {
                    true => all.step_by(distance).collect(),
                    false => all.rev().step_by(distance).collect(),
                }
            }
            _ => all.collect(),
        }
    }

    /// Maps the sub-array, or gathers it from the blocks of a group, and calls `work` with what is
    /// selected of it. The last axis has the components if [`Part::is_vector`]. Floats that no
    /// block has are NaN.
    pub fn read<T: Number, R>(
        &self,
        subject: &Subject<'_>,
        work: impl FnOnce(ArrayViewD<'_, T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let name = &self.desc.name;
        if self.ranges.iter().any(Range::is_empty) {
            // Of a field of length 0 there is nothing to map.
            return self.select(self.nothing::<T>().view(), work);
        }
        match subject {
            Subject::Field(version, _) => {
                let view = version.view_part(name, &self.ranges)?;
                self.select(view.part::<T>(name, &self.ranges)?, work)
            }
            Subject::Blocks(blocks) => {
                let array = blocks.all.clone().or_nan();
                self.select(array.read::<T>(&self.ranges)?.view(), work)
            }
        }
    }

    /// Gathers the sub-array of an array of which the ranks of this host have only a part. Calls
    /// `work` with what is selected of it, and with an array of the same shape that is true where a
    /// block has the value. Fails if no block has any value of the sub-array.
    pub fn read_present<T: Number, R>(
        &self,
        array: &GlobalField<'_>,
        work: impl FnOnce(ArrayViewD<'_, T>, ArrayViewD<'_, bool>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let is_here = self.present(array);
        let values = match is_here.iter().any(|is_here| *is_here) {
            true => array
                .clone()
                .or_fill(T::zeroed())?
                .read::<T>(&self.ranges)?,
            false => array.read::<T>(&self.ranges)?,
        };
        self.select(values.view(), |values| {
            self.select(is_here.view(), |is_here| work(values, is_here))
        })
    }

    /// Returns an array of the shape of the sub-array that is true where a block has the value.
    fn present(&self, array: &GlobalField<'_>) -> ArrayD<bool> {
        let mut is_here = ArrayD::from_elem(self.shape(), true);
        for missing in array.missing_in(&self.ranges) {
            let mut hole = is_here.view_mut();
            for (axis, (part, all)) in std::iter::zip(&missing, &self.ranges).enumerate() {
                let inside = part.start - all.start..part.end - all.start;
                hole.slice_axis_inplace(Axis(axis), Slice::from(inside));
            }
            hole.fill(false);
        }
        is_here
    }

    /// Returns the sub-array of a field that has no values.
    fn nothing<T: Number>(&self) -> ArrayD<T> {
        ArrayD::from_elem(self.shape(), T::zeroed())
    }

    /// Returns the shape of the sub-array with all components.
    fn shape(&self) -> Vec<usize> {
        let lens = self.ranges.iter().map(ExactSizeIterator::len);
        let components = (self.desc.components > 1).then_some(self.desc.components);
        lens.chain(components).collect()
    }

    /// Calls `work` with what is selected of `array`, the sub-array with all components.
    fn select<T, R>(
        &self,
        mut array: ArrayViewD<'_, T>,
        work: impl FnOnce(ArrayViewD<'_, T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let name = &self.desc.name;
        if self.desc.components > 1 {
            let last = Axis(array.ndim() - 1);
            array.slice_axis_inplace(last, Slice::from(self.components.clone()));
        }
        let selected = self.picks.of(array).map_err(|source| {
            let name = name.clone();
            AnalyticsError::Slice { name, source }
        })?;
        work(selected)
    }
}

/// Checks that a field is an array of numbers.
fn check_array(desc: &FieldDesc) -> Result<(), AnalyticsError> {
    match &desc.kind {
        Kind::Array => Ok(()),
        Kind::Raw { type_name, .. } => Err(AnalyticsError::Array(ArrayError::NotAnArray {
            name: desc.name.clone(),
            type_name: type_name.clone(),
        })),
    }
}

/// Returns `ranges` of the interior of a field as ranges of all of it. An empty axis has no ghost
/// layers.
fn behind_ghosts(desc: &FieldDesc, ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let before = desc.ghosts.iter().map(|[before, _]| *before);
    let shifted = std::iter::zip(ranges, before).map(|(r, before)| match r.is_empty() {
        true => 0..0,
        false => r.start + before..r.end + before,
    });
    shifted.collect()
}

/// Returns the failure for a slice that names more axes than the field has, with slices that fit.
fn too_many_axes(desc: &FieldDesc, named: usize, ghosts: bool) -> Failure {
    let shape = match ghosts {
        true => desc.shape.clone(),
        false => desc.interior_shape(),
    };
    let mut text = format!(
        "field {:?}: the slice names {named} axes, but the field has {} (shape {shape:?})",
        desc.name,
        shape.len()
    );
    let whole = vec![":"; shape.len()];
    let component = [whole.as_slice(), &["0"]].concat().join(",");
    let plane = whole
        .split_last()
        .map(|(_, rest)| [rest, &["0"]].concat().join(","));
    match (plane, desc.components) {
        (Some(plane), 1) => text += &format!("; write for example --slice '{plane}'"),
        (None, 1) => text += "; leave --slice out",
        (plane, n) => {
            let plane = plane.map_or_else(String::new, |plane| format!("'{plane}', or "));
            text += &format!(
                " and {n} components; write for example --slice {plane}'{component}' for \
                 component 0"
            );
        }
    }
    Failure::new(Code::Usage, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    fn vector() -> FieldDesc {
        let mut desc = FieldDesc::new("v", DType::F32, &[6, 5]);
        desc.ghosts = vec![[1, 2], [0, 0]];
        desc.components = 3;
        desc
    }

    fn part<'d>(desc: &'d FieldDesc, slice: &str) -> Result<Part<'d>, String> {
        let slice: Selection = slice.parse().unwrap();
        Part::of(desc, &slice, false).map_err(|failure| failure.message)
    }

    #[test]
    fn one_axis_more_is_that_of_the_components() {
        let desc = vector();
        for (slice, ranges, components, is_vector) in [
            ("...", [1..4, 0..5], vec![0, 1, 2], true),
            ("0", [1..2, 0..5], vec![0, 1, 2], true),
            ("...,0", [1..4, 0..1], vec![0, 1, 2], true),
            (":,:,0", [1..4, 0..5], vec![0], false),
            (":,:,-1", [1..4, 0..5], vec![2], false),
            ("-1,2,1:", [3..4, 2..3], vec![1, 2], true),
            ("0,...,1,::-2", [1..2, 1..2], vec![2, 0], true),
        ] {
            let part = part(&desc, slice).unwrap();
            assert_eq!(part.ranges, ranges, "{slice}");
            assert_eq!(part.components(), components, "{slice}");
            assert_eq!(part.is_vector(), is_vector, "{slice}");
        }
    }

    #[test]
    fn slices_that_errors_propose_work() {
        let one = FieldDesc::new("one", DType::F32, &[]);
        assert!(part(&one, "0").unwrap_err().ends_with("leave --slice out"));
        let mut pair = one.clone();
        pair.components = 2;
        for desc in [vector(), FieldDesc::new("t", DType::F32, &[6, 5]), pair] {
            let error = part(&desc, "0,0,0,0").unwrap_err();
            assert!(error.contains("names 4 axes"), "{error}");
            let shape = format!("(shape {:?})", desc.interior_shape());
            assert!(error.contains(&shape), "{error}");
            let proposed: Vec<&str> = error.split('\'').skip(1).step_by(2).collect();
            assert!(!proposed.is_empty(), "{error}");
            for slice in proposed {
                assert!(part(&desc, slice).is_ok(), "{slice}: {error}");
            }
        }
    }
}
