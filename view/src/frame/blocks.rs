//! The images of the blocks of a whole, and their encoding. Samples that the page has are left out.

use super::{Frame, Message, Writer, ends};
use crate::image::Image;
use crate::region::Axes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

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

impl Writer {
    /// Adds the images of blocks.
    pub(super) fn blocks(&mut self, message: &mut Message, frame: &Frame) {
        if let Some(blocks) = &frame.blocks {
            message.blocks(blocks, self.blocks.as_deref());
            self.blocks = Some(blocks.clone());
        }
    }
}

impl Message {
    fn blocks(&mut self, new: &BlockImages, old: Option<&BlockImages>) {
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
