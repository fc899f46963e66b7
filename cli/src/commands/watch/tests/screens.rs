//! Tests of the screen, for all sizes and states.

use super::super::choice::{Action, Axis};
use super::super::colours::Depth;
use super::super::keys::KEYS;
use super::super::model::Model;
use super::super::places::{Places, Sizes};
use super::super::screen;
use super::{fields, lines, region, request, running, set_region, text};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use std::sync::Arc;
use tcasm_view::{Region, State};

#[test]
fn large_screen_shows_everything() {
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
        "this program (6.00 MiB",
        "2 reader holds 41 42 (1.00 MiB)",
        "3 ? holds 41 42 (1.00 MiB)",
        "and 4 more",
        "values of u",
        "3 versions are kept: 40 41 42",
        " q quit",
    ] {
        assert!(text.contains(word), "{word:?} in\n{text}");
    }
}

#[test]
fn values_that_are_not_finite_are_counted_below_the_slice() {
    let (mut model, size) = (running((120, 40)), (120, 40));
    assert!(!text(&model, size).contains("not finite"));
    let mut image = model.shown.image.as_deref().unwrap().clone();
    image.samples[0] = f32::NAN;
    image.not_finite = 3;
    model.shown.image = Some(Arc::new(image));
    assert!(text(&model, size).contains(" 3 not finite "));
}

#[test]
fn small_screens_show_the_most_important_values() {
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
fn state_of_the_region_is_shown_and_the_last_version_stays() {
    for (state, word, remark) in [
        (State::Ended, "ended", "done"),
        (State::Lost, "lost", "died"),
        (State::Revoked, "revoked", "lease"),
    ] {
        let mut model = running((120, 40));
        set_region(&mut model, region(state, fields()));
        let text = text(&model, (120, 40));
        assert!(text.contains(&format!("heat  {word}  step 420")), "{text}");
        assert!(text.contains(remark) && text.contains('\u{2580}'), "{text}");
    }
    let mut model = Model::new("heat");
    set_region(
        &mut model,
        Region::waiting("heat", "no region \"heat\"; start it".to_owned()),
    );
    let shown = text(&model, (80, 24));
    assert!(
        shown.contains("waiting") && shown.contains("start it"),
        "{shown}"
    );
    set_region(&mut model, region(State::Running, Vec::new()));
    let shown = text(&model, (80, 24));
    assert!(shown.contains("no version is published yet"), "{shown}");
}

#[test]
fn help_lists_all_keys_and_any_key_closes_it() {
    let mut model = running((120, 40));
    model.act(Some(Action::Help));
    let shown = text(&model, (120, 40));
    for (key, _, what) in KEYS {
        assert!(
            shown.contains(key) && shown.contains(what),
            "{key} in\n{shown}"
        );
    }
    assert!(model.act(None) && !model.help);
    assert!(!model.act(None));
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
    fn panels_are_inside_the_screen_and_do_not_overlap(
        width in 1_u16..=200, height in 1_u16..=60,
        fields in 0_usize..300, observers in 0_usize..40,
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
    fn drawing_never_panics_at_any_size_or_after_any_keys(
        width in 1_u16..=200, height in 1_u16..=60,
        keys in proptest::collection::vec(proptest::sample::select(all_actions()), 0..12),
        state in proptest::sample::select(vec![
            State::Waiting, State::Running, State::Ended, State::Lost,
        ]),
        depth in proptest::sample::select(vec![Depth::True, Depth::Indexed, Depth::None]),
    ) {
        let mut model = running((width, height));
        for key in keys {
            model.act(Some(key));
            request(&mut model, (width, height), 42);
        }
        set_region(&mut model, region(state, fields()));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen::draw(frame, &model, depth)).unwrap();
    }
}
