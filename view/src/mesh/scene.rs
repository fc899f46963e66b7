//! A field on particles or on an unstructured mesh, as points or as a surface in space.

use super::cells::{CellList, Middles};
use super::faces::MAX_CELLS;
use super::fields::{Fields, Place, mesh_of, points_of};
use super::points::{Places, Points, is_usable};
use super::sample::{Least, kept};
use super::surface::{Most, surface};
use super::triangles::Surface;
use super::values::{Extent, Relative, gather, not_finite};
use super::{Bounds, Cache, MeshError, extend, middle, relative};
use crate::request::SceneRequest;
use std::sync::Arc;
use tcasm_core::field::{Cells, FieldDesc, MeshDesc, MeshKind};

/// A field in space: points, or the triangles of a surface, with values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The name of the mesh.
    pub mesh: String,
    /// True if the field is in the cells of the mesh: a point stands for a cell then, and each
    /// triangle has a value. Otherwise each point has one.
    pub cells: bool,
    /// Number of points of the mesh, or of cells.
    pub all: usize,
    /// Number of points that cannot be drawn, because of their coordinates.
    pub invalid_points: usize,
    /// The reason why points are shown though a surface was wanted.
    pub why: Option<String>,
    /// The place that `positions` are relative to.
    pub origin: [f64; 3],
    /// The least and the greatest coordinates; `None` if no point has a place.
    pub bounds: Option<Bounds>,
    /// The coordinates x, y, z of the points minus `origin`. Points of a surface that cannot be
    /// drawn are NaN.
    pub positions: Vec<[f32; 3]>,
    /// The numbers of the points (or cells) in the mesh, if there is no surface.
    pub numbers: Vec<u32>,
    /// The triangles, if it is a surface.
    pub surface: Option<Arc<Surface>>,
    /// The value that `values` are relative to.
    pub base: f64,
    /// The least and the greatest finite value of the whole field; `None` if none is finite.
    pub range: Option<[f64; 2]>,
    /// Number of values of the whole field that are not finite.
    pub not_finite: u64,
    /// The values minus `base`: of each point, or of each triangle. A value of a coarser surface is
    /// NaN if one that it stands for is not finite.
    pub values: Vec<f32>,
}

impl Scene {
    /// Returns the number of each point in the mesh, or of the cell that it stands for.
    pub fn point_numbers(&self) -> &[u32] {
        self.surface
            .as_ref()
            .map_or(&self.numbers, |surface| &surface.points)
    }
}

/// Computes the scene of one component of the field `name`, or of its magnitude (`None`), whose
/// values have the extent `whole`.
pub fn scene(
    fields: &impl Fields,
    name: &str,
    component: Option<usize>,
    whole: Extent,
    wanted: &SceneRequest,
    cache: &mut Cache,
) -> Result<Scene, MeshError> {
    let given = fields.get(name)?;
    let none = || MeshError::NoScene(name.to_owned());
    let (mesh, place) = mesh_of(fields.table(), given.0).ok_or_else(none)?;
    let field = Field {
        given,
        component,
        whole,
        mesh,
        place,
    };
    match &mesh.kind {
        MeshKind::Particles { positions } if place == Place::Points => {
            field.cloud(&points_of(fields, positions)?, wanted.points, cache)
        }
        MeshKind::Unstructured { points, cells } => {
            let points = points_of(fields, points)?;
            field.on_cells(fields, cells, points, wanted, cache)
        }
        _ => Err(none()),
    }
}

fn cells_of<'f>(
    fields: &'f impl Fields,
    mesh: &'f MeshDesc,
    cells: &Cells,
    points: usize,
) -> Result<CellList<'f>, MeshError> {
    match cells {
        Cells::Same {
            cell_type,
            connectivity,
        } => CellList::same(&mesh.name, points, *cell_type, fields.get(connectivity)?),
        Cells::Mixed {
            connectivity,
            offsets,
            types,
        } => CellList::mixed(
            &mesh.name,
            points,
            fields.get(connectivity)?,
            fields.get(offsets)?,
            fields.get(types)?,
        ),
    }
}

/// A field that is shown, with its place.
struct Field<'f> {
    given: (&'f FieldDesc, &'f [u8]),
    component: Option<usize>,
    whole: Extent,
    mesh: &'f MeshDesc,
    place: Place,
}

