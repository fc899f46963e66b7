//! The description of fields of block-structured meshes (AMR) for clients: one for all blocks.

use super::axis_names;
use crate::mesh;
use serde::Serialize;
use tcasm_core::field::{Centering, FieldTable};

/// A quantity on the blocks of a block-structured mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // PROTOCOL.md describes the fields.
pub struct Whole {
    pub name: String,
    pub whole: String,
    pub quantity: String,
    pub dtype: &'static str,
    pub unit: String,
    pub shape: Vec<usize>,
    pub axes: Vec<String>,
    pub components: usize,
    pub complex: bool,
    pub centering: Centering,
    pub origin: Option<Vec<f64>>,
    pub spacing: Option<Vec<f64>>,
    pub blocks: usize,
    pub used: usize,
    pub fields: Vec<String>,
}

impl Whole {
    /// Returns the descriptions for clients of all such fields of `table`.
    pub fn all(table: &FieldTable) -> Vec<Self> {
        let wholes = mesh::wholes(table);
        wholes.iter().filter_map(Whole::of).collect()
    }

    fn of(whole: &mesh::Whole<'_>) -> Option<Self> {
        let desc = whole.members.first()?.field;
        let used = whole.used();
        let cells = whole.cells(&used);
        let (origin, spacing) = cells.axes.map(|axes| (axes.origin, axes.spacing)).unzip();
        let fields = whole.members.iter().map(|member| member.field.name.clone());
        Some(Whole {
            name: whole.name(),
            whole: whole.of.to_owned(),
            quantity: whole.quantity.to_owned(),
            dtype: desc.dtype.name(),
            unit: desc.unit.clone(),
            axes: axis_names(cells.shape.len()),
            shape: cells.shape,
            components: desc.components,
            complex: desc.dtype.name().starts_with("complex"),
            centering: desc.centering,
            origin,
            spacing,
            blocks: whole.members.len(),
            used: used.len(),
            fields: fields.collect(),
        })
    }
}
