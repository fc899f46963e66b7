//! Blocks: a window of a field, down-sampled to what a screen can show.
//!
//! A block of neighbouring points becomes one sample, the mean of its values, or NaN if a value is
//! not finite. So a small picture of a large field shows each NaN and each infinity. Lines, images,
//! volumes and single points are windows in which one, two, three or no axes are longer than one
//! point. Of a line, [`envelope`] has the extrema of each block, which the means hide.
//!
//! Axes are those of a C array, x last: `(z, y, x)`. The axes of a field in Fortran order are
//! reversed for that.

use crate::error::AnalyticsError;
use crate::number::{Number, Scalar, modulus};
use crate::points::points;
use mean::Mean;
use ndarray::{ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, IxDyn, Slice};
use rayon::prelude::*;
use std::ops::Range;
use tcasm_core::field::{FieldDesc, Order};
use tcasm_core::with_dtype;

mod mean;

pub use crate::error::BlocksError;

/// The part of a window along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The range of points.
    pub window: Range<usize>,
    /// Maximum number of samples; at least 1.
    pub most: usize,
}

impl Span {
    /// Returns the span that has only the point `index`.
    pub fn at(index: usize) -> Self {
        Span {
            window: index..index.saturating_add(1),
            most: 1,
        }
    }

    /// Returns the number of points in a sample. The last sample may have fewer.
    pub fn block(&self) -> usize {
        self.window.len().div_ceil(self.most.max(1)).max(1)
    }

    /// Returns the number of samples.
    fn samples(&self) -> usize {
        self.window.len().div_ceil(self.block())
    }

    /// Returns the points of sample `number`.
    fn points(&self, number: usize) -> Range<usize> {
        let start = self.window.start + number * self.block();
        start..(start + self.block()).min(self.window.end)
    }
}

/// The samples of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// One number per sample, in C order. The sample of a block is NaN if a value of the block is
    /// not finite. The sample of a block of one point is the value of the point, finite or not.
    pub samples: ArrayD<f64>,
    /// Number of points in a sample along each axis.
    pub block: Vec<usize>,
    /// Number of points of the window whose values are not finite.
    pub not_finite: u64,
}

/// Returns the shape of the field without ghost layers, x last.
pub fn shape(desc: &FieldDesc) -> Vec<usize> {
    let mut shape = desc.interior_shape();
    if desc.order == Order::F {
        shape.reverse();
    }
    shape
}

/// Computes the samples of a window, of one component or of the magnitude (`None`). The magnitude
/// of a field with one component is its value. Complex numbers count with their modulus.
///
/// ```
/// use tcasm_analytics::blocks::{Span, blocks};
/// use tcasm_core::field::{DType, FieldDesc};
/// let desc = FieldDesc::new("t", DType::F32, &[2, 4]);
/// let data = [1.0f32, 3.0, 5.0, 7.0, 9.0, 9.0, 3.0, 1.0];
/// let all = [Span { window: 0..2, most: 2 }, Span { window: 0..4, most: 2 }];
/// let image = blocks(&desc, bytemuck::cast_slice(&data), None, &all).unwrap();
/// assert_eq!(image.samples, ndarray::arr2(&[[2.0, 6.0], [9.0, 2.0]]).into_dyn());
/// assert_eq!((image.block, image.not_finite), (vec![1, 2], 0));
/// ```
pub fn blocks(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    window: &[Span],
) -> Result<Blocks, AnalyticsError> {
    desc.check()?;
    check(desc, component, window).map_err(|source| failed(desc, source))?;
    with_dtype!(desc.dtype, T => {
        let points = x_last(points::<T>(desc, bytes)?, desc.order);
        let (samples, not_finite) = sample(chosen(points, component), window);
        Ok(Blocks {
            samples,
            block: window.iter().map(Span::block).collect(),
            not_finite,
        })
    })
}

