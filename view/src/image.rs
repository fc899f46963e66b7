//! Images, lines and volumes of a field, down-sampled to what a screen can show.

use crate::request::{Line, MAX_LINE, Slice, ViewRequest};
use ndarray::{Array2, Axis, Ix2};
use tcasm_analytics::blocks::{self, Blocks, Span};
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_core::field::FieldDesc;
use thiserror::Error;

/// A plane of a field, down-sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Number of rows and columns of samples.
    pub size: [usize; 2],
    /// Number of rows and columns of points in a sample.
    pub block: [usize; 2],
    /// The part of the field that is shown, in points: `[first, end)` of the rows, then of the
    /// columns.
    pub window: [[usize; 2]; 2],
    /// The value that `samples` are relative to. It makes 32 bits per sample sufficient.
    pub base: f64,
    /// The least and greatest finite sample (with an envelope: value); `None` if none is finite.
    pub range: Option<[f64; 2]>,
    /// The values minus `base`, row by row. A sample is not finite if a value of its block is not.
    pub samples: Vec<f32>,
    /// Number of points of the window whose values are not finite.
    pub not_finite: u64,
    /// For a field of one axis whose samples stand for several points: the least and the greatest
    /// finite value of each sample, NaN if there is none. Empty for other images.
    pub envelope: Vec<[f64; 2]>,
}

/// The values along a line that is parallel to an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The axis.
    pub axis: usize,
    /// Number of points in a value.
    pub block: usize,
    /// The values. A value is not finite if a point of its block is not.
    pub values: Vec<f64>,
    /// Number of points of the line whose values are not finite.
    pub not_finite: u64,
    /// The least and the greatest finite value of each block. Empty if a block is a single point.
    pub envelope: Vec<[f64; 2]>,
    /// The coordinates of the values, if the mesh has coordinates along the axis. Else empty.
    pub places: Vec<f64>,
}

/// A field of three axes, down-sampled to one byte per sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Number of samples along z, y and x.
    pub shape: [usize; 3],
    /// Number of points in a sample, along z, y and x.
    pub block: [usize; 3],
    /// The distances between points along z, y and x, if the field has a uniform mesh.
    pub spacing: Option<Vec<f64>>,
    /// The values that 0 and 255 stand for; `None` if no value is finite.
    pub range: Option<[f64; 2]>,
    /// The samples. Samples that are not finite are 0.
    pub samples: Vec<u8>,
    /// Number of points whose values are not finite.
    pub not_finite: u64,
}

/// The reason why a part of a field cannot be shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShowError {
    /// The operator over the field failed.
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    /// The axes cannot be the rows and columns of an image, or the axis of a line.
    #[error(
        "axes {axes:?} cannot be the rows and columns of a field of {count} axes; \
         give two different axes of the field"
    )]
    Axes {
        /// The rows and columns that were given; twice the same for a line.
        axes: [usize; 2],
        /// Number of axes of the field.
        count: usize,
    },
    /// A point has another number of indices than the field has axes.
    #[error("a point has {given} indices, but the field has {count} axes")]
    Point {
        /// Number of indices that were given.
        given: usize,
        /// Number of axes of the field.
        count: usize,
    },
    /// Only a field of three axes has a volume.
    #[error("a field of {count} axes has no volume; only fields of three axes have one")]
    NoVolume {
        /// Number of axes of the field.
        count: usize,
    },
}

/// Computes the image of a slice.
pub fn image(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    slice: &Slice,
) -> Result<Image, ShowError> {
    let window = window(slice, &blocks::shape(desc))?;
    let [rows, cols] = slice.axes;
    let got = blocks::blocks(desc, bytes, component, &window)?;
    let bounds = |axis: usize| [window[axis].window.start, window[axis].window.end];
    let (block, bounds) = match rows == cols {
        true => ([1, got.block[cols]], [[0, 1], bounds(cols)]),
        false => (
            [got.block[rows], got.block[cols]],
            [bounds(rows), bounds(cols)],
        ),
    };
    let envelope = match rows == cols && block[1] > 1 {
        true => blocks::envelope(desc, bytes, component, &window)?,
        false => Vec::new(),
    };
    let not_finite = got.not_finite;
    let image = Image::new(plane(got, rows, cols), block, bounds, &envelope);
    Ok(Image {
        not_finite,
        envelope,
        ..image
    })
}

