//! Images, lines and volumes of a field, as small as a screen needs them.

use crate::look::{Line, Look, MAX_LINE, Slice};
use ndarray::{Array2, Axis, Ix2};
use tcasm_analytics::blocks::{self, Blocks, Span};
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_core::field::FieldDesc;
use thiserror::Error;

/// A plane of a field, down-sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Rows and columns of samples.
    pub size: [usize; 2],
    /// Points per sample.
    pub block: [usize; 2],
    /// First row and first row no longer taken, the same of columns: in points of the field.
    pub window: [[usize; 2]; 2],
    /// What `samples` are offsets from, so that 32 bits suffice.
    pub base: f64,
    /// Least and greatest finite value; none if there is none.
    pub range: Option<[f64; 2]>,
    /// The values less `base`, row by row.
    pub samples: Vec<f32>,
}

/// The values along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The axis.
    pub axis: usize,
    /// Points per value.
    pub block: usize,
    /// The values.
    pub values: Vec<f64>,
}

/// A field as a block of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Samples along z, y and x.
    pub shape: [usize; 3],
    /// Points per sample.
    pub block: [usize; 3],
    /// What 0 and 255 stand for; none if no value is finite.
    pub range: Option<[f64; 2]>,
    /// The samples.
    pub samples: Vec<u8>,
}

/// Why something of a field cannot be shown.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ShowError {
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    #[error(
        "axes {axes:?} cannot be rows and columns of a field of {count} axes; give two different ones"
    )]
    Axes { axes: [usize; 2], count: usize },
    #[error("a point has {given} indices, but the field {count} axes")]
    Point { given: usize, count: usize },
    #[error("a field of {count} axes has no volume; one of three has")]
    NoVolume { count: usize },
}

/// The image of a slice.
pub fn image(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    slice: &Slice,
) -> Result<Image, ShowError> {
    let shape = blocks::shape(desc);
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
    let got = blocks::blocks(desc, bytes, component, &window)?;
    let bounds = |axis: usize| [window[axis].window.start, window[axis].window.end];
    let (block, bounds) = match rows == cols {
        true => ([1, got.block[cols]], [[0, 1], bounds(cols)]),
        false => (
            [got.block[rows], got.block[cols]],
            [bounds(rows), bounds(cols)],
        ),
    };
    Ok(Image::new(plane(got, rows, cols), block, bounds))
}

/// Rows and columns; the same axis twice only where there is one.
fn axes(slice: &Slice, count: usize) -> Result<[usize; 2], ShowError> {
    let [rows, cols] = slice.axes;
    if rows < count && cols < count && (rows != cols || count == 1) {
        Ok(slice.axes)
    } else {
        let axes = slice.axes;
        Err(ShowError::Axes { axes, count })
    }
}

fn point(at: &[usize], count: usize) -> Result<Vec<Span>, ShowError> {
    if at.len() == count {
        Ok(at.iter().map(|index| Span::at(*index)).collect())
    } else {
        let given = at.len();
        Err(ShowError::Point { given, count })
    }
}

/// The samples as a matrix: all axes but those two have one sample.
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
    fn new(plane: Array2<f64>, block: [usize; 2], window: [[usize; 2]; 2]) -> Self {
        let range = range(plane.iter());
        let base = range.map_or(0.0, base);
        Image {
            size: [plane.nrows(), plane.ncols()],
            block,
            window,
            base,
            range,
            samples: plane.iter().map(|value| (value - base) as f32).collect(),
        }
    }

    /// Whether samples of the two stand for the same points and count from the same number.
    pub fn is_alike(&self, other: &Image) -> bool {
        let shape = |image: &Image| (image.size, image.block, image.window);
        shape(self) == shape(other) && self.base == other.base
    }
}

/// Least and greatest of the finite values.
fn range<'a>(values: impl Iterator<Item = &'a f64>) -> Option<[f64; 2]> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| {
        let [low, high] = range.unwrap_or([*v, *v]);
        Some([low.min(*v), high.max(*v)])
    })
}

/// What to count from, so that 32-bit floats tell values apart that lie close together and far from zero. It stays the same while
/// the values move a little: else all samples would be others each time.
fn base([low, high]: [f64; 2]) -> f64 {
    /// Values of such a multiple of their range keep 13 bits and more as they are.
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

/// The values along a line.
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
    Ok(Profile {
        axis,
        block: got.block[axis],
        values: got.samples.into_iter().collect(),
    })
}

/// The whole field with at most `most` samples along each axis.
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
    let range = range(got.samples.iter());
    let [low, high] = range.unwrap_or([0.0, 1.0]);
    // A constant field is all 0. (NaN as u8 is 0.)
    let scale = if high > low {
        255.0 / (high - low)
    } else {
        0.0
    };
    let byte = |value: &f64| ((value - low) * scale).round() as u8;
    Ok(Volume {
        shape: three(got.samples.shape()),
        block: three(&got.block),
        range,
        samples: got.samples.iter().map(byte).collect(),
    })
}

impl Look {
    /// A look at the middle of a field, for a screen of so many samples.
    pub fn at_middle(desc: &FieldDesc, pixels: [usize; 2]) -> Look {
        let shape = blocks::shape(desc);
        let at: Vec<usize> = shape.iter().map(|len| len / 2).collect();
        let last = shape.len().saturating_sub(1);
        Look {
            field: desc.name.clone(),
            slice: Some(Slice {
                axes: [last.saturating_sub(1), last],
                at,
                pixels,
                ..Slice::default()
            }),
            ..Look::default()
        }
    }
}
