//! Draws the panel of the slice: its position, the bar of colours, and the slice itself.

use super::chart;
use super::colours::{Depth, NOT_FINITE, Scale, pick, shade};
use super::image::HeatMap;
use super::model::Model;
use super::panel::{self, dim};
use super::places::take_bottom;
use super::text::fit;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};
use std::iter::zip;
use tcasm_view::State;
use tcasm_view::colormaps::MAPS;
use tcasm_view::region::Field;

pub fn draw(model: &Model, depth: Depth, area: Rect, buffer: &mut Buffer) {
    let field = model.shown_field().filter(|_| model.has_version());
    let (title, axes) = field.map_or_else(Default::default, |field| titles(model, field));
    let axes = Span::styled(axes, dim());
    panel::block(title)
        .title_bottom(Line::from(vec![axes, not_finite(model, depth)]))
        .render(area, buffer);
    let mut inside = panel::inner(area);
    let (Some(field), Some(image)) = (field, &model.shown.image) else {
        return write_line(&nothing(model), inside, buffer);
    };
    if field.shape.len() == 1 {
        return chart::draw(image, model.scale(), inside, buffer);
    }
    let bar = take_bottom(&mut inside, 1);
    let Some(scale) = model.scale() else {
        return write_line("no sample is a finite number", inside, buffer);
    };
    let palette = depth.palette(model.choice.map);
    draw_bar(model, &scale, &palette, depth, bar, buffer);
    let map = HeatMap {
        image,
        scale: &scale,
        palette: &palette,
        depth,
        stretch: stretch(model, field),
    };
    map.render(inside, buffer);
}

/// Returns the number of values of the slice that are not finite, in the colour of their samples.
fn not_finite(model: &Model, depth: Depth) -> Span<'static> {
    let image = model.shown.image.as_ref().filter(|_| model.has_version());
    let text = match (image.map_or(0, |image| image.not_finite), depth) {
        (0, _) => String::new(),
        (count, Depth::None) => format!(" {NOT_FINITE} {count} not finite "),
        (count, _) => format!(" {count} not finite "),
    };
    Span::styled(text, Style::new().fg(depth.not_finite()))
}

/// Returns the text to show instead of a slice.
fn nothing(model: &Model) -> String {
    let region = &model.region;
    if let Some(value) = &model.shown.value {
        return value.clone();
    }
    if let Some(problem) = &model.problem {
        return problem.clone();
    }
    match region.state {
        State::Waiting if region.message.is_empty() => format!("looking for {:?}", region.name),
        State::Waiting => format!("{}\n\nwaiting for the region", region.message),
        _ if region.latest.is_none() => "no version is published yet".to_owned(),
        _ => String::new(),
    }
}

fn write_line(text: &str, area: Rect, buffer: &mut Buffer) {
    Paragraph::new(text)
        .wrap(Wrap { trim: true })
        .alignment(Alignment::Center)
        .render(area, buffer);
}

/// Returns the title above, with the field and the position of the slice, and the one below, with
/// its axes.
fn titles(model: &Model, field: &Field) -> (String, String) {
    let request = &model.shown.request;
    let mut title = format!(" {}", model.shown_name());
    if !matches!(field.unit.as_str(), "" | "1") {
        title += &format!(" [{}]", field.unit);
    }
    title.push(' ');
    let Some(slice) = request
        .slice
        .as_ref()
        .filter(|s| s.at.len() == field.shape.len())
    else {
        return (title, String::new());
    };
    let [rows, cols] = slice.axes;
    for (axis, at) in slice.at.iter().enumerate() {
        if axis != rows && axis != cols {
            let last = field.shape[axis].saturating_sub(1);
            title += &format!(" {} = {at} of 0..{last} ", field.axes[axis]);
        }
    }
    let extent = |arrow: char, axis: usize| {
        let (name, last) = (field.axes.get(axis), field.shape.get(axis));
        let last = last.map_or(0, |len| len.saturating_sub(1));
        name.map_or_else(String::new, |name| format!(" {arrow} {name} 0..{last} "))
    };
    let mut axes = extent('\u{2192}', cols);
    if rows != cols {
        axes += &extent('\u{2191}', rows);
    }
    if field.mesh_error.is_some() {
        axes += " mesh ignored: it cannot be used ";
    }
    (title, axes)
}

/// Returns the distance of points along a row, divided by their distance along a column.
fn stretch(model: &Model, field: &Field) -> f64 {
    let axes = model.shown.request.slice.as_ref().map(|slice| slice.axes);
    let (Some(spacing), Some([rows, cols])) = (&field.spacing, axes) else {
        return 1.0;
    };
    match (spacing.get(cols), spacing.get(rows)) {
        (Some(across), Some(up)) => (across / up).abs(),
        _ => 1.0,
    }
}

/// The largest width of the numbers at the ends of the bar of colours.
const NUMBER: u16 = 11;

/// Draws the bar of colours, from the lowest value to the highest.
fn draw_bar(
    model: &Model,
    scale: &Scale,
    palette: &[Color],
    depth: Depth,
    mut area: Rect,
    buffer: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let words = words(model, scale);
    let room = usize::from(area.width);
    if room >= usize::from(NUMBER) * 2 + 8 + words.len() {
        let x = area.right() - words.len() as u16;
        buffer.set_string(x, area.y, &words, dim());
        area.width -= words.len() as u16 + 1;
    }
    let (low, high) = (number(scale.low), number(scale.high));
    let numbers = (low.len() + high.len() + 2) as u16;
    if area.width < numbers + 3 {
        let text = format!("{low} .. {high}");
        buffer.set_stringn(area.x, area.y, text, usize::from(area.width), dim());
        return;
    }
    buffer.set_string(area.x, area.y, &low, dim());
    buffer.set_string(area.right() - high.len() as u16, area.y, &high, dim());
    let gradient = area.x + low.len() as u16 + 1..area.right() - high.len() as u16 - 1;
    let steps = f64::from((gradient.end - gradient.start).max(2) - 1);
    for (step, x) in zip(0_u16.., gradient) {
        let share = f64::from(step) / steps;
        match depth {
            Depth::None => buffer[(x, area.y)].set_symbol(shade(share)),
            _ => buffer[(x, area.y)].set_bg(pick(palette, share)),
        };
    }
}

fn number(x: f64) -> String {
    fit(x, usize::from(NUMBER))
}

/// Describes the colour map and the scale.
fn words(model: &Model, scale: &Scale) -> String {
    let mut words = vec![MAPS[model.choice.map % MAPS.len()].0];
    match (scale.log, model.choice.log) {
        (true, _) => words.push("log"),
        (false, true) => words.push("linear: no positive value"),
        _ => {}
    }
    if model.choice.range.is_some() {
        words.push("range kept");
    }
    words.join(", ")
}