impl Field<'_> {
    fn values(&self, numbers: &[u32]) -> Result<Relative, MeshError> {
        let (desc, bytes) = self.given;
        let values = gather(desc, bytes, self.component, numbers)?;
        Ok(Relative::new(&values, self.whole.range))
    }

    /// Returns the surface of an unstructured mesh if it is wanted, or points if there is none.
    fn on_cells<'a>(
        &'a self,
        fields: &'a impl Fields,
        cells: &Cells,
        points: Points<'a>,
        wanted: &SceneRequest,
        cache: &mut Cache,
    ) -> Result<Scene, MeshError> {
        let mut why = None;
        if wanted.surface {
            match self.surface(fields, cells, &points, wanted.triangles, cache) {
                Ok(scene) => return Ok(scene),
                Err(error) => why = Some(error.to_string()),
            }
        }
        let scene = match self.place {
            Place::Points => self.cloud(&points, wanted.points, cache)?,
            Place::Cells => {
                let cells = cells_of(fields, self.mesh, cells, points.count())?;
                self.cloud(&Middles::new(cells, points), wanted.points, cache)?
            }
        };
        Ok(Scene { why, ..scene })
    }

    /// Returns at most `most` of the points.
    fn cloud(
        &self,
        points: &impl Places,
        most: usize,
        cache: &mut Cache,
    ) -> Result<Scene, MeshError> {
        let selection = cache.selection((self.mesh.name.as_str(), self.place, most), points);
        let numbers = selection.with(self.marked(points, most)?, most);
        // The choice may be older than this version.
        let placed = |number: &u32| (*number, points.get(*number as usize));
        let shown = numbers.iter().map(placed);
        let (numbers, places): (Vec<u32>, Vec<[f64; 3]>) =
            shown.filter(|(_, place)| is_usable(*place)).unzip();
        let values = self.values(&numbers)?;
        let scene = self.scene(&places, values, points.count());
        Ok(Scene {
            invalid_points: selection.invalid_points,
            numbers,
            ..scene
        })
    }

    /// Returns some of the points whose values are not finite, if not all points are shown.
    fn marked(&self, points: &impl Places, most: usize) -> Result<Vec<u32>, MeshError> {
        let (count, mut marked) = (points.count(), Least::new(kept(most)));
        if count > most {
            self.each_not_finite(&mut |number| {
                let at = number as usize;
                if at < count && is_usable(points.get(at)) {
                    marked.add(number);
                }
            })?;
        }
        Ok(marked.into_numbers())
    }

    /// Calls `found` with the number of each value that is not finite.
    fn each_not_finite(&self, found: &mut dyn FnMut(u32)) -> Result<(), MeshError> {
        let (desc, bytes) = self.given;
        match self.whole.not_finite {
            0 => Ok(()),
            _ => not_finite(desc, bytes, self.component, found),
        }
    }

    /// Returns the surface of the mesh, with at most so many triangles.
    fn surface(
        &self,
        fields: &impl Fields,
        cells: &Cells,
        points: &Points<'_>,
        triangles: usize,
        cache: &mut Cache,
    ) -> Result<Scene, MeshError> {
        let (found, count) = self.triangles(fields, cells, points, triangles, cache)?;
        let places: Vec<[f64; 3]> = found
            .points
            .iter()
            .map(|point| points.get(*point as usize))
            .collect();
        let (numbers, all) = match self.place {
            Place::Points => (&found.points, points.count()),
            Place::Cells => (&found.cells, count),
        };
        let mut values = self.values(numbers)?;
        self.mark(&found, &mut values.values)?;
        let scene = self.scene(&places, values, all);
        let lacking = found.merged.as_ref().map_or(0, |m| m.invalid_points);
        let invalid = places.iter().filter(|place| !is_usable(**place)).count();
        Ok(Scene {
            invalid_points: lacking + invalid,
            surface: Some(found),
            ..scene
        })
    }

    /// Returns the surface of the mesh without values, and the number of cells of the mesh.
    fn triangles(
        &self,
        fields: &impl Fields,
        cells: &Cells,
        points: &Points<'_>,
        triangles: usize,
        cache: &mut Cache,
    ) -> Result<(Arc<Surface>, usize), MeshError> {
        let list = cells_of(fields, self.mesh, cells, points.count())?;
        let key = (self.mesh.name.as_str(), triangles);
        let most = Most {
            cells: MAX_CELLS,
            triangles,
        };
        let find = || surface(&list, points, most);
        let fits = |known: &Surface| known.fits(points);
        let found = cache.surface(fields, key, cells, points.count(), fits, find)?;
        Ok((found, list.count()))
    }

    /// Makes the values of a coarser surface NaN that stand for values that are not finite.
    fn mark(&self, surface: &Surface, values: &mut [f32]) -> Result<(), MeshError> {
        let Some(merged) = &surface.merged else {
            return Ok(());
        };
        let mut marked = vec![false; surface.points.len()];
        self.each_not_finite(&mut |number| {
            if let Some(at) = merged.place_of(self.place, number) {
                marked[at] = true;
            }
        })?;
        let touched = surface.touched(self.place, &marked);
        for (value, _) in values.iter_mut().zip(touched).filter(|(_, is)| *is) {
            *value = f32::NAN;
        }
        Ok(())
    }

    fn scene(&self, places: &[[f64; 3]], values: Relative, all: usize) -> Scene {
        let mut bounds = None;
        for place in places.iter().filter(|place| is_usable(**place)) {
            extend(&mut bounds, *place);
        }
        let origin = bounds.as_ref().map_or([0.0; 3], middle);
        let position = |place: &[f64; 3]| match is_usable(*place) {
            true => relative(*place, origin),
            false => [f32::NAN; 3],
        };
        Scene {
            mesh: self.mesh.name.clone(),
            cells: self.place == Place::Cells,
            all,
            invalid_points: 0,
            why: None,
            origin,
            bounds,
            positions: places.iter().map(position).collect(),
            numbers: Vec::new(),
            surface: None,
            base: values.base,
            range: self.whole.range,
            not_finite: self.whole.not_finite,
            values: values.values,
        }
    }
}