/// Returns the window of a slice in a field of this shape.
fn window(slice: &Slice, shape: &[usize]) -> Result<Vec<Span>, ShowError> {
    let [rows, cols] = axes(slice, shape.len())?;
    let mut window = point(&slice.at, shape.len())?;
    let span = |axis: usize, part: Option<[usize; 2]>, most| {
        let [start, end] = part.unwrap_or([0, shape[axis]]);
        Span {
            window: start..end,
            most,
        }
    };
    window[cols] = span(cols, slice.cols, slice.pixels[1]);
    if rows != cols {
        window[rows] = span(rows, slice.rows, slice.pixels[0]);
    }
    Ok(window)
}

/// Checks the axes that are the rows and columns of an image. They must be different, unless the
/// field has only one axis.
fn axes(slice: &Slice, count: usize) -> Result<[usize; 2], ShowError> {
    let [rows, cols] = slice.axes;
    if rows < count && cols < count && (rows != cols || count == 1) {
        Ok(slice.axes)
    } else {
        let axes = slice.axes;
        Err(ShowError::Axes { axes, count })
    }
}

/// Returns the window that contains only the point `at`.
fn point(at: &[usize], count: usize) -> Result<Vec<Span>, ShowError> {
    if at.len() == count {
        Ok(at.iter().map(|index| Span::at(*index)).collect())
    } else {
        let given = at.len();
        Err(ShowError::Point { given, count })
    }
}

/// Returns the samples as a matrix. All axes other than `rows` and `cols` must have one sample.
fn plane(got: Blocks, rows: usize, cols: usize) -> Array2<f64> {
    let mut samples = got.samples;
    for axis in (0..samples.ndim())
        .rev()
        .filter(|axis| *axis != rows && *axis != cols)
    {
        samples.index_axis_inplace(Axis(axis), 0);
    }
    if rows == cols {
        samples.insert_axis_inplace(Axis(0));
    }
    let plane = samples.into_dimensionality::<Ix2>();
    let plane = plane.expect("two axes are left");
    if rows <= cols {
        plane
    } else {
        plane.reversed_axes()
    }
}

impl Image {
    fn new(
        plane: Array2<f64>,
        block: [usize; 2],
        window: [[usize; 2]; 2],
        envelope: &[[f64; 2]],
    ) -> Self {
        let range = match envelope.is_empty() {
            true => range_of(plane.iter()),
            false => range_of(envelope.as_flattened().iter()),
        };
        let base = range.map_or(0.0, base_of);
        Image {
            size: [plane.nrows(), plane.ncols()],
            block,
            window,
            base,
            range,
            samples: plane.iter().map(|value| relative(*value, base)).collect(),
            not_finite: 0,
            envelope: Vec::new(),
        }
    }

    /// Returns true if the samples of both images stand for the same points and have the same base.
    pub fn is_alike(&self, other: &Image) -> bool {
        let shape = |image: &Image| (image.size, image.block, image.window);
        shape(self) == shape(other) && self.base == other.base
    }
}

/// Returns the least and the greatest of the finite values.
pub(crate) fn range_of<'a>(values: impl Iterator<Item = &'a f64>) -> Option<[f64; 2]> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| {
        let [low, high] = range.unwrap_or([*v, *v]);
        Some([low.min(*v), high.max(*v)])
    })
}

