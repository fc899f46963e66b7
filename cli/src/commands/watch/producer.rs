//! Draws the panels of the producer and of the observers.

use super::model::Model;
use super::panel::{self, dim};
use super::text::{clip, duration, rate};
use crate::output::{bytes, number};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use tcasm_core::format::stamp::Stamp;
use tcasm_view::region::Attached;
use tcasm_view::{Region, State};

/// Returns a word for the state.
pub fn state(region: &Region) -> &'static str {
    match region.state {
        State::Waiting => "waiting",
        State::Running => "running",
        State::Ended => "ended",
        State::Lost => "lost",
        State::Revoked => "revoked",
    }
}

/// Returns a sentence on the state; empty if the producer runs.
pub fn remark(region: &Region) -> &'static str {
    match region.state {
        State::Waiting => "there is no such region yet",
        State::Running => "",
        State::Ended => "the producer is done; this is its last version",
        State::Lost => "the producer died; this is its last version",
        State::Revoked => "the producer revoked the lease; trying again",
    }
}

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    panel::block(" producer ").render(area, buffer);
    let region = &model.region;
    if region.state != State::Waiting {
        table(&rows(model), panel::inner(area), buffer);
    }
}

fn rows(model: &Model) -> [(&'static str, String); 7] {
    let region = &model.region;
    let [p50, p99, longest] = region.publish_us.map(duration);
    let (steps, versions) = (region.steps_per_second, region.versions_per_second);
    let (changed, all) = (bytes(region.changed_bytes), bytes(region.region_bytes));
    let newest = newest(model);
    let newest = format!("version {}, step {}", newest.version, newest.step);
    [
        ("state", format!("{}, pid {}", state(region), region.pid)),
        ("newest", newest),
        (
            "steps",
            format!("{}, versions {}", rate(steps), rate(versions)),
        ),
        ("publish", format!("median {p50}, 99% {p99}")),
        ("longest", format!("{longest}, skipped {}", region.skips)),
        ("changed", format!("{changed} of {all}")),
        ("held", bytes(region.held_bytes)),
    ]
}

/// Returns the newest version that is known. Frames arrive more often than updates of the region,
/// so the version that is shown may be newer than `latest` of the region.
fn newest(model: &Model) -> Stamp {
    let latest = model.region.latest.unwrap_or_default();
    let live = model.choice.version.is_none() && model.region.state == State::Running;
    let shown = Some(model.shown.stamp).filter(|stamp| live && stamp.version > latest.version);
    shown.unwrap_or(latest)
}

pub fn draw_observers(model: &Model, area: Rect, buffer: &mut Buffer) {
    let observers = &model.region.observers;
    let title = format!(" observers: {} ", observers.len());
    panel::block(title).render(area, buffer);
    let inside = panel::inner(area);
    let room = usize::from(inside.height);
    let all = observers.len() <= room;
    let shown = if all { room } else { room.saturating_sub(1) };
    let row = |of| observer(of, model.region.copied_bytes);
    let mut rows: Vec<(&str, String)> = observers.iter().take(shown).map(row).collect();
    if !all {
        rows.push(("...", format!("and {} more", observers.len() - shown)));
    }
    table(&rows, inside, buffer);
}

/// Describes an observer. `copied` is the memory of this program's own copies.
fn observer(of: &Attached, copied: u64) -> (&'static str, String) {
    let pins: Vec<String> = of.pinned.iter().map(u64::to_string).collect();
    let program = of.program.as_deref().unwrap_or("?");
    let what = match pins.as_slice() {
        _ if of.own && copied > 0 => format!("this program ({} copied)", bytes(copied)),
        _ if of.own => "this program".to_owned(),
        [] => format!("{program} holds nothing"),
        pins => format!(
            "{program} holds {} ({})",
            pins.join(" "),
            bytes(of.held_bytes)
        ),
    };
    ("pid", format!("{} {what}", of.pid))
}

/// Draws names and values in two columns.
fn table(rows: &[(&str, String)], area: Rect, buffer: &mut Buffer) {
    let width = rows.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
    let left = usize::from(area.width).saturating_sub(width + 1);
    let line = |(word, text): &(&str, String)| {
        let word = format!("{word:<width$} ");
        Line::from(vec![Span::styled(word, dim()), Span::raw(clip(text, left))])
    };
    let lines: Vec<Line> = rows.iter().map(line).collect();
    Paragraph::new(lines).render(area, buffer);
}

/// Formats the stamp that is shown, such as `step 120  t = 0.12  version 12`.
pub fn stamp(model: &Model) -> String {
    let stamp = &model.shown.stamp;
    let time = number(stamp.time);
    format!("step {}  t = {time}  version {}", stamp.step, stamp.version)
}