/// Computes the least and the greatest finite value of each block of a line: of a window in which
/// one axis is longer than one point. Both are NaN if no value of the block is finite. The blocks
/// are those of [`blocks`].
pub fn envelope(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    window: &[Span],
) -> Result<Vec<[f64; 2]>, AnalyticsError> {
    desc.check()?;
    check(desc, component, window).map_err(|source| failed(desc, source))?;
    with_dtype!(desc.dtype, T => {
        let points = x_last(points::<T>(desc, bytes)?, desc.order);
        Ok(ends(chosen(points, component), window))
    })
}

/// Returns all components of the point `at`.
pub fn point(desc: &FieldDesc, bytes: &[u8], at: &[usize]) -> Result<Vec<Scalar>, AnalyticsError> {
    let window: Vec<Span> = at.iter().map(|index| Span::at(*index)).collect();
    desc.check()?;
    check(desc, None, &window).map_err(|source| failed(desc, source))?;
    with_dtype!(desc.dtype, T => {
        let mut points = x_last(points::<T>(desc, bytes)?, desc.order);
        for index in at {
            points.index_axis_inplace(Axis(0), *index);
        }
        Ok(points.iter().map(|value| value.scalar()).collect())
    })
}

fn failed(desc: &FieldDesc, source: BlocksError) -> AnalyticsError {
    AnalyticsError::Blocks {
        name: desc.name.clone(),
        source,
    }
}

fn check(desc: &FieldDesc, component: Option<usize>, window: &[Span]) -> Result<(), BlocksError> {
    let (shape, components) = (shape(desc), desc.components);
    if window.len() != shape.len() {
        let given = window.len();
        return Err(BlocksError::Axes { given, shape });
    }
    for (axis, (Span { window, .. }, len)) in window.iter().zip(shape).enumerate() {
        if window.is_empty() || window.end > len {
            let window = window.clone();
            return Err(BlocksError::Outside { axis, window, len });
        }
    }
    match component {
        Some(component) if component >= components => Err(BlocksError::Component {
            component,
            components,
        }),
        _ => Ok(()),
    }
}

