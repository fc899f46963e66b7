//! The data of a version that a client sees.

use crate::image::{Image, Profile, Volume};
use crate::mesh::{Grid, Scene};
use crate::region::Axes;
use crate::request::ViewRequest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use tcasm_analytics::{Histogram, Moments};
use tcasm_core::format::stamp::Stamp;

/// Data, with the version that it was computed from.
pub type Of<T> = (Stamp, Arc<T>);

/// The answer to a view request, from one version. Where a part is absent, the client keeps the
/// part that it has.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The request that the frame answers.
    pub request: Arc<ViewRequest>,
    /// The version.
    pub stamp: Stamp,
    /// The time when the version was published, in nanoseconds since the Unix epoch.
    pub published: u64,
    /// The reason why the frame has no data.
    pub error: Option<String>,
    /// The shape of the field in this version, without ghost layers. If an extent is 0, there are
    /// no values, and the frame has no data. Of a field of a whole: the number of its cells.
    pub shape: Vec<usize>,
    /// The coordinates along the axes of the field in this version, if it has a uniform mesh. Of a
    /// field of a whole: where its first cell begins, and the size of a cell.
    pub axes: Option<Axes>,
    /// The image.
    pub image: Option<Arc<Image>>,
    /// The places of the samples of the image, if it is a slice through a rectilinear or
    /// curvilinear mesh.
    pub grid: Option<Arc<Grid>>,
    /// The images of the blocks, in place of `image`, if the field is one of a whole.
    pub blocks: Option<Arc<BlockImages>>,
    /// The field in space.
    pub scene: Option<Arc<Scene>>,
    /// The image of the version to compare with, or the reason why there is none.
    pub compare: Option<Result<Of<Image>, String>>,
    /// The values along the line.
    pub profile: Option<Arc<Profile>>,
    /// The value of the point.
    pub probe: Option<Probe>,
    /// Moments of the field.
    pub moments: Option<Of<Moments>>,
    /// Histogram of the field.
    pub histogram: Option<Of<Histogram>>,
    /// The whole field, down-sampled.
    pub volume: Option<Of<Volume>>,
    /// The pages that changed.
    pub pages: Option<Of<Pages>>,
    /// Moments of other fields.
    pub also: BTreeMap<String, Of<Moments>>,
}

/// The value of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// The indices of the point.
    pub at: Vec<usize>,
    /// A number for each component; the modulus of a complex number.
    pub values: Vec<f64>,
    /// The values as text, as exact as the dtype.
    pub text: String,
}

/// The pages of a region that changed in a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Number of pages of the region, up to the end of the last field.
    pub pages: usize,
    /// Number of pages that changed.
    pub changed: usize,
    /// Number of pages in a bin.
    pub pages_per_bin: usize,
    /// The share of changed pages in each bin: 0 for none, else 1 to 255.
    pub bins: Vec<u8>,
}

/// A slice through the blocks of a block-structured mesh (AMR).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockImages {
    /// Number of blocks with the quantity.
    pub count: usize,
    /// Number of those that are used in this version.
    pub used: usize,
    /// The least and the greatest finite value of all used blocks; `None` if none is finite.
    pub range: Option<[f64; 2]>,
    /// Number of values of all used blocks that are not finite.
    pub not_finite: u64,
    /// The blocks that the slice cuts, in ascending order of level: each is drawn over those before
    /// it.
    pub images: Vec<BlockImage>,
}

/// The image of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockImage {
    /// The name of the mesh.
    pub mesh: String,
    /// The name of the field.
    pub field: String,
    /// The refinement level; 0 is the coarsest.
    pub level: u32,
    /// The coordinates along the axes of the field.
    pub axes: Axes,
    /// The image.
    pub image: Arc<Image>,
}

impl Frame {
    /// Returns true if the field has no values in this version.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Takes the parts that this frame lacks from an older frame that was never sent.
    pub fn complete(&mut self, older: Frame) {
        if self.error.is_some() || older.error.is_some() {
            return;
        }
        if self.is_empty() {
            return;
        }
        if self.image.is_none() {
            self.grid = older.grid;
        }
        self.axes = self.axes.take().or(older.axes);
        self.image = self.image.take().or(older.image);
        self.blocks = self.blocks.take().or(older.blocks);
        self.scene = self.scene.take().or(older.scene);
        self.compare = self.compare.take().or(older.compare);
        self.profile = self.profile.take().or(older.profile);
        self.probe = self.probe.take().or(older.probe);
        self.moments = self.moments.take().or(older.moments);
        self.histogram = self.histogram.take().or(older.histogram);
        self.volume = self.volume.take().or(older.volume);
        self.pages = self.pages.take().or(older.pages);
        for (name, moments) in older.also {
            self.also.entry(name).or_insert(moments);
        }
    }
}
