//! Tests of the model and the screen, with made-up regions and frames.

mod choices;
mod meshes;
mod screens;

use super::colours::Depth;
use super::model::Model;
use super::places::Places;
use super::screen;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use std::sync::Arc;
use tcasm_analytics::Moments;
use tcasm_core::field::Centering;
use tcasm_core::format::stamp::Stamp;
use tcasm_view::region::{Attached, Field};
use tcasm_view::{Frame, Image, Region, State, Update, ViewRequest};

fn field(name: &str, shape: &[usize], components: usize) -> Field {
    let axes = ["w5", "w4", "z", "y", "x"].map(str::to_owned);
    Field {
        name: name.to_owned(),
        dtype: "float64",
        unit: "m/s".to_owned(),
        shape: shape.to_vec(),
        axes: axes[axes.len() - shape.len()..].to_vec(),
        components,
        complex: false,
        raw: false,
        centering: Centering::Point,
        origin: None,
        spacing: None,
        mesh_error: None,
        mesh: None,
        mesh_kind: None,
        quantity: name.to_owned(),
        capacity: None,
        offset: 0,
        bytes: 8,
    }
}

fn stamp(version: u64) -> Stamp {
    Stamp {
        version,
        step: version * 10,
        time: version as f64 / 100.0,
    }
}

fn region(state: State, fields: Vec<Field>) -> Region {
    let observer = |pid| Attached {
        pid,
        program: (pid != 3).then(|| "reader".to_owned()),
        uid: 1000,
        pinned: vec![41, 42],
        held_bytes: 1 << 20,
        own: pid == 1,
    };
    Region {
        name: "heat".to_owned(),
        state,
        run: "1".to_owned(),
        pid: 4711,
        latest: (!fields.is_empty()).then(|| stamp(42)),
        versions: vec![40, 41, 42],
        steps_per_second: Some(123.4),
        publish_us: [80.0, 1200.0, 2.5e6],
        changed_bytes: 4096,
        copied_bytes: 6 << 20,
        region_bytes: 1 << 20,
        observers: (1..=9).map(observer).collect(),
        fields,
        ..Region::default()
    }
}

fn fields() -> Vec<Field> {
    vec![
        field("u", &[4, 6, 8], 1),
        field("velocity", &[4, 6, 8], 3),
        field("line", &[8], 1),
        field("number", &[], 1),
        field("many", &[2, 3, 4, 6, 8], 1),
    ]
}

fn moments() -> Arc<Moments> {
    let values = ndarray::array![0.25, 0.5, f64::NAN, 0.75].into_dyn();
    Arc::new(tcasm_analytics::moments::moments(values.view()))
}

/// Returns a frame that answers `request`. The samples of the image go from 0 to 1.
fn frame(request: &ViewRequest, version: u64) -> Frame {
    let (rows, cols) = match request.slice.as_ref().map(|slice| slice.axes) {
        Some([rows, cols]) if rows == cols => (1, 8),
        _ => (6, 8),
    };
    let count = rows * cols;
    let of = |i: usize| i as f32 / (count - 1) as f32;
    let values = ndarray::Array1::from_iter((0..count).map(|i| f64::from(of(i)))).into_dyn();
    let bins = request.histogram.unwrap_or(1);
    let auto = tcasm_analytics::Range::Auto;
    let histogram = tcasm_analytics::histogram::histogram(values.view(), bins, auto).unwrap();
    let stamp = stamp(version);
    Frame {
        request: Arc::new(request.clone()),
        stamp,
        image: request.slice.as_ref().map(|_| {
            Arc::new(Image {
                size: [rows, cols],
                block: [1, 1],
                window: [[0, rows], [0, cols]],
                base: 0.0,
                range: Some([0.0, 1.0]),
                samples: (0..count).map(of).collect(),
                not_finite: 0,
                envelope: Vec::new(),
            })
        }),
        moments: Some((stamp, moments())),
        histogram: request.histogram.map(|_| (stamp, Arc::new(histogram))),
        also: request
            .also
            .iter()
            .map(|name| (name.clone(), (stamp, moments())))
            .collect(),
        ..Frame::default()
    }
}

fn set_region(model: &mut Model, region: Region) {
    model.apply(Update {
        region: Some(Arc::new(region)),
        ..Update::default()
    });
}

fn give(model: &mut Model, frame: Frame) {
    model.apply(Update {
        frame: Some(frame),
        ..Update::default()
    });
}

/// Returns the next request of the model on a screen of this size, and gives the model a frame
/// that answers it.
fn request(model: &mut Model, (width, height): (u16, u16), version: u64) -> Option<ViewRequest> {
    let places = Places::of(Rect::new(0, 0, width, height), &model.sizes());
    let request = model.new_request(&places)?;
    give(model, frame(&request, version));
    Some(request)
}

/// Returns a model that shows version 42 of a running region.
fn running(size: (u16, u16)) -> Model {
    let mut model = Model::new("heat");
    set_region(&mut model, region(State::Running, fields()));
    request(&mut model, size, 42);
    model
}

fn lines(model: &Model, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = terminal
        .draw(|frame| screen::draw(frame, model, Depth::True))
        .unwrap();
    let line = |y| (0..width).map(|x| drawn.buffer[(x, y)].symbol()).collect();
    (0..height).map(line).collect()
}

fn text(model: &Model, size: (u16, u16)) -> String {
    lines(model, size).join("\n")
}