/// Returns the points with one component, or with all.
fn chosen<T>(mut points: ArrayViewD<'_, T>, component: Option<usize>) -> ArrayViewD<'_, T> {
    if let Some(component) = component {
        let last = Axis(points.ndim() - 1);
        points.slice_axis_inplace(last, Slice::from(component..component + 1));
    }
    points
}

/// Reorders the axes of points: x is the last one before the axis of the components.
fn x_last<T>(points: ArrayViewD<'_, T>, order: Order) -> ArrayViewD<'_, T> {
    if order == Order::C {
        return points;
    }
    let components = points.ndim() - 1;
    let axes: Vec<usize> = (0..components).rev().chain([components]).collect();
    points.permuted_axes(axes)
}

/// Returns the longest axis of a window.
fn longest(window: &[Span]) -> Option<usize> {
    (0..window.len()).max_by_key(|axis| window[*axis].window.len())
}

/// Computes samples in rows, in parallel. Rows are along the longest axis, so that each has much
/// work. Returns also the number of values that are not finite.
fn sample<T: Number>(points: ArrayViewD<'_, T>, window: &[Span]) -> (ArrayD<f64>, u64) {
    let axes = window.len();
    let Some(lane) = longest(window) else {
        return (ArrayD::zeros(IxDyn(&[])), 0);
    };
    let order: Vec<usize> = (0..axes).filter(|a| *a != lane).chain([lane]).collect();
    let points = points.permuted_axes([order.clone(), vec![axes]].concat());
    let window: Vec<&Span> = order.iter().map(|axis| &window[*axis]).collect();
    let shape: Vec<usize> = window.iter().map(|span| span.samples()).collect();
    let mut samples = vec![0.0; shape.iter().product()];
    let length = shape[axes - 1];
    let rows = samples.par_chunks_mut(length).enumerate();
    let rows = rows.map(|(number, out)| row(&points, &window, &shape, number, out));
    let not_finite = rows.sum();
    let samples = ArrayD::from_shape_vec(shape, samples).expect("a row for each but the last axis");
    let mut back = vec![0; axes];
    order
        .iter()
        .enumerate()
        .for_each(|(to, from)| back[*from] = to);
    let samples = samples.permuted_axes(back);
    (samples.as_standard_layout().into_owned(), not_finite)
}

/// Computes the extrema of the blocks along the longest axis. The other axes of the window have one
/// point.
fn ends<T: Number>(mut points: ArrayViewD<'_, T>, window: &[Span]) -> Vec<[f64; 2]> {
    let Some(lane) = longest(window) else {
        return Vec::new();
    };
    for axis in (0..window.len()).rev().filter(|axis| *axis != lane) {
        points.index_axis_inplace(Axis(axis), window[axis].window.start);
    }
    let line: ArrayView2<'_, T> = points
        .into_dimensionality()
        .expect("lane and components are left");
    let of_block = |number: usize| {
        let part = line.slice_axis(Axis(0), Slice::from(window[lane].points(number)));
        let mut values = vec![0.0; part.nrows()];
        read(part, &mut values);
        extrema(&values)
    };
    let blocks = (0..window[lane].samples()).into_par_iter();
    blocks.map(of_block).collect()
}

/// Returns the least and the greatest of the finite values, or NaN.
fn extrema(values: &[f64]) -> [f64; 2] {
    let finite = values.iter().filter(|value| value.is_finite());
    // The other number is taken where one is NaN.
    finite.fold([f64::NAN; 2], |[low, high], value| {
        [low.min(*value), high.max(*value)]
    })
}

/// Computes one row of samples, along the last axis. `number` counts the rows over the other axes.
/// Returns the number of values that are not finite.
fn row<T: Number>(
    points: &ArrayViewD<'_, T>,
    window: &[&Span],
    shape: &[usize],
    number: usize,
    out: &mut [f64],
) -> u64 {
    let part = part(points, window, shape, number);
    let lane = window.len() - 1;
    let outer = IxDyn(&part.shape()[..lane]);
    let mut values = vec![0.0; window[lane].window.len()];
    let mut mean = Mean::new(out, window[lane].block(), [outer.size(), values.len()]);
    for index in ndarray::indices(outer) {
        let mut line = part.view();
        for at in index.slice() {
            line.index_axis_inplace(Axis(0), *at);
        }
        let line = line
            .into_dimensionality()
            .expect("lane and components are left");
        read(line, &mut values);
        mean.add(&values);
    }
    mean.finish()
}

/// Returns the points of a row of samples. `number` counts the rows over all axes but the last.
fn part<'p, T>(
    points: &'p ArrayViewD<'_, T>,
    window: &[&Span],
    shape: &[usize],
    mut number: usize,
) -> ArrayViewD<'p, T> {
    let mut part = points.view();
    let lane = window.len() - 1;
    part.slice_axis_inplace(Axis(lane), Slice::from(window[lane].window.clone()));
    for axis in (0..lane).rev() {
        let points = window[axis].points(number % shape[axis]);
        part.slice_axis_inplace(Axis(axis), Slice::from(points));
        number /= shape[axis];
    }
    part
}

/// Reads the numbers of a line of points: the value of one component, or the norm of several.
fn read<T: Number>(line: ArrayView2<'_, T>, out: &mut [f64]) {
    let number = |value: &T| {
        if value.is_nan() {
            f64::NAN
        } else {
            crate::number::Key::to_f64(value.key())
        }
    };
    if line.ncols() == 1 {
        let values = out.iter_mut().zip(line.column(0));
        return values.for_each(|(out, value)| *out = number(value));
    }
    out.fill(0.0);
    for component in line.columns() {
        let values = out.iter_mut().zip(component);
        values.for_each(|(out, value)| *out = modulus(*out, number(value)));
    }
}
