//! Fields on named meshes of each kind.
//!
//! - `speed` and `charge` on particles in space, whose number changes: 200, 300, none, 200, ...
//!   Value i belongs to particle i; that of particle 7 is NaN. `dots` are particles in a plane.
//! - `layer` on the points and `strip` in the cells of a rectilinear mesh.
//! - `tide` on a curvilinear mesh, half a ring.
//! - `heat` on the points and `load` in the cells of a rod of hexahedra.
//! - `torn` on a mesh with a cell that cannot be.

use ndarray::{Ix1, Ix2, Ix3};
use std::error::Error;
use std::f64::consts::PI;
use tcasm_core::field::CellType;
use tcasm_producer::{Field, MeshHandle, Producer};

/// The greatest number of particles.
const ATOMS: usize = 400;
const DOTS: usize = 9;
const LAYER: [usize; 2] = [5, 7];
const RING: [usize; 2] = [4, 25];
/// Number of hexahedra of the rod.
const ROD: usize = 6;

pub struct Meshes {
    atoms: MeshHandle,
    x: Field<f64, Ix2>,
    speed: Field<f64, Ix1>,
    charge: Field<f32, Ix1>,
    layer: Field<f64, Ix2>,
    tide: Field<f64, Ix2>,
    heat: Field<f64, Ix1>,
}

impl Meshes {
    pub fn new(p: &mut Producer) -> Result<Self, Box<dyn Error>> {
        let x = p.field::<f64, _>("x", [ATOMS, 3]).vector().variable();
        let x = x.unit("nm").add()?;
        let atoms = p.particles("atoms", &x).add()?;
        let speed = p.field::<f64, _>("speed", [ATOMS]).variable().on(&atoms);
        let speed = speed.unit("nm/ps").add()?;
        let charge = p.field::<f32, _>("charge", [ATOMS]).variable().on(&atoms);
        let charge = charge.add()?;
        add_dots(p)?;
        let layer = add_layer(p)?;
        let tide = add_ring(p)?;
        let heat = add_rod(p)?;
        add_torn(p)?;
        Ok(Meshes {
            atoms,
            x,
            speed,
            charge,
            layer,
            tide,
            heat,
        })
    }

    pub fn paint(&self, p: &mut Producer, step: u64) -> Result<(), Box<dyn Error>> {
        let count = [200, 300, 0][(step as usize - 1) % 3];
        p.set_len(self.atoms, count)?;
        let time = 0.1 * step as f64;
        let mut x = p.view_mut(self.x)?;
        for i in 0..count {
            let angle = 0.2 * i as f64 + time;
            x[[i, 0]] = 10.0 * angle.cos();
            x[[i, 1]] = 10.0 * angle.sin();
            x[[i, 2]] = 0.1 * i as f64;
        }
        let mut speed = p.view_mut(self.speed)?;
        (0..count).for_each(|i| speed[i] = i as f64);
        if count > 7 {
            speed[7] = f64::NAN;
        }
        p.view_mut(self.charge)?.fill(1.0);
        for ((y, x), value) in p.view_mut(self.layer)?.indexed_iter_mut() {
            *value = (10 * y + x) as f64 + time;
        }
        for ((r, _), value) in p.view_mut(self.tide)?.indexed_iter_mut() {
            *value = r as f64;
        }
        for (i, value) in p.view_mut(self.heat)?.indexed_iter_mut() {
            *value = (i / 4) as f64;
        }
        Ok(())
    }
}

/// Adds particles in a plane, in three rows.
fn add_dots(p: &mut Producer) -> Result<(), Box<dyn Error>> {
    let place = p.field::<f64, _>("place", [DOTS, 2]).vector().add()?;
    let mesh = p.particles("grains", &place).add()?;
    let dots = p.field::<f64, _>("dots", [DOTS]).on(&mesh).add()?;
    for ((i, axis), x) in p.view_mut(place)?.indexed_iter_mut() {
        *x = [i % 3, i / 3][axis] as f64;
    }
    for (i, value) in p.view_mut(dots)?.indexed_iter_mut() {
        *value = i as f64;
    }
    Ok(())
}

