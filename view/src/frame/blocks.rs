//! The encoding of the images of the blocks of a whole. Samples that the page has are left out.

use super::data::{BlockImage, BlockImages};
use super::message::{Message, ends};
use crate::image::Image;
use serde_json::{Value, json};
use std::collections::HashMap;

impl Message {
    /// Adds the images of blocks. The page has `old`.
    pub(super) fn blocks(&mut self, new: &BlockImages, old: Option<&BlockImages>) {
        let old = old.map_or(&[] as &[BlockImage], |old| old.images.as_slice());
        let old: HashMap<&str, &Image> = old.iter().map(|o| (&*o.mesh, &*o.image)).collect();
        let mut images = Vec::with_capacity(new.images.len());
        for block in &new.images {
            let known = old.get(&*block.mesh).map(|image| &*image.samples);
            let samples = self.array(&block.image.samples, known);
            images.push(head(block, samples));
        }
        let [low, high] = ends(new.range);
        let head = json!({
            "count": new.count, "used": new.used, "min": low, "max": high,
            "not_finite": new.not_finite, "images": images,
        });
        self.put("blocks", head);
    }
}

/// Returns the head of a block, whose samples begin at `samples`.
fn head(block: &BlockImage, samples: Value) -> Value {
    let image = &block.image;
    let [low, high] = ends(image.range);
    json!({
        "mesh": block.mesh, "field": block.field, "level": block.level,
        "origin": block.axes.origin, "spacing": block.axes.spacing,
        "rows": image.size[0], "cols": image.size[1], "block": image.block,
        "window": image.window, "base": image.base, "min": low, "max": high,
        "not_finite": image.not_finite, "samples": samples,
    })
}
