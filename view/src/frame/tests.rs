//! The tiles and arrays that are sent to a page, which keeps the others of the frame before.

use super::*;
use crate::image::Image;
use crate::mesh::{Grid, Scene, Surface};
use crate::region::Axes;
use crate::request::{Slice, ViewRequest};
use serde_json::{Value, json};
use std::sync::Arc;
use tcasm_core::format::stamp::Stamp;

/// Three rows and two columns of tiles.
const SIZE: [usize; 2] = [2 * TILE + 3, TILE + 1];

/// The name of a property, and a function that changes it.
type Change<T> = (&'static str, fn(&mut T));

const ALL: [u64; 6] = [0, 1, 2, 3, 4, 5];
const NONE: [u64; 0] = [];

fn image() -> Image {
    let [rows, cols] = SIZE;
    Image {
        size: SIZE,
        block: [1, 1],
        window: [[0, rows], [0, cols]],
        base: 0.0,
        range: Some([0.0, 1.0]),
        samples: vec![1.0; rows * cols],
        not_finite: 0,
        envelope: Vec::new(),
    }
}

fn request() -> ViewRequest {
    ViewRequest {
        field: "u".to_owned(),
        slice: Some(Slice {
            axes: [1, 2],
            at: vec![7, 0, 0],
            pixels: [500, 500],
            ..Slice::default()
        }),
        ..ViewRequest::default()
    }
}

/// Returns a frame that answers a request with this image, and with the same image to compare with.
fn frame(request: &ViewRequest, image: &Image) -> Frame {
    let image = Arc::new(image.clone());
    Frame {
        request: Arc::new(request.clone()),
        image: Some(image.clone()),
        compare: Some(Ok((Stamp::default(), image))),
        ..Frame::default()
    }
}

/// Returns the numbers of the tiles that are sent. They must be the same for both images.
fn tiles(writer: &mut Writer, frame: &Frame) -> Vec<u64> {
    let (_, bytes) = writer.write(frame);
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!(head["image"]["tiles"], head["compare"]["tiles"]);
    let tiles = head["image"]["tiles"].as_array().unwrap().iter();
    tiles.map(|tile| tile.as_u64().unwrap()).collect()
}

/// Checks that all tiles of `other` are sent to a page that has the unchanged image.
fn assert_all_sent(what: &str, other: &Frame) {
    let mut writer = Writer::default();
    let before = frame(&request(), &image());
    assert_eq!(tiles(&mut writer, &before), ALL);
    assert_eq!(tiles(&mut writer, &before), NONE, "nothing has changed");
    assert_eq!(tiles(&mut writer, other), ALL, "{what}");
    assert_eq!(tiles(&mut writer, other), NONE, "{what}");
}

#[test]
fn all_tiles_are_sent_when_equal_samples_have_another_meaning() {
    let images: [Change<Image>; 5] = [
        ("rows and columns", |image| {
            image.size = [TILE + 1, 2 * TILE + 3];
        }),
        ("block", |image| image.block = [1, 2]),
        ("window of rows", |image| image.window[0] = [1, 132]),
        ("window of columns", |image| image.window[1] = [1, 66]),
        ("base", |image| image.base = 1.0),
    ];
    let requests: [Change<ViewRequest>; 4] = [
        ("field", |request| request.field = "v".to_owned()),
        ("component", |request| request.component = Some(0)),
        ("plane", |request| request.slice.as_mut().unwrap().at[0] = 8),
        ("axes", |request| {
            request.slice.as_mut().unwrap().axes = [0, 2]
        }),
    ];
    for (what, change) in images {
        let mut other = image();
        change(&mut other);
        assert_all_sent(what, &frame(&request(), &other));
    }
    for (what, change) in requests {
        let mut other = request();
        change(&mut other);
        assert_all_sent(what, &frame(&other, &image()));
    }
}

#[test]
fn all_tiles_are_sent_when_a_field_is_shown_again_after_another_without_an_image() {
    let mut writer = Writer::default();
    let before = frame(&request(), &image());
    assert_eq!(tiles(&mut writer, &before), ALL);
    let mut other = request();
    other.field = "v".to_owned();
    let other = Frame {
        request: Arc::new(other),
        ..Frame::default()
    };
    writer.write(&other);
    assert_eq!(tiles(&mut writer, &before), ALL);
}

#[test]
fn tile_is_sent_when_any_of_its_samples_changes_and_nan_equals_nan() {
    let mut writer = Writer::default();
    let mut now = image();
    now.samples[0] = f32::NAN;
    tiles(&mut writer, &frame(&request(), &now));
    let [rows, cols] = SIZE;
    for (row, col, tile) in [
        (0, 0, 0),
        (TILE - 1, TILE - 1, 0),
        (TILE - 1, TILE, 1),
        (TILE, 0, 2),
        (TILE + 40, 3, 2),
        (rows - 1, 0, 4),
        (rows - 1, cols - 1, 5),
    ] {
        let sample = &mut now.samples[row * cols + col];
        *sample = if sample.is_nan() { 0.0 } else { *sample + 0.5 };
        let got = tiles(&mut writer, &frame(&request(), &now));
        assert_eq!(got, [tile], "row {row}, column {col}");
    }
    now.samples[5] = f32::NAN;
    assert_eq!(tiles(&mut writer, &frame(&request(), &now)), [0]);
    assert_eq!(tiles(&mut writer, &frame(&request(), &now)), NONE);
}

/// Returns a triangle with a value at each corner.
fn triangle() -> Scene {
    Scene {
        mesh: "m".to_owned(),
        cells: false,
        all: 9,
        invalid_points: 0,
        why: None,
        origin: [1.0; 3],
        bounds: Some([[0.0; 3], [2.0; 3]]),
        positions: vec![[0.0, 0.0, 1.0], [1.0, f32::NAN, 0.0], [0.5; 3]],
        numbers: Vec::new(),
        surface: Some(Arc::new(Surface {
            points: vec![3, 5, 8],
            corners: vec![[0, 1, 2]],
            cells: vec![7],
            all: 1,
            merged: None,
        })),
        base: 0.0,
        range: Some([1.0, 3.0]),
        not_finite: 0,
        values: vec![1.0, 2.0, 3.0],
    }
}

/// Returns the head of a message, and the body.
fn split(message: &[u8]) -> (Value, &[u8]) {
    let length = u32::from_le_bytes(message[..4].try_into().unwrap()) as usize;
    let head = serde_json::from_slice(&message[4..4 + length]).unwrap();
    (head, &message[4 + length..])
}

/// Returns the arrays of a scene that are sent, after one that the page has.
fn sent(before: &Scene, scene: &Scene, field: &str) -> Vec<&'static str> {
    let mut writer = Writer::default();
    let frame = |scene: &Scene, field: &str| Frame {
        request: Arc::new(ViewRequest {
            field: field.to_owned(),
            ..ViewRequest::default()
        }),
        scene: Some(Arc::new(scene.clone())),
        ..Frame::default()
    };
    writer.write(&frame(before, "u"));
    let (_, message) = writer.write(&frame(scene, field));
    let (head, _) = split(&message);
    let scene = &head["scene"];
    let arrays = [
        ("positions", &scene["positions"]),
        ("numbers", &scene["numbers"]),
        ("corners", &scene["surface"]["corners"]),
        ("cells", &scene["surface"]["cells"]),
        ("values", &scene["values"]),
    ];
    let sent = arrays.into_iter().filter(|(_, at)| at.is_u64());
    sent.map(|(name, _)| name).collect()
}