/// Adds a mesh whose columns become wider: their coordinates are 0, 1, 4, 9, ...
fn add_layer(p: &mut Producer) -> Result<Field<f64, Ix2>, Box<dyn Error>> {
    let [rows, cols] = LAYER;
    let across = p.field::<f64, _>("across", [cols]).unit("m").add()?;
    let up = p.field::<f64, _>("up", [rows]).unit("m").add()?;
    for (i, x) in p.view_mut(across)?.indexed_iter_mut() {
        *x = (i * i) as f64;
    }
    for (i, y) in p.view_mut(up)?.indexed_iter_mut() {
        *y = 5.0 * i as f64;
    }
    let mesh = p.rectilinear_mesh("ground", &[across, up]).add()?;
    let strip = p.field::<f64, _>("strip", [rows - 1, cols - 1]).on(&mesh);
    let strip = strip.cell_centred().add()?;
    for ((_, x), value) in p.view_mut(strip)?.indexed_iter_mut() {
        *value = x as f64;
    }
    let layer = p.field::<f64, _>("layer", LAYER).on(&mesh).unit("K");
    Ok(layer.add()?)
}

/// Adds half a ring around the origin, with radii 1 to 2.
fn add_ring(p: &mut Producer) -> Result<Field<f64, Ix2>, Box<dyn Error>> {
    let [rows, cols] = RING;
    let points = p
        .field::<f64, _>("bend", [rows, cols, 3])
        .vector()
        .unit("km");
    let points: Field<f64, Ix3> = points.add()?;
    for ((row, col, axis), x) in p.view_mut(points)?.indexed_iter_mut() {
        let radius = 1.0 + row as f64 / (rows - 1) as f64;
        let angle = PI * col as f64 / (cols - 1) as f64;
        *x = [radius * angle.cos(), radius * angle.sin(), 0.0][axis];
    }
    let mesh = p.curvilinear_mesh("ring", &points).add()?;
    Ok(p.field::<f64, _>("tide", RING).on(&mesh).unit("m").add()?)
}

/// Adds a row of cubes along x.
fn add_rod(p: &mut Producer) -> Result<Field<f64, Ix1>, Box<dyn Error>> {
    let count = 4 * (ROD + 1);
    let points = p.field::<f32, _>("nodes", [count, 3]).vector().add()?;
    let cells = p.field::<i64, _>("bricks", [ROD, 8]).vector().add()?;
    for ((i, axis), x) in p.view_mut(points)?.indexed_iter_mut() {
        *x = [i / 4, [0, 1, 1, 0][i % 4], [0, 0, 1, 1][i % 4]][axis] as f32;
    }
    for ((cell, corner), point) in p.view_mut(cells)?.indexed_iter_mut() {
        *point = (4 * cell + corner) as i64;
    }
    let mesh = p
        .unstructured_mesh("rod", &points, CellType::HEXAHEDRON, &cells)
        .add()?;
    let load = p.field::<f64, _>("load", [ROD]).on(&mesh).cell_centred();
    let load = load.unit("N").add()?;
    for (i, value) in p.view_mut(load)?.indexed_iter_mut() {
        *value = i as f64;
    }
    Ok(p.field::<f64, _>("heat", [count])
        .on(&mesh)
        .unit("K")
        .add()?)
}

/// Adds a tetrahedron that has a point which there is not.
fn add_torn(p: &mut Producer) -> Result<(), Box<dyn Error>> {
    let points = p.field::<f64, _>("shreds", [4, 3]).vector().add()?;
    let cells = p.field::<i64, _>("seams", [1, 4]).vector().add()?;
    let mut places = p.view_mut(points)?;
    (1..4).for_each(|i| places[[i, i - 1]] = 1.0);
    for ((_, corner), point) in p.view_mut(cells)?.indexed_iter_mut() {
        *point = [0, 1, 2, 99][corner];
    }
    let mesh = p
        .unstructured_mesh("rag", &points, CellType::TETRA, &cells)
        .add()?;
    p.field::<f64, _>("torn", [4]).on(&mesh).add()?;
    Ok(())
}
