//! What is on the screen: of every size, in every state.

use super::choice::{Action, Axis};
use super::colours::Depth;
use super::model::Model;
use super::places::{Places, Sizes};
use super::screen;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use std::sync::Arc;
use tcasm_analytics::Moments;
use tcasm_core::field::Centering;
use tcasm_core::stamp::Stamp;
use tcasm_view::region::{Attached, Field};
use tcasm_view::{Frame, Image, Look, Region, State, Update};

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

/// A frame that answers `look`: the image counts from 0 to 1.
fn frame(look: &Look, version: u64) -> Frame {
    let (rows, cols) = match look.slice.as_ref().map(|slice| slice.axes) {
        Some([rows, cols]) if rows == cols => (1, 8),
        _ => (6, 8),
    };
    let count = rows * cols;
    let of = |i: usize| i as f32 / (count - 1) as f32;
    let values = ndarray::Array1::from_iter((0..count).map(|i| f64::from(of(i)))).into_dyn();
    let bins = look.histogram.unwrap_or(1);
    let auto = tcasm_analytics::Range::Auto;
    let histogram = tcasm_analytics::histogram::histogram(values.view(), bins, auto).unwrap();
    let stamp = stamp(version);
    Frame {
        look: Arc::new(look.clone()),
        stamp,
        image: look.slice.as_ref().map(|_| {
            Arc::new(Image {
                size: [rows, cols],
                block: [1, 1],
                window: [[0, rows], [0, cols]],
                base: 0.0,
                range: Some([0.0, 1.0]),
                samples: (0..count).map(of).collect(),
            })
        }),
        moments: Some((stamp, moments())),
        histogram: look.histogram.map(|_| (stamp, Arc::new(histogram))),
        also: look
            .also
            .iter()
            .map(|name| (name.clone(), (stamp, moments())))
            .collect(),
        ..Frame::default()
    }
}

