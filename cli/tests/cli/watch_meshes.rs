//! `watch` in a terminal shows a mesh of each kind of a region that is published meanwhile.

use crate::common::name;
use crate::tmux::Tmux;
use ndarray::{Ix2, Ix3};
use tcasm_producer::{CellType, Field, MeshHandle, Producer};

/// Points along each side of the grids.
const SIDE: usize = 9;
/// The character that shows two pixels, in its upper and its lower half.
const PIXEL: &str = "\u{2580}";

/// A region with a field on a mesh of each kind.
struct Region {
    p: Producer,
    atoms: MeshHandle,
    x: Field<f64, Ix2>,
    v: Field<f64, ndarray::Ix1>,
}

impl Region {
    fn new(name: &str) -> Region {
        let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
        uniform(&mut p);
        rectilinear(&mut p);
        curvilinear(&mut p);
        unstructured(&mut p);
        let x = p.field::<f64, _>("x", [20, 3]).vector().variable();
        let x = x.unit("nm").add().unwrap();
        let atoms = p.particles("atoms", &x).add().unwrap();
        let v = p.field::<f64, _>("speed", [20]).variable().on(&atoms);
        let v = v.add().unwrap();
        Region { p, atoms, x, v }
    }

    /// Publishes `step` with so many particles, along a line whose last one is at 3, 5, 7.
    fn publish(&mut self, step: u64, particles: usize) {
        self.p.set_len(self.atoms, particles).unwrap();
        let end = [3.0, 5.0, 7.0];
        let last = particles.saturating_sub(1).max(1) as f64;
        let mut x = self.p.view_mut(self.x).unwrap();
        for ((i, axis), place) in x.indexed_iter_mut() {
            *place = end[axis] * i as f64 / last;
        }
        let mut v = self.p.view_mut(self.v).unwrap();
        v.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
        self.p.publish(step, 0.0).unwrap();
    }
}

/// Adds a field with different values on a grid of two axes.
fn add_values(p: &mut Producer, name: &str, mesh: &MeshHandle) {
    let field = p.field::<f64, _>(name, [SIDE, SIDE]).on(mesh);
    let field = field.add().unwrap();
    let mut values = p.view_mut(field).unwrap();
    for ((i, j), value) in values.indexed_iter_mut() {
        *value = (i * SIDE + j) as f64;
    }
}

fn uniform(p: &mut Producer) {
    let mesh = p.uniform_mesh("even", [SIDE, SIDE, 1], [0.0; 3], [0.5; 3]);
    let mesh = mesh.add().unwrap();
    add_values(p, "on_even", &mesh);
}

fn rectilinear(p: &mut Producer) {
    let mut axis = |name: &str, far: f64| {
        let axis = p.field::<f64, _>(name, [SIDE]).add().unwrap();
        let mut at = p.view_mut(axis).unwrap();
        let distance = far / ((SIDE - 1) * (SIDE - 1)) as f64;
        at.iter_mut()
            .enumerate()
            .for_each(|(i, at)| *at = distance * (i * i) as f64);
        axis
    };
    let axes = [axis("rx", 16.0), axis("ry", 32.0)];
    let mesh = p.rectilinear_mesh("uneven", &axes).add().unwrap();
    add_values(p, "on_uneven", &mesh);
}

fn curvilinear(p: &mut Producer) {
    let places = p.field::<f64, _>("places", [SIDE, SIDE, 3]).vector();
    let places: Field<f64, Ix3> = places.add().unwrap();
    let mut at = p.view_mut(places).unwrap();
    for ((i, j, axis), place) in at.indexed_iter_mut() {
        let (far, up) = (1.0 + j as f64, i as f64 / (SIDE - 1) as f64);
        *place = [far * (1.0 - up * up), far * up, 0.0][axis];
    }
    let mesh = p.curvilinear_mesh("bent", &places).add().unwrap();
    add_values(p, "on_bent", &mesh);
}

fn unstructured(p: &mut Producer) {
    let corners = p.field::<f64, _>("corners", [4, 3]).vector();
    let corners = corners.add().unwrap();
    let at = [0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0];
    let mut view = p.view_mut(corners).unwrap();
    view.iter_mut().zip(at).for_each(|(place, at)| *place = at);
    let cells = p.field::<i32, _>("cells", [1, 4]).vector().add().unwrap();
    let mut ids = p.view_mut(cells).unwrap();
    ids.iter_mut().zip(0..).for_each(|(id, point)| *id = point);
    let mesh = p.unstructured_mesh("body", &corners, CellType::TETRA, &cells);
    let mesh = mesh.add().unwrap();
    let heat = p.field::<f64, _>("heat", [4]).on(&mesh).add().unwrap();
    let mut values = p.view_mut(heat).unwrap();
    values.iter_mut().zip(1..).for_each(|(v, n)| *v = n.into());
}

/// Selects the field that is `down` places below the selected one. It must be `field`, and be drawn
/// with these words.
fn select(tmux: &Tmux, down: usize, field: &str, words: &[&str]) {
    (0..down).for_each(|_| tmux.press("j"));
    tmux.until(&format!("{field} is drawn with {words:?}"), |screen| {
        let has = |word: &&str| screen.contains(*word);
        screen.contains(&format!("values of {field}")) && has(&PIXEL) && words.iter().all(has)
    });
}

#[test]
fn mesh_of_each_kind_is_drawn_in_its_coordinates() {
    let name = name("kinds");
    let mut region = Region::new(&name);
    region.publish(1, 20);
    let tmux = Tmux::watch(&[&name]);
    tmux.until_it_says("step 1");
    // The fields between are geometry.
    select(&tmux, 0, "on_even", &["0..8"]);
    select(&tmux, 3, "on_uneven", &["x 0..16", "y 0..32"]);
    select(&tmux, 2, "on_bent", &["x 0..9", "y 0..9"]);
    select(&tmux, 3, "heat", &["4 of 4 points", "x 0..6", "y 0..4"]);
    let words = ["20 of 20 points", "x 0..3 nm", "y 0..5 nm"];
    select(&tmux, 2, "speed", &words);
    region.publish(2, 0);
    tmux.until_it_says("no points in this version");
    region.publish(3, 2);
    tmux.until_it_says("2 of 2 points");
    tmux.press("q");
    tmux.assert_left(0);
}
