//! What of images is sent: a page puts together what comes with what it has.

use super::*;
use crate::look::Slice;

/// Three rows and two columns of tiles.
const SIZE: [usize; 2] = [2 * TILE + 3, TILE + 1];

/// What is another, and how it becomes so.
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
    }
}

fn look() -> Look {
    Look {
        field: "u".to_owned(),
        slice: Some(Slice {
            axes: [1, 2],
            at: vec![7, 0, 0],
            pixels: [500, 500],
            ..Slice::default()
        }),
        ..Look::default()
    }
}

/// The frame that answers a look with this image, and with the same of another version.
fn frame(look: &Look, image: &Image) -> Frame {
    let image = Arc::new(image.clone());
    Frame {
        look: Arc::new(look.clone()),
        image: Some(image.clone()),
        compare: Some(Ok((Stamp::default(), image))),
        ..Frame::default()
    }
}

/// The numbers of the tiles that are sent of an image, and of that to compare with: they are the same.
fn tiles(writer: &mut Writer, frame: &Frame) -> Vec<u64> {
    let (_, bytes) = writer.write(frame);
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!(head["image"]["tiles"], head["compare"]["tiles"]);
    let tiles = head["image"]["tiles"].as_array().unwrap().iter();
    tiles.map(|tile| tile.as_u64().unwrap()).collect()
}

/// All tiles come for a page that has the image before.
fn assert_all_come(what: &str, other: &Frame) {
    let mut writer = Writer::default();
    let before = frame(&look(), &image());
    assert_eq!(tiles(&mut writer, &before), ALL);
    assert_eq!(tiles(&mut writer, &before), NONE, "nothing is another");
    assert_eq!(tiles(&mut writer, other), ALL, "{what}");
    assert_eq!(tiles(&mut writer, other), NONE, "{what}");
}

#[test]
fn where_samples_stand_for_something_else_all_tiles_come_though_they_are_the_same() {
    let images: [Change<Image>; 5] = [
        ("rows and columns", |image| {
            image.size = [TILE + 1, 2 * TILE + 3];
        }),
        ("block", |image| image.block = [1, 2]),
        ("window of rows", |image| image.window[0] = [1, 132]),
        ("window of columns", |image| image.window[1] = [1, 66]),
        ("base", |image| image.base = 1.0),
    ];
    let looks: [Change<Look>; 4] = [
        ("field", |look| look.field = "v".to_owned()),
        ("component", |look| look.component = Some(0)),
        ("plane", |look| look.slice.as_mut().unwrap().at[0] = 8),
        ("axes", |look| look.slice.as_mut().unwrap().axes = [0, 2]),
    ];
    for (what, change) in images {
        let mut other = image();
        change(&mut other);
        assert_all_come(what, &frame(&look(), &other));
    }
    for (what, change) in looks {
        let mut other = look();
        change(&mut other);
        assert_all_come(what, &frame(&other, &image()));
    }
}

#[test]
fn a_tile_comes_when_any_of_its_samples_is_another_and_nan_is_the_same_as_nan() {
    let mut writer = Writer::default();
    let mut now = image();
    now.samples[0] = f32::NAN;
    tiles(&mut writer, &frame(&look(), &now));
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
        let got = tiles(&mut writer, &frame(&look(), &now));
        assert_eq!(got, [tile], "row {row}, column {col}");
    }
    now.samples[5] = f32::NAN;
    assert_eq!(tiles(&mut writer, &frame(&look(), &now)), [0]);
    assert_eq!(tiles(&mut writer, &frame(&look(), &now)), NONE);
}
