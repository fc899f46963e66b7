//! Draws the whole screen: the panels, and the lines above and below them.

use super::colours::Depth;
use super::keys::KEYS;
use super::model::Model;
use super::panel::{bold, dim};
use super::places::Places;
use super::producer::{self, remark, stamp, state};
use super::text::fit_some;
use super::{fields, help, histogram, slice, versions};
use crate::plain::is_obeyed;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use tcasm_view::State;

pub fn draw(frame: &mut Frame, model: &Model, depth: Depth) {
    let area = frame.area();
    let places = Places::of(area, &model.sizes());
    let buffer = frame.buffer_mut();
    draw_summary(model, places.summary, buffer);
    draw_header(model, places.header, buffer);
    fields::draw(model, places.fields, buffer);
    if !places.slice.is_empty() {
        slice::draw(model, depth, places.slice, buffer);
    }
    if !places.producer.is_empty() {
        producer::draw(model, places.producer, buffer);
    }
    if !places.observers.is_empty() {
        producer::draw_observers(model, places.observers, buffer);
    }
    if !places.histogram.is_empty() {
        histogram::draw(model, depth, places.histogram, buffer);
    }
    versions::draw(model, places.versions, buffer);
    draw_status(model, places.status, buffer);
    if model.help {
        help::draw(area, buffer);
    }
    show_all(buffer);
}

/// Replaces characters that the terminal would interpret. (Drawing text has already dropped most of
/// them.)
fn show_all(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().contains(is_obeyed) {
            cell.set_symbol("?");
        }
    }
}

/// Returns the word for the state, in its colour.
fn state_span(model: &Model) -> Span<'static> {
    let colour = match model.region.state {
        State::Running => Color::Green,
        State::Waiting => Color::Yellow,
        State::Ended => Color::Cyan,
        State::Lost | State::Revoked => Color::Red,
    };
    Span::styled(state(&model.region), bold().fg(colour))
}

fn draw_header(model: &Model, area: Rect, buffer: &mut Buffer) {
    let name = Span::styled(format!(" {}  ", model.region.name), bold());
    let mut spans = vec![name, state_span(model)];
    if model.has_version() {
        spans.push(Span::raw(format!("  {}", stamp(model))));
    }
    Line::from(spans).render(area, buffer);
    let remark = remark(&model.region);
    let right = match model.choice.version {
        Some(_) if remark.is_empty() => {
            Span::styled(" PAUSED, space continues ", Style::new().reversed())
        }
        _ => Span::raw(format!(" {remark} ")),
    };
    let used = buffer_end(area, buffer);
    let room = usize::from(area.right().saturating_sub(used + 1));
    if right.width() <= room {
        Line::from(right)
            .alignment(Alignment::Right)
            .render(area, buffer);
    }
}

/// Returns the column where the text of the line ends.
fn buffer_end(area: Rect, buffer: &Buffer) -> u16 {
    let mut columns = (area.x..area.right()).rev();
    let end = columns.find(|x| buffer[(*x, area.y)].symbol() != " ");
    end.map_or(area.x, |x| x + 1)
}

/// Draws the problem, if there is one, or else as many keys as fit.
fn draw_status(model: &Model, area: Rect, buffer: &mut Buffer) {
    if let Some(problem) = &model.problem {
        let text = format!(" {problem}");
        buffer.set_stringn(area.x, area.y, text, usize::from(area.width), bold());
        return;
    }
    let mut spans = Vec::new();
    let mut room = usize::from(area.width);
    for (key, word, _) in KEYS {
        let width = key.chars().count() + word.len() + 3;
        if width > room {
            break;
        }
        room -= width;
        spans.push(Span::styled(format!(" {key} "), bold()));
        spans.push(Span::styled(format!("{word} "), dim()));
    }
    Line::from(spans).render(area, buffer);
}

/// Draws the most important values as text, if there is no room for panels.
fn draw_summary(model: &Model, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let mut lines = vec![Line::from(vec![
        state_span(model),
        Span::raw(format!(" {}", model.region.name)),
    ])];
    if model.has_version() {
        lines.push(Line::from(stamp(model)));
        let (field, component) = (&model.choice.field, model.choice.component);
        if let Some(record) = model.records.get(field, component) {
            let ends = [record.moments.min, record.moments.max];
            let [low, high] = ends.map(|end| fit_some(end.map(|end| end.to_f64()), 9));
            lines.push(Line::from(format!("{field} {low} .. {high}")));
        }
    }
    Paragraph::new(lines).render(area, buffer);
}
