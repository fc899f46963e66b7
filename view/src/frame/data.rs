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
    /// no values, and the frame has no data.
    pub shape: Vec<usize>,
    /// The coordinates along the axes of the field in this version, if it has a uniform mesh.
    pub axes: Option<Axes>,
    /// The image.
    pub image: Option<Arc<Image>>,
    /// The places of the samples of the image, if it is a slice through a rectilinear or
    /// curvilinear mesh.
    pub grid: Option<Arc<Grid>>,
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