/// Returns `value` minus `base` with 32 bits. A finite number stays finite, however large it is.
pub(crate) fn relative(value: f64, base: f64) -> f32 {
    let sample = (value - base) as f32;
    match value.is_finite() {
        true => sample.clamp(f32::MIN, f32::MAX),
        false => sample,
    }
}

/// Returns the base of an image, such that 32-bit floats can tell values apart that lie close
/// together and far from zero. The base stays the same while the values move a little. Otherwise
/// all samples would change with each version.
pub(crate) fn base_of([low, high]: [f64; 2]) -> f64 {
    /// Values of up to this multiple of their range keep at least 13 bits without a base.
    const FAR: f64 = 1000.0;
    let (range, far) = (high - low, low.abs().max(high.abs()));
    if far <= range * FAR {
        return 0.0;
    }
    if range == 0.0 {
        return low;
    }
    let step = range.log2().ceil().exp2() * 4.0;
    let base = (low / step).floor() * step;
    if base.is_finite() { base } else { 0.0 }
}

/// Computes the values along a line.
pub fn profile(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    line: &Line,
) -> Result<Profile, ShowError> {
    let shape = blocks::shape(desc);
    let (axis, count) = (line.axis, shape.len());
    let mut window = point(&line.at, count)?;
    if axis >= count {
        let axes = [axis, axis];
        return Err(ShowError::Axes { axes, count });
    }
    window[axis] = Span {
        window: 0..shape[axis],
        most: MAX_LINE,
    };
    let got = blocks::blocks(desc, bytes, component, &window)?;
    let envelope = match got.block[axis] > 1 {
        true => blocks::envelope(desc, bytes, component, &window)?,
        false => Vec::new(),
    };
    Ok(Profile {
        axis,
        block: got.block[axis],
        not_finite: got.not_finite,
        envelope,
        values: got.samples.into_iter().collect(),
        places: Vec::new(),
    })
}

/// Computes the volume of a field, with at most `most` samples along each axis.
pub fn volume(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    most: usize,
) -> Result<Volume, ShowError> {
    let shape = blocks::shape(desc);
    let count = shape.len();
    let Ok(_) = <[usize; 3]>::try_from(shape.as_slice()) else {
        return Err(ShowError::NoVolume { count });
    };
    let window: Vec<Span> = shape
        .iter()
        .map(|len| Span {
            window: 0..*len,
            most,
        })
        .collect();
    let got = blocks::blocks(desc, bytes, component, &window)?;
    let three = |numbers: &[usize]| [numbers[0], numbers[1], numbers[2]];
    let range = range_of(got.samples.iter());
    Ok(Volume {
        shape: three(got.samples.shape()),
        block: three(&got.block),
        spacing: None,
        range,
        not_finite: got.not_finite,
        samples: bytes_of(got.samples.iter(), range),
    })
}

/// Returns values as bytes: the ends of `range` as 0 and 255. All bytes of a constant field are 0.
fn bytes_of<'a>(values: impl Iterator<Item = &'a f64>, range: Option<[f64; 2]>) -> Vec<u8> {
    let [low, high] = range.unwrap_or([0.0, 1.0]);
    let scale = if high > low {
        255.0 / (high - low)
    } else {
        0.0
    };
    // NaN as u8 is 0.
    let byte = |value: &f64| ((value - low) * scale).round() as u8;
    values.map(byte).collect()
}

impl ViewRequest {
    /// Returns a request for the slice through the middle of a field, for a screen with `pixels`
    /// rows and columns.
    pub fn at_middle(desc: &FieldDesc, pixels: [usize; 2]) -> ViewRequest {
        let shape = blocks::shape(desc);
        let at: Vec<usize> = shape.iter().map(|len| len / 2).collect();
        let last = shape.len().saturating_sub(1);
        ViewRequest {
            field: desc.name.clone(),
            slice: Some(Slice {
                axes: [last.saturating_sub(1), last],
                at,
                pixels,
                ..Slice::default()
            }),
            ..ViewRequest::default()
        }
    }
}

#[cfg(test)]
mod tests;