fn tell(model: &mut Model, region: Region) {
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

/// What the model asks for, on a screen of this size; it gets it.
fn look(model: &mut Model, (width, height): (u16, u16), version: u64) -> Option<Look> {
    let places = Places::of(Rect::new(0, 0, width, height), &model.sizes());
    let look = model.new_look(&places)?;
    give(model, frame(&look, version));
    Some(look)
}

/// A running region of which version 42 is shown.
fn running(size: (u16, u16)) -> Model {
    let mut model = Model::new("heat");
    tell(&mut model, region(State::Running, fields()));
    look(&mut model, size, 42);
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

#[test]
fn all_that_is_known_is_on_a_large_screen() {
    let text = text(&running((120, 40)), (120, 40));
    for word in [
        "heat  running  step 420  t = 0.42  version 42",
        "velocity",
        "float64",
        "4 x 6 x 8, 3 each",
        "m/s",
        "0.25",
        "0.5",
        "0.75",
        "u [m/s]",
        "z = 2 of 0..3",
        "x 0..7",
        "y 0..5",
        "viridis",
        "running, pid 4711",
        "version 42, step 420",
        "123/s",
        "median 80 us, 99% 1.2 ms",
        "2.5 s, skipped 0",
        "4.00 KiB of 1.00 MiB",
        "observers: 9",
        "this program",
        "holds 41 42 (1.00 MiB)",
        "and 4 more",
        "values of u",
        "3 versions are kept: 40 41 42",
        " q quit",
    ] {
        assert!(text.contains(word), "{word:?} in\n{text}");
    }
}

#[test]
fn the_smallest_screens_have_the_most_important() {
    let model = running((120, 40));
    assert_eq!(
        lines(&model, (10, 3)),
        ["running he", "step 420  ", "u 0.25 .. "]
    );
    assert_eq!(lines(&model, (23, 1)), ["running heat           "]);
    let text = text(&model, (24, 5));
    assert!(
        text.contains("heat  running") && text.contains("0.5"),
        "{text}"
    );
}

#[test]
fn what_the_region_is_in_is_said_and_the_last_version_stays() {
    for (state, word, remark) in [
        (State::Ended, "ended", "done"),
        (State::Lost, "lost", "died"),
        (State::Ousted, "ousted", "lease"),
    ] {
        let mut model = running((120, 40));
        tell(&mut model, region(state, fields()));
        let text = text(&model, (120, 40));
        assert!(text.contains(&format!("heat  {word}  step 420")), "{text}");
        assert!(text.contains(remark) && text.contains('\u{2580}'), "{text}");
    }
    let mut model = Model::new("heat");
    tell(
        &mut model,
        Region::waiting("heat", "no region \"heat\"; start it".to_owned()),
    );
    let said = text(&model, (80, 24));
    assert!(
        said.contains("waiting") && said.contains("start it"),
        "{said}"
    );
    tell(&mut model, region(State::Running, Vec::new()));
    let said = text(&model, (80, 24));
    assert!(said.contains("no version is published yet"), "{said}");
}

#[test]
fn the_selected_field_stands_out_and_its_slice_is_asked_for() {
    let size = (120, 40);
    let mut model = running(size);
    assert!(model.act(Some(Action::Field(1))));
    let asked = look(&mut model, size, 42).unwrap();
    assert_eq!((asked.field.as_str(), asked.also.len()), ("velocity", 4));
    assert!(asked.also.iter().all(|name| name != "velocity"));
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let drawn = terminal
        .draw(|frame| screen::draw(frame, &model, Depth::True))
        .unwrap();
    let reversed = |y| drawn.buffer[(0, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..8).filter(|y| reversed(*y)).collect::<Vec<u16>>(), [3]);
    assert!(text(&model, size).contains("|velocity| [m/s]"));
    // The list ends at its ends.
    model.act(Some(Action::Field(100)));
    assert_eq!(model.choice.field, "many");
    model.act(Some(Action::Field(-100)));
    assert_eq!(model.choice.field, "u");
}

#[test]
fn components_follow_the_magnitude() {
    let mut model = running((120, 40));
    model.act(Some(Action::Field(1)));
    let mut seen = Vec::new();
    for _ in 0..5 {
        model.act(Some(Action::Component));
        seen.push(model.choice.component);
    }
    assert_eq!(seen, [Some(0), Some(1), Some(2), None, Some(0)]);
    let asked = look(&mut model, (120, 40), 42).unwrap();
    assert_eq!(asked.component, Some(0));
    assert!(text(&model, (120, 40)).contains("velocity[0] [m/s]"));
}

#[test]
fn slices_cut_each_axis_and_stay_inside() {
    let size = (120, 40);
    let mut model = running(size);
    let mut asked = |action| {
        model.act(Some(action));
        look(&mut model, size, 42).unwrap().slice.unwrap()
    };
    let x = asked(Action::Cut(Axis::X));
    assert_eq!((x.axes, x.at), ([0, 1], vec![2, 3, 4]));
    assert_eq!(asked(Action::Cut(Axis::Y)).axes, [0, 2]);
    assert_eq!(asked(Action::Cut(Axis::Next)).axes, [0, 1]);
    assert_eq!(asked(Action::Cut(Axis::Next)).axes, [1, 2]);
    assert_eq!(asked(Action::Move(1)).at, [3, 3, 4]);
    assert_eq!(asked(Action::Page(-1)).at, [2, 3, 4]);
    assert_eq!(asked(Action::Move(-100)).at, [0, 3, 4]);
    assert!(text(&model, size).contains("z = 0 of 0..3"));
    model.act(Some(Action::Move(-1)));
    assert_eq!(look(&mut model, size, 42), None, "nothing else to ask for");
}

#[test]
fn a_pause_stays_at_its_version_and_steps_go_through_those_that_are_kept() {
    let size = (120, 40);
    let mut model = running(size);
    let mut version = |action| {
        model.act(Some(action));
        model.choice.version
    };
    assert_eq!(
        version(Action::Version(1)),
        None,
        "there is none that is newer"
    );
    assert_eq!(version(Action::Pause), Some(42));
    assert_eq!(version(Action::Version(-1)), Some(41));
    assert_eq!(version(Action::Version(-1)), Some(40));
    assert_eq!(version(Action::Version(-1)), Some(40));
    assert_eq!(version(Action::Version(1)), Some(41));
    assert_eq!(look(&mut model, size, 41).unwrap().version, Some(41));
    let shown = text(&model, size);
    assert!(
        shown.contains("step 410") && shown.contains("PAUSED"),
        "{shown}"
    );
    // A frame that was on its way for the look before is of no use.
    let late = Look {
        id: 1,
        ..Look::default()
    };
    give(&mut model, frame(&late, 43));
    assert_eq!(model.shown.stamp.version, 41);
    model.act(Some(Action::Pause));
    assert_eq!(model.choice.version, None);
}

#[test]
fn a_version_that_is_gone_is_told_unless_it_is_on_the_screen() {
    let size = (120, 40);
    let mut model = running(size);
    let gone = |model: &mut Model| {
        let places = Places::of(Rect::new(0, 0, size.0, size.1), &model.sizes());
        let look = model.new_look(&places).unwrap();
        let error = Frame {
            look: Arc::new(look),
            error: Some("version 42 is gone".to_owned()),
            ..Frame::default()
        };
        give(model, error);
        text(model, size)
    };
    model.act(Some(Action::Pause));
    let shown = gone(&mut model);
    assert!(
        !shown.contains("is gone") && shown.contains("step 420"),
        "{shown}"
    );
    model.act(Some(Action::Move(1)));
    let shown = gone(&mut model);
    assert!(
        shown.contains("version 42 is gone") && shown.contains("z = 2 of"),
        "{shown}"
    );
    model.act(Some(Action::Pause));
    assert!(!text(&model, size).contains("is gone"));
}

#[test]
fn another_run_is_shown_from_its_first_version_on() {
    let size = (120, 40);
    let mut model = running(size);
    model.act(Some(Action::Pause));
    let mut next = region(State::Running, vec![field("u", &[3, 2], 1)]);
    next.run = "2".to_owned();
    tell(&mut model, next);
    assert_eq!(model.choice.version, None);
    assert!(model.records.get("u", None).is_none());
    let asked = look(&mut model, size, 1).unwrap().slice.unwrap();
    assert_eq!((asked.axes, asked.at), ([0, 1], vec![1, 1]));
    assert!(text(&model, size).contains("step 10 "));
}

#[test]
fn a_range_is_kept_until_another_field_is_looked_at() {
    let mut model = running((120, 40));
    model.act(Some(Action::Range));
    assert_eq!(model.choice.range, Some([0.0, 1.0]));
    assert!(text(&model, (120, 40)).contains("range kept"));
    model.act(Some(Action::Field(1)));
    assert_eq!(model.choice.range, None);
}

#[test]
fn the_help_has_all_keys_and_any_key_closes_it() {
    let mut model = running((120, 40));
    model.act(Some(Action::Help));
    let shown = text(&model, (120, 40));
    for (key, _, what) in super::keys::KEYS {
        assert!(
            shown.contains(key) && shown.contains(what),
            "{key} in\n{shown}"
        );
    }
    assert!(model.act(None) && !model.help);
    assert!(!model.act(None));
}

#[test]
fn what_takes_whole_fields_is_asked_only_for_fields_in_sight() {
    let size = (100, 24);
    let mut model = Model::new("heat");
    let many = (0..50).map(|i| field(&format!("field{i}"), &[8, 8], 1));
    tell(&mut model, region(State::Running, many.collect()));
    let asked = look(&mut model, size, 42).unwrap();
    assert!((1..8).contains(&asked.also.len()), "{:?}", asked.also);
    model.act(Some(Action::Field(30)));
    let asked = look(&mut model, size, 42).unwrap();
    assert_eq!(asked.field, "field30");
    assert!(
        asked.also.contains(&"field31".to_owned()),
        "{:?}",
        asked.also
    );
    assert!(text(&model, size).contains("field31"));
}

fn all_actions() -> Vec<Action> {
    let axes = [Axis::X, Axis::Y, Axis::Z, Axis::Next];
    let mut all: Vec<Action> = axes.map(Action::Cut).to_vec();
    all.extend([1, -1].map(Action::Field));
    all.extend([1, -1].map(Action::Move));
    all.extend([1, -1].map(Action::Page));
    all.extend([1, -1].map(Action::Version));
    all.extend([Action::Help, Action::Component, Action::Map, Action::Log]);
    all.extend([Action::Range, Action::Pause]);
    all
}

proptest! {
    #[test]
    fn panels_lie_inside_of_the_screen_and_none_upon_another(
        width in 1_u16..=200, height in 1_u16..=60, fields in 0_usize..300, observers in 0_usize..40,
    ) {
        let area = Rect::new(0, 0, width, height);
        let all = Places::of(area, &Sizes { fields, observers }).all();
        let all: Vec<Rect> = all.into_iter().filter(|place| !place.is_empty()).collect();
        for (i, place) in all.iter().enumerate() {
            prop_assert_eq!(place.intersection(area), *place);
            for other in &all[i + 1..] {
                prop_assert!(!place.intersects(*other), "{} {}", place, other);
            }
        }
        let covered: u32 = all.iter().map(|place| place.area()).sum();
        prop_assert_eq!(covered, area.area(), "all of the screen is used");
    }

    #[test]
    fn no_size_and_no_keys_make_it_panic(
        width in 1_u16..=200, height in 1_u16..=60,
        keys in proptest::collection::vec(proptest::sample::select(all_actions()), 0..12),
        state in proptest::sample::select(vec![State::Waiting, State::Running, State::Ended, State::Lost]),
        depth in proptest::sample::select(vec![Depth::True, Depth::Indexed, Depth::None]),
    ) {
        let mut model = running((width, height));
        for key in keys {
            model.act(Some(key));
            look(&mut model, (width, height), 42);
        }
        tell(&mut model, region(state, fields()));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen::draw(frame, &model, depth)).unwrap();
    }
}
