//! A message with a frame: a head in JSON, and arrays.

use super::data::{Frame, Pages};
use crate::image::{Image, Profile, Volume};
use serde_json::{Map, Value, json};
use tcasm_analytics::Moments;
use tcasm_core::format::stamp::Stamp;

/// Number of rows, and of columns, in a tile.
pub const TILE: usize = 64;

/// A message under construction: a head, and arrays.
#[derive(Default)]
pub(super) struct Message {
    head: Map<String, Value>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Sets a member of the head.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.head.insert(name.to_owned(), value);
    }

    /// Adds the members that tell which frame it is, and of what.
    pub(super) fn begin(&mut self, number: u64, frame: &Frame) {
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
    pub(super) fn at(&mut self) -> usize {
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        self.body.len()
    }

    /// Adds the tiles of an image that differ from those of `old`. Returns the head of the image.
    pub(super) fn image(&mut self, image: &Image, old: Option<&Image>) -> Map<String, Value> {
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

    /// Adds the values along the line, the volume, and the pages that changed.
    pub(super) fn arrays(&mut self, frame: &Frame) {
        if let Some(line) = &frame.profile {
            self.line(line);
        }
        if let Some((stamp, volume)) = &frame.volume {
            self.volume(stamp, volume);
        }
        if let Some((stamp, pages)) = &frame.pages {
            self.pages(stamp, pages);
        }
    }

    fn line(&mut self, line: &Profile) {
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

    fn volume(&mut self, stamp: &Stamp, volume: &Volume) {
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

    fn pages(&mut self, stamp: &Stamp, pages: &Pages) {
        let at = self.at();
        self.body.extend_from_slice(&pages.bins);
        let head = json!({
            "version": stamp, "pages_per_bin": pages.pages_per_bin, "pages": pages.pages,
            "changed": pages.changed, "length": pages.bins.len(), "at": at,
        });
        self.put("pages", head);
    }

    /// Adds the members that are numbers only.
    pub(super) fn numbers(&mut self, frame: &Frame) {
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

    /// Returns the message: the length of the head, the head, and the arrays.
    pub(super) fn finish(self) -> Vec<u8> {
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

/// Returns the ends of a range, each `None` if there is no range.
pub(super) fn ends(range: Option<[f64; 2]>) -> [Option<f64>; 2] {
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
