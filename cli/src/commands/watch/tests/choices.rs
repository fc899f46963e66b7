//! Tests of the keys and of the view requests that follow.

use super::super::choice::{Action, Axis};
use super::super::colours::Depth;
use super::super::model::Model;
use super::super::places::Places;
use super::super::screen;
use super::{field, frame, give, region, request, running, set_region, text};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use std::sync::Arc;
use tcasm_view::{Frame, State, ViewRequest};

#[test]
fn selected_field_is_highlighted_and_its_slice_requested() {
    let size = (120, 40);
    let mut model = running(size);
    assert!(model.act(Some(Action::Field(1))));
    let asked = request(&mut model, size, 42).unwrap();
    assert_eq!((asked.field.as_str(), asked.also.len()), ("velocity", 4));
    assert!(asked.also.iter().all(|name| name != "velocity"));
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let drawn = terminal
        .draw(|frame| screen::draw(frame, &model, Depth::True))
        .unwrap();
    let reversed = |y| drawn.buffer[(0, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..8).filter(|y| reversed(*y)).collect::<Vec<u16>>(), [3]);
    assert!(text(&model, size).contains("|velocity| [m/s]"));
    // The selection stops at the ends of the list.
    model.act(Some(Action::Field(100)));
    assert_eq!(model.choice.field, "many");
    model.act(Some(Action::Field(-100)));
    assert_eq!(model.choice.field, "u");
}

#[test]
fn component_key_cycles_through_components_and_magnitude() {
    let mut model = running((120, 40));
    model.act(Some(Action::Field(1)));
    let mut seen = Vec::new();
    for _ in 0..5 {
        model.act(Some(Action::Component));
        seen.push(model.choice.component);
    }
    assert_eq!(seen, [Some(0), Some(1), Some(2), None, Some(0)]);
    let asked = request(&mut model, (120, 40), 42).unwrap();
    assert_eq!(asked.component, Some(0));
    assert!(text(&model, (120, 40)).contains("velocity[0] [m/s]"));
}

#[test]
fn slices_cut_each_axis_and_stay_inside_the_field() {
    let size = (120, 40);
    let mut model = running(size);
    let mut asked = |action| {
        model.act(Some(action));
        request(&mut model, size, 42).unwrap().slice.unwrap()
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
    assert_eq!(
        request(&mut model, size, 42),
        None,
        "nothing else to ask for"
    );
}

#[test]
fn pause_stays_at_its_version_and_steps_visit_kept_versions() {
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
    assert_eq!(request(&mut model, size, 41).unwrap().version, Some(41));
    let shown = text(&model, size);
    assert!(
        shown.contains("step 410") && shown.contains("PAUSED"),
        "{shown}"
    );
    // A frame that answers an earlier request is ignored.
    let late = ViewRequest {
        id: 1,
        ..ViewRequest::default()
    };
    give(&mut model, frame(&late, 43));
    assert_eq!(model.shown.stamp.version, 41);
    model.act(Some(Action::Pause));
    assert_eq!(model.choice.version, None);
}

#[test]
fn missing_version_is_reported_unless_it_is_on_the_screen() {
    let size = (120, 40);
    let mut model = running(size);
    let gone = |model: &mut Model| {
        let places = Places::of(Rect::new(0, 0, size.0, size.1), &model.sizes());
        let request = model.new_request(&places).unwrap();
        let error = Frame {
            request: Arc::new(request),
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
fn new_run_is_shown_from_its_first_version() {
    let size = (120, 40);
    let mut model = running(size);
    model.act(Some(Action::Pause));
    let mut next = region(State::Running, vec![field("u", &[3, 2], 1)]);
    next.run = "2".to_owned();
    set_region(&mut model, next);
    assert_eq!(model.choice.version, None);
    assert!(model.records.get("u", None).is_none());
    let asked = request(&mut model, size, 1).unwrap().slice.unwrap();
    assert_eq!((asked.axes, asked.at), ([0, 1], vec![1, 1]));
    assert!(text(&model, size).contains("step 10 "));
}

#[test]
fn kept_range_is_released_when_another_field_is_selected() {
    let mut model = running((120, 40));
    model.act(Some(Action::Range));
    assert_eq!(model.choice.range, Some([0.0, 1.0]));
    assert!(text(&model, (120, 40)).contains("range kept"));
    model.act(Some(Action::Field(1)));
    assert_eq!(model.choice.range, None);
}

#[test]
fn moments_are_requested_only_for_visible_fields() {
    let size = (100, 24);
    let mut model = Model::new("heat");
    let many = (0..50).map(|i| field(&format!("field{i}"), &[8, 8], 1));
    set_region(&mut model, region(State::Running, many.collect()));
    let asked = request(&mut model, size, 42).unwrap();
    assert!((1..8).contains(&asked.also.len()), "{:?}", asked.also);
    model.act(Some(Action::Field(30)));
    let asked = request(&mut model, size, 42).unwrap();
    assert_eq!(asked.field, "field30");
    assert!(
        asked.also.contains(&"field31".to_owned()),
        "{:?}",
        asked.also
    );
    assert!(text(&model, size).contains("field31"));
}
