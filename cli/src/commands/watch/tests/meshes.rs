//! Tests of fields on named meshes.

use super::super::choice::{Action, Axis};
use super::super::model::Model;
use super::{field, frame, give, region, request, running, set_region, stamp, text};
use std::sync::Arc;
use tcasm_view::mesh::{Grid, Scene};
use tcasm_view::region::{Axes, Field, Mesh};
use tcasm_view::{Frame, Region, State, ViewRequest};

const SIZE: (u16, u16) = (140, 40);

fn on(name: &str, shape: &[usize], kind: &'static str) -> Field {
    Field {
        mesh: Some("m".to_owned()),
        mesh_kind: Some(kind),
        ..field(name, shape, 1)
    }
}

/// Returns a region with a field on a mesh of this kind.
fn with_mesh(kind: &'static str, shape: &[usize]) -> Region {
    Region {
        meshes: vec![Mesh {
            name: "m".to_owned(),
            kind,
            points: vec![3],
            cells: vec![0],
            units: ["nm", "nm", ""].map(str::to_owned),
            geometry: vec!["x".to_owned()],
            fields: vec!["v".to_owned()],
            block: None,
        }],
        ..region(State::Running, vec![on("v", shape, kind)])
    }
}

/// Returns a frame with three particles.
fn points(request: &ViewRequest) -> Frame {
    let scene = Scene {
        mesh: "m".to_owned(),
        cells: false,
        all: 9,
        invalid_points: 0,
        why: None,
        origin: [0.0; 3],
        bounds: Some([[0.0, 0.0, -3.0], [10.0, 5.0, 3.0]]),
        positions: vec![[0.0, 0.0, -3.0], [10.0, 5.0, 0.0], [4.0, 2.0, 3.0]],
        numbers: vec![0, 1, 2],
        surface: None,
        base: 0.0,
        range: Some([1.0, 2.0]),
        not_finite: 1,
        values: vec![1.0, 2.0, f32::NAN],
    };
    Frame {
        scene: Some(Arc::new(scene)),
        image: None,
        shape: vec![9],
        ..frame(request, 42)
    }
}

#[test]
fn particles_are_requested_in_space_and_seen_along_an_axis() {
    let mut model = Model::new("heat");
    set_region(&mut model, with_mesh("particles", &[9]));
    let asked = request(&mut model, SIZE, 42).unwrap();
    assert!(asked.slice.is_none() && asked.scene.is_some_and(|scene| scene.points > 1000));
    give(&mut model, points(&asked));
    let shown = text(&model, SIZE);
    for word in [
        "m: particles",
        "v [m/s]  3 of 9 points",
        "x 0..10 nm",
        "y 0..5 nm",
        "1 not finite",
        "\u{2580}",
    ] {
        assert!(shown.contains(word), "{word:?} in\n{shown}");
    }
    model.act(Some(Action::Cut(Axis::X)));
    let side = text(&model, SIZE);
    assert!(
        side.contains("y 0..5 nm") && side.contains("z -3..3 "),
        "{side}"
    );
    assert_eq!(
        request(&mut model, SIZE, 42),
        None,
        "the points are the same"
    );
}

#[test]
fn version_without_particles_is_shown_as_empty_and_the_kept_range_stays() {
    let mut model = Model::new("heat");
    set_region(&mut model, with_mesh("particles", &[9]));
    let asked = request(&mut model, SIZE, 42).unwrap();
    give(&mut model, points(&asked));
    model.act(Some(Action::Range));
    assert_eq!(model.choice.range, Some([1.0, 2.0]));
    set_region(&mut model, with_mesh("particles", &[0]));
    let empty = Frame {
        shape: vec![0],
        request: Arc::new(asked.clone()),
        stamp: stamp(43),
        ..Frame::default()
    };
    give(&mut model, empty);
    let shown = text(&model, SIZE);
    assert!(shown.contains("no points in this version"), "{shown}");
    set_region(&mut model, with_mesh("particles", &[7]));
    give(&mut model, points(&asked));
    assert!(!text(&model, SIZE).contains("no points"));
    assert_eq!(model.choice.range, Some([1.0, 2.0]));
}

#[test]
fn slice_of_a_curvilinear_mesh_is_drawn_at_its_places() {
    let mut model = Model::new("heat");
    set_region(&mut model, with_mesh("curvilinear", &[6, 8]));
    let asked = request(&mut model, SIZE, 42).unwrap();
    assert!(asked.slice.is_some() && asked.scene.is_none());
    let corner = |i: usize| [(i % 9) as f32, 2.0 * (i / 9) as f32, 0.0];
    let mut shown = frame(&asked, 42);
    shown.grid = Some(Arc::new(Grid {
        size: [7, 9],
        origin: [0.0; 3],
        bounds: Some([[0.0; 3], [8.0, 12.0, 0.0]]),
        invalid_points: 2,
        corners: (0..63).map(corner).collect(),
    }));
    give(&mut model, shown);
    let shown = text(&model, SIZE);
    for word in ["x 0..8 nm", "y 0..12 nm", "2 invalid corners", "\u{2580}"] {
        assert!(shown.contains(word), "{word:?} in\n{shown}");
    }
}

#[test]
fn proportions_are_those_of_the_version_that_is_shown() {
    let shown = |across: f64| {
        let mut model = running(SIZE);
        let axes = Axes {
            origin: vec![0.0; 3],
            spacing: vec![1.0, 1.0, across],
        };
        let answer = frame(&model.shown.request, 42);
        let axes = Some(axes);
        give(&mut model, Frame { axes, ..answer });
        text(&model, SIZE)
    };
    assert_eq!(shown(1.0), shown(1.0));
    assert_ne!(shown(1.0), shown(0.25));
}