#[test]
fn only_arrays_of_a_mesh_that_changed_are_sent_again() {
    let all = ["positions", "numbers", "corners", "cells", "values"];
    assert!(sent(&triangle(), &triangle(), "u").is_empty());
    let mut other = triangle();
    other.values[2] = 4.0;
    assert_eq!(sent(&triangle(), &other, "u"), ["values"]);
    assert_eq!(sent(&triangle(), &triangle(), "v"), all, "another field");
    let mut moved = triangle();
    moved.positions[0][0] = 0.25;
    assert_eq!(sent(&triangle(), &moved, "u"), ["positions"]);
    let mut moved = triangle();
    moved.origin = [2.0; 3];
    assert_eq!(sent(&triangle(), &moved, "u"), ["positions"]);
    let mut other = triangle();
    other.surface = Some(Arc::new(Surface {
        cells: vec![6],
        ..(**triangle().surface.as_ref().unwrap()).clone()
    }));
    assert_eq!(sent(&triangle(), &other, "u"), ["corners", "cells"]);
    let mut points = triangle();
    points.surface = None;
    points.numbers = vec![3, 5, 9];
    assert!(sent(&points, &points, "u").is_empty());
    assert_eq!(
        sent(&points, &triangle(), "u"),
        ["numbers", "corners", "cells"]
    );
}

