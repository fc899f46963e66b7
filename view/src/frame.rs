//! Frames: the data of a version that a client sees, and their encoding for a page that has the
//! frame before.

mod places;

use crate::image::{Image, Profile, Volume};
use crate::mesh::{Grid, Scene};
use crate::region::Axes;
use crate::request::{SceneRequest, Slice, ViewRequest};
use places::known;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tcasm_analytics::{Histogram, Moments};
use tcasm_core::format::stamp::Stamp;

/// Number of rows, and of columns, in a tile.
pub const TILE: usize = 64;

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

/// An encoder of frames for one page. It knows the data that the page has, and writes only tiles of
/// images and arrays of meshes that differ.
#[derive(Debug, Default)]
pub struct Writer {
    number: u64,
    /// The field and the component of the last frame.
    shown: Option<(String, Option<usize>)>,
    /// The images that the page has, with the slices that they show.
    image: Option<(Option<Slice>, Arc<Image>)>,
    compare: Option<(Option<Slice>, Arc<Image>)>,
    /// The places of the samples of `image`.
    grid: Option<(Option<Slice>, Arc<Grid>)>,
    scene: Option<(Option<SceneRequest>, Arc<Scene>)>,
}

/// A message under construction: a head, and arrays.
#[derive(Default)]
struct Message {
    head: Map<String, Value>,
    body: Vec<u8>,
}

impl Writer {
    /// Encodes a frame as a binary message. Returns its number and the message.
    pub fn write(&mut self, frame: &Frame) -> (u64, Vec<u8>) {
        self.number += 1;
        self.forget_others(&frame.request);
        let mut message = Message::default();
        message.begin(self.number, frame);
        self.images(&mut message, frame);
        message.arrays(frame);
        message.numbers(frame);
        self.places(&mut message, frame);
        (self.number, message.finish())
    }

    /// Forgets all that the page forgets because of this frame. A page keeps no data of another
    /// field or component, not even if the frame has an error or no data.
    fn forget_others(&mut self, request: &ViewRequest) {
        let shown = Some((request.field.clone(), request.component));
        if self.shown != shown {
            *self = Writer {
                number: self.number,
                shown,
                ..Writer::default()
            };
        }
    }

    /// Adds the image, and the image to compare with.
    fn images(&mut self, message: &mut Message, frame: &Frame) {
        let slice = &frame.request.slice;
        if let Some(image) = &frame.image {
            let old = known(&self.image, slice).filter(|old| old.is_alike(image));
            let head = message.image(image, old);
            message.put("image", Value::Object(head));
            self.image = Some((slice.clone(), image.clone()));
        }
        match &frame.compare {
            Some(Ok((stamp, image))) => {
                let old = known(&self.compare, slice).filter(|old| old.is_alike(image));
                let mut head = message.image(image, old);
                head.insert("version".to_owned(), json!(stamp));
                message.put("compare", Value::Object(head));
                self.compare = Some((slice.clone(), image.clone()));
            }
            other => {
                // The page has no image to compare with after this frame.
                self.compare = None;
                if let Some(Err(error)) = other {
                    message.put("compare", json!({ "error": error }));
                }
            }
        }
    }
}

impl Message {
    fn put(&mut self, name: &str, value: Value) {
        self.head.insert(name.to_owned(), value);
    }

    fn begin(&mut self, number: u64, frame: &Frame) {
        self.put("type", json!("frame"));
        self.put("frame", json!(number));
        self.put("id", json!(frame.request.id));
        self.put("field", json!(frame.request.field));
        self.put("component", json!(frame.request.component));
        self.put("version", json!(frame.stamp));
        self.put("published_ms", json!(frame.published as f64 / 1e6));
        self.put("error", json!(frame.error));
        self.put("shape", json!(frame.shape));
        if let Some(axes) = &frame.axes {
            self.put("axes", json!(axes));
        }
    }

    /// Aligns the next array to 8 bytes. Returns where it begins.
    fn at(&mut self) -> usize {
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        self.body.len()
    }

    /// Adds the tiles of an image that differ from those of `old`. Returns the head of the image.
    fn image(&mut self, image: &Image, old: Option<&Image>) -> Map<String, Value> {
        let at = self.at();
        let [rows, cols] = image.size;
        let across = cols.div_ceil(TILE);
        let tiles = (0..rows.div_ceil(TILE) * across).filter(|tile| {
            let place = (tile / across, tile % across);
            let changed = old.is_none_or(|old| !unchanged(image, old, place));
            if changed {
                let samples = lines(image, place).flatten();
                self.body
                    .extend(samples.flat_map(|sample| sample.to_le_bytes()));
            }
            changed
        });
        let tiles: Vec<usize> = tiles.collect();
        let [low, high] = ends(image.range);
        let head = json!({
            "rows": rows, "cols": cols, "block": image.block, "window": image.window,
            "base": image.base, "min": low, "max": high, "tile": TILE, "tiles": tiles, "at": at,
            "not_finite": image.not_finite,
        });
        match head {
            Value::Object(head) => head,
            _ => Map::new(),
        }
    }

