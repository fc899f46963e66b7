//! The encoding of the places of samples, and of scenes. Arrays that the page has are left out.

use super::message::{Message, ends};
use crate::mesh::{Grid, Scene, Surface};
use serde_json::{Value, json};
use std::sync::Arc;

impl Message {
    /// Adds an array, unless it is the same as `old`. Returns where it begins, or null.
    pub(super) fn array<T: Bits>(&mut self, new: &[T], old: Option<&[T]>) -> Value {
        let same = |old: &[T]| {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len() && pairs.all(|(new, old)| new.bits() == old.bits())
        };
        if old.is_some_and(same) {
            return Value::Null;
        }
        let at = self.at();
        self.body
            .extend(new.iter().flat_map(|value| value.bits().to_le_bytes()));
        json!(at)
    }

    /// Adds the places of the samples of an image. The page has `old`.
    pub(super) fn grid(&mut self, grid: &Grid, old: Option<&Grid>) {
        let same = old.filter(|old| old.size == grid.size && old.origin == grid.origin);
        let old = same.map(|old| old.corners.as_flattened());
        let corners = self.array(grid.corners.as_flattened(), old);
        let head = json!({
            "rows": grid.size[0], "cols": grid.size[1], "origin": grid.origin,
            "low": grid.bounds.map(|[low, _]| low), "high": grid.bounds.map(|[_, high]| high),
            "invalid_points": grid.invalid_points, "corners": corners,
        });
        self.put("grid", head);
    }

    /// Adds a scene. The page has `old`.
    pub(super) fn scene(&mut self, scene: &Scene, old: Option<&Scene>) {
        let near = old.filter(|old| old.origin == scene.origin);
        let positions = near.map(|old| old.positions.as_flattened());
        let positions = self.array(scene.positions.as_flattened(), positions);
        let numbers = self.array(scene.point_numbers(), old.map(Scene::point_numbers));
        let values = old.filter(|old| old.base == scene.base);
        let values = self.array(&scene.values, values.map(|old| &*old.values));
        let old = old.and_then(|old| old.surface.as_ref());
        let surface = scene.surface.as_ref();
        let surface = surface.map(|surface| self.surface(surface, old));
        let [low, high] = ends(scene.range);
        let head = json!({
            "mesh": scene.mesh, "cells": scene.cells, "all": scene.all,
            "points": scene.positions.len(), "invalid_points": scene.invalid_points,
            "why": scene.why, "origin": scene.origin, "low": scene.bounds.map(|[low, _]| low),
            "high": scene.bounds.map(|[_, high]| high), "positions": positions,
            "numbers": numbers, "surface": surface, "base": scene.base, "min": low, "max": high,
            "not_finite": scene.not_finite, "values": values,
        });
        self.put("scene", head);
    }

    /// Adds the arrays of a surface, unless they are those of `old`. Returns its head.
    fn surface(&mut self, surface: &Arc<Surface>, old: Option<&Arc<Surface>>) -> Value {
        let same = |old: &Arc<Surface>| Arc::ptr_eq(old, surface) || old == surface;
        let [corners, cells] = match old.is_some_and(same) {
            true => [Value::Null, Value::Null],
            false => [
                self.array(surface.corners.as_flattened(), None),
                self.array(&surface.cells, None),
            ],
        };
        json!({
            "triangles": surface.cells.len(), "of": surface.all, "corners": corners,
            "cells": cells,
        })
    }
}

/// A number of 32 bits that can be in an array of a message.
pub(super) trait Bits: Copy {
    /// Returns its bits. Two NaN with the same bits are equal.
    fn bits(self) -> u32;
}

impl Bits for u32 {
    fn bits(self) -> u32 {
        self
    }
}

impl Bits for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }
}