/// Returns two corners, the second without a place.
fn grid(x: f32) -> Grid {
    Grid {
        size: [1, 2],
        origin: [0.0; 3],
        bounds: None,
        invalid_points: 0,
        corners: vec![[x, 0.0, 0.0], [f32::NAN; 3]],
    }
}

#[test]
fn corners_of_samples_are_sent_when_they_change() {
    let mut writer = Writer::default();
    let mut is_sent = |x: f32| {
        let frame = Frame {
            grid: Some(Arc::new(grid(x))),
            ..Frame::default()
        };
        let (_, message) = writer.write(&frame);
        let (head, body) = split(&message);
        let at = head["grid"]["corners"].as_u64();
        at.map(|at| f32::from_le_bytes(body[at as usize..][..4].try_into().unwrap()))
    };
    assert_eq!(is_sent(1.5), Some(1.5));
    assert_eq!(is_sent(1.5), None);
    assert_eq!(is_sent(2.5), Some(2.5));
}

/// Returns a frame with an image, the places of its samples, and a scene.
fn placed() -> Frame {
    Frame {
        grid: Some(Arc::new(grid(1.5))),
        scene: Some(Arc::new(triangle())),
        ..frame(&request(), &image())
    }
}

/// Encodes a frame. Returns true for each part of it that is sent: the image and the image to
/// compare with, the corners of samples, the positions and the triangles of the scene.
fn parts(writer: &mut Writer, frame: &Frame) -> [bool; 5] {
    let (_, message) = writer.write(frame);
    let (head, _) = split(&message);
    let scene = &head["scene"];
    [
        head["image"]["tiles"] != json!(NONE),
        head["compare"]["tiles"] != json!(NONE),
        head["grid"]["corners"].is_u64(),
        scene["positions"].is_u64(),
        scene["surface"]["corners"].is_u64(),
    ]
}

#[test]
fn all_is_sent_again_to_a_page_that_has_shown_another_field_or_component() {
    let others: [Change<Frame>; 3] = [
        ("field", |other| {
            Arc::make_mut(&mut other.request).field = "v".to_owned();
        }),
        ("component", |other| {
            Arc::make_mut(&mut other.request).component = Some(1);
        }),
        ("field with an error", |other| {
            Arc::make_mut(&mut other.request).field = "v".to_owned();
            other.error = Some("there is no such field".to_owned());
        }),
    ];
    for (what, change) in others {
        let mut writer = Writer::default();
        assert_eq!(parts(&mut writer, &placed()), [true; 5]);
        assert_eq!(parts(&mut writer, &placed()), [false; 5], "no change");
        let mut other = Frame {
            request: Arc::new(request()),
            ..Frame::default()
        };
        change(&mut other);
        writer.write(&other);
        assert_eq!(parts(&mut writer, &placed()), [true; 5], "{what}");
    }
}

#[test]
fn frame_without_data_of_the_same_field_makes_the_page_forget_no_array() {
    let mut writer = Writer::default();
    parts(&mut writer, &placed());
    for error in [None, Some("version 7 is not there".to_owned())] {
        let nothing = Frame {
            request: Arc::new(request()),
            error,
            ..Frame::default()
        };
        writer.write(&nothing);
        let [image, _, corners, positions, triangles] = parts(&mut writer, &placed());
        assert_eq!([image, corners, positions, triangles], [false; 4]);
    }
}

#[test]
fn corners_of_samples_are_sent_again_after_an_image_without_them() {
    let mut writer = Writer::default();
    parts(&mut writer, &placed());
    writer.write(&frame(&request(), &image()));
    assert!(parts(&mut writer, &placed())[2]);
}

#[test]
fn empty_version_takes_no_data_from_the_frame_before() {
    let axes = Axes {
        origin: vec![5.0],
        spacing: vec![0.5],
    };
    let older = Frame {
        axes: Some(axes),
        ..frame(&request(), &image())
    };
    let mut empty = Frame {
        shape: vec![0, 3],
        ..Frame::default()
    };
    empty.complete(older.clone());
    assert!(empty.is_empty() && empty.image.is_none());
    let mut other = Frame {
        shape: vec![4, 3],
        ..Frame::default()
    };
    other.complete(older.clone());
    assert!(!other.is_empty() && other.image.is_some());
    assert_eq!(other.axes, older.axes, "the axes of the image");
}
