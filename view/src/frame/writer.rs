//! The encoder of frames for a page that has the frame before.

use super::data::{BlockImages, Frame};
use super::message::Message;
use crate::image::Image;
use crate::mesh::{Grid, Scene};
use crate::request::{SceneRequest, Slice, ViewRequest};
use serde_json::{Value, json};
use std::sync::Arc;

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
    blocks: Option<Arc<BlockImages>>,
}

impl Writer {
    /// Encodes a frame as a binary message. Returns its number and the message.
    pub fn write(&mut self, frame: &Frame) -> (u64, Vec<u8>) {
        self.number += 1;
        self.forget_others(&frame.request);
        let mut message = Message::default();
        message.begin(self.number, frame);
        self.images(&mut message, frame);
        self.blocks(&mut message, frame);
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

    /// Adds the images of blocks.
    fn blocks(&mut self, message: &mut Message, frame: &Frame) {
        if let Some(blocks) = &frame.blocks {
            message.blocks(blocks, self.blocks.as_deref());
            self.blocks = Some(blocks.clone());
        }
    }

    /// Adds the places of the samples, and the scene. Arrays that the page has already are left
    /// out.
    fn places(&mut self, message: &mut Message, frame: &Frame) {
        let request = &frame.request;
        if let Some(grid) = &frame.grid {
            message.grid(grid, known(&self.grid, &request.slice));
            self.grid = Some((request.slice.clone(), grid.clone()));
        } else if frame.image.is_some() {
            // The page has no places for this image, so it forgets those of the image before.
            self.grid = None;
        }
        if let Some(scene) = &frame.scene {
            message.scene(scene, known(&self.scene, &request.scene));
            self.scene = Some((request.scene, scene.clone()));
        }
    }
}

/// Returns the data that the page has, if it answers the same part of a request.
fn known<'o, K: PartialEq, T>(old: &'o Option<(K, Arc<T>)>, wanted: &K) -> Option<&'o T> {
    let (before, old) = old.as_ref()?;
    (before == wanted).then_some(&**old)
}