    fn arrays(&mut self, frame: &Frame) {
        if let Some(line) = &frame.profile {
            let at = self.at();
            let ends = |end: usize| line.envelope.iter().map(move |pair| pair[end]);
            let values = line.values.iter().copied();
            let values = values.chain(ends(0)).chain(ends(1));
            let values = values.chain(line.places.iter().copied());
            self.body.extend(values.flat_map(f64::to_le_bytes));
            let head = json!({
                "axis": line.axis, "block": line.block, "length": line.values.len(), "at": at,
                "envelope": !line.envelope.is_empty(), "not_finite": line.not_finite,
                "places": !line.places.is_empty(),
            });
            self.put("line", head);
        }
        if let Some((stamp, volume)) = &frame.volume {
            let at = self.at();
            self.body.extend_from_slice(&volume.samples);
            let [low, high] = ends(volume.range);
            let head = json!({
                "version": stamp, "shape": volume.shape, "block": volume.block,
                "min": low, "max": high, "at": at, "not_finite": volume.not_finite,
                "spacing": volume.spacing,
            });
            self.put("volume", head);
        }
        if let Some((stamp, pages)) = &frame.pages {
            let at = self.at();
            self.body.extend_from_slice(&pages.bins);
            let head = json!({
                "version": stamp, "pages_per_bin": pages.pages_per_bin, "pages": pages.pages,
                "changed": pages.changed, "length": pages.bins.len(), "at": at,
            });
            self.put("pages", head);
        }
    }

    fn numbers(&mut self, frame: &Frame) {
        if let Some(probe) = &frame.probe {
            self.put("probe", json!(probe));
        }
        if let Some((stamp, moments)) = &frame.moments {
            self.put("moments", moments_of(stamp, moments));
        }
        if let Some((stamp, histogram)) = &frame.histogram {
            let edges = (histogram.edges.first(), histogram.edges.last());
            let head = json!({
                "version": stamp, "first": edges.0, "last": edges.1, "counts": histogram.counts,
                "below": histogram.below, "above": histogram.above,
            });
            self.put("histogram", head);
        }
        if !frame.also.is_empty() {
            let each = frame.also.iter();
            let also = each.map(|(name, (stamp, m))| (name.clone(), moments_of(stamp, m)));
            self.put("also", Value::Object(also.collect()));
        }
    }

    fn finish(self) -> Vec<u8> {
        const LENGTH: usize = size_of::<u32>();
        let mut head = Value::Object(self.head).to_string().into_bytes();
        let padded = (LENGTH + head.len()).next_multiple_of(8) - LENGTH;
        head.resize(padded, b' ');
        let mut out = Vec::with_capacity(LENGTH + padded + self.body.len());
        out.extend((padded as u32).to_le_bytes());
        out.extend(head);
        out.extend(self.body);
        out
    }
}

/// Returns the samples of a tile, row by row.
fn lines(image: &Image, (down, across): (usize, usize)) -> impl Iterator<Item = &[f32]> {
    let [rows, cols] = image.size;
    let (first, last) = (across * TILE, ((across + 1) * TILE).min(cols));
    (down * TILE..((down + 1) * TILE).min(rows))
        .map(move |row| &image.samples[row * cols + first..row * cols + last])
}

/// Returns true if the samples of a tile are equal. Two NaN with the same bits are equal, too.
fn unchanged(image: &Image, old: &Image, place: (usize, usize)) -> bool {
    let bits = |line: &[f32]| line.iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
    let mut pairs = lines(image, place).zip(lines(old, place));
    pairs.all(|(new, old)| new == old || bits(new) == bits(old))
}

fn ends(range: Option<[f64; 2]>) -> [Option<f64>; 2] {
    range.map_or([None, None], |[low, high]| [Some(low), Some(high)])
}

fn moments_of(stamp: &Stamp, moments: &Moments) -> Value {
    let number = |value: Option<tcasm_analytics::Scalar>| value.map(|value| value.to_f64());
    json!({
        "version": stamp, "count": moments.count,
        "nans": moments.nans, "infinities": moments.infinities,
        "min": number(moments.min), "max": number(moments.max),
        "mean": number(moments.mean), "std": moments.std,
    })
}

#[cfg(test)]
mod tests;
