//! Frames: what is seen of a version, and how it is written for a page that has the frame before.

use crate::image::{Image, Profile, Volume};
use crate::look::Look;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tcasm_analytics::{Histogram, Moments};
use tcasm_core::stamp::Stamp;

/// Rows and columns of a tile.
pub const TILE: usize = 64;

/// Something, and of which version it is.
pub type Of<T> = (Stamp, Arc<T>);

/// What was looked at, of one version. What is absent is as it was before.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// What it answers.
    pub look: Arc<Look>,
    /// The version.
    pub stamp: Stamp,
    /// When the version was published: nanoseconds of the Unix epoch.
    pub published: u64,
    /// Why there is nothing else.
    pub error: Option<String>,
    /// The image.
    pub image: Option<Arc<Image>>,
    /// The image of the other version, or why there is none.
    pub compare: Option<Result<Of<Image>, String>>,
    /// The values along the line.
    pub profile: Option<Arc<Profile>>,
    /// The value of the point.
    pub probe: Option<Probe>,
    /// Moments of the field.
    pub moments: Option<Of<Moments>>,
    /// Histogram of the field.
    pub histogram: Option<Of<Histogram>>,
    /// The field as a block.
    pub volume: Option<Of<Volume>>,
    /// Which pages changed.
    pub pages: Option<Of<Pages>>,
    /// Moments of other fields.
    pub also: BTreeMap<String, Of<Moments>>,
}

/// The value of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// Its indices.
    pub at: Vec<usize>,
    /// A number for each component.
    pub values: Vec<f64>,
    /// The same to read, as exact as the dtype.
    pub text: String,
}

/// Which pages of a region changed in a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Pages of the region, as far as there are fields.
    pub pages: usize,
    /// How many of them changed.
    pub changed: usize,
    /// Pages that one number stands for.
    pub pages_per_bin: usize,
    /// The share of changed pages: 0 for none, 1 to 255.
    pub bins: Vec<u8>,
}

impl Frame {
    /// Take what this frame has not, and an older one that nobody has seen has.
    pub fn complete(&mut self, older: Frame) {
        if self.error.is_some() || older.error.is_some() {
            return;
        }
        self.image = self.image.take().or(older.image);
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

/// Writes frames for one page.
#[derive(Debug, Default)]
pub struct Writer {
    number: u64,
    image: Option<(String, Arc<Image>)>,
    compare: Option<(String, Arc<Image>)>,
}

/// A message that is being written: a head, and arrays.
#[derive(Default)]
struct Message {
    head: Map<String, Value>,
    body: Vec<u8>,
}

impl Writer {
    /// The frame as a binary message, and its number.
    pub fn write(&mut self, frame: &Frame) -> (u64, Vec<u8>) {
        self.number += 1;
        let mut message = Message::default();
        message.begin(self.number, frame);
        // Images count as the same place only where the same is looked at.
        let what = format!(
            "{:?}",
            (&frame.look.field, frame.look.component, &frame.look.slice)
        );
        if let Some(image) = &frame.image {
            let head = message.image(image, same(&self.image, &what, image));
            message.head.insert("image".to_owned(), Value::Object(head));
            self.image = Some((what.clone(), image.clone()));
        }
        match &frame.compare {
            Some(Ok((stamp, image))) => {
                let mut head = message.image(image, same(&self.compare, &what, image));
                head.insert("version".to_owned(), json!(stamp));
                message
                    .head
                    .insert("compare".to_owned(), Value::Object(head));
                self.compare = Some((what, image.clone()));
            }
            Some(Err(error)) => message.put("compare", json!({ "error": error })),
            None => {}
        }
        message.arrays(frame);
        message.numbers(frame);
        (self.number, message.finish())
    }
}

fn same<'o>(old: &'o Option<(String, Arc<Image>)>, what: &str, image: &Image) -> Option<&'o Image> {
    let (before, old) = old.as_ref()?;
    (before == what && old.is_alike(image)).then_some(&**old)
}

impl Message {
    fn put(&mut self, name: &str, value: Value) {
        self.head.insert(name.to_owned(), value);
    }

    fn begin(&mut self, number: u64, frame: &Frame) {
        self.put("type", json!("frame"));
        self.put("frame", json!(number));
        self.put("id", json!(frame.look.id));
        self.put("field", json!(frame.look.field));
        self.put("component", json!(frame.look.component));
        self.put("version", json!(frame.stamp));
        self.put("published_ms", json!(frame.published as f64 / 1e6));
        self.put("error", json!(frame.error));
    }

    /// Align what comes next; where it begins.
    fn at(&mut self) -> usize {
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        self.body.len()
    }

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
            "rows": rows, "cols": cols, "block": image.block, "window": image.window, "base": image.base,
            "min": low, "max": high, "tile": TILE, "tiles": tiles, "at": at,
        });
        match head {
            Value::Object(head) => head,
            _ => Map::new(),
        }
    }

    fn arrays(&mut self, frame: &Frame) {
        if let Some(line) = &frame.profile {
            let at = self.at();
            self.body
                .extend(line.values.iter().flat_map(|value| value.to_le_bytes()));
            let length = line.values.len();
            let head = json!({"axis": line.axis, "block": line.block, "length": length, "at": at});
            self.put("line", head);
        }
        if let Some((stamp, volume)) = &frame.volume {
            let at = self.at();
            self.body.extend_from_slice(&volume.samples);
            let [low, high] = ends(volume.range);
            let head = json!({
                "version": stamp, "shape": volume.shape, "block": volume.block, "min": low, "max": high, "at": at,
            });
            self.put("volume", head);
        }
        if let Some((stamp, pages)) = &frame.pages {
            let at = self.at();
            self.body.extend_from_slice(&pages.bins);
            let head = json!({
                "version": stamp, "pages_per_bin": pages.pages_per_bin, "pages": pages.pages, "changed": pages.changed,
                "length": pages.bins.len(), "at": at,
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

/// The parts of rows of samples that make up a tile.
fn lines(image: &Image, (down, across): (usize, usize)) -> impl Iterator<Item = &[f32]> {
    let [rows, cols] = image.size;
    let (first, last) = (across * TILE, ((across + 1) * TILE).min(cols));
    (down * TILE..((down + 1) * TILE).min(rows))
        .map(move |row| &image.samples[row * cols + first..row * cols + last])
}

/// Whether a tile is the same, to the bit: NaN equals NaN.
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
        "version": stamp, "count": moments.count, "nans": moments.nans, "infinities": moments.infinities,
        "min": number(moments.min), "max": number(moments.max), "mean": number(moments.mean), "std": moments.std,
    })
}

#[cfg(test)]
mod tests;
