//! Draws the panel of the slice: its position, the bar of colours, and the slice itself.

use super::chart;
use super::colours::{Depth, NOT_FINITE, Scale, pick, shade};
use super::image::HeatMap;
use super::model::{Model, is_in_space};
use super::panel::{self, dim};
use super::places::take_bottom;
use super::scatter::{self, Scatter};
use super::text::fit;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};
use std::iter::zip;
use std::ops::Range;
use tcasm_view::State;
use tcasm_view::colormaps::MAPS;
use tcasm_view::mesh::{Bounds, Raster};
use tcasm_view::region::Field;
use tcasm_view::request::Slice;

pub fn draw(model: &Model, depth: Depth, area: Rect, buffer: &mut Buffer) {
    let field = model.shown_field().filter(|_| model.has_version());
    let (title, axes) = field.map_or_else(Default::default, |field| titles(model, field));
    let axes = Span::styled(axes, dim());
    panel::block(title)
        .title_bottom(Line::from(vec![axes, not_finite(model, depth)]))
        .render(area, buffer);
    let mut inside = panel::inner(area);
    let Some(field) = field.filter(|_| !model.shown.empty && has_values(model)) else {
        return write_line(&nothing(model), inside, buffer);
    };
    if let Some(image) = model.shown.image.as_ref().filter(|_| is_curve(field)) {
        return chart::draw(image, model.scale(), inside, buffer);
    }
    let bar = take_bottom(&mut inside, 1);
    let Some(scale) = model.scale() else {
        return write_line("no sample is a finite number", inside, buffer);
    };
    let palette = depth.palette(model.choice.map);
    draw_bar(model, &scale, &palette, depth, bar, buffer);
    let colours = (&scale, palette.as_slice(), depth);
    draw_values(model, field, colours, inside, buffer);
}

/// Draws points in space, or the samples of a slice.
fn draw_values(
    model: &Model,
    field: &Field,
    (scale, palette, depth): (&Scale, &[Color], Depth),
    area: Rect,
    buffer: &mut Buffer,
) {
    if let Some(raster) = raster(model, area) {
        let scatter = Scatter {
            raster: &raster,
            scale,
            palette,
            depth,
        };
        scatter.render(area, buffer);
    } else if let Some(image) = &model.shown.image {
        let map = HeatMap {
            image,
            scale,
            palette,
            depth,
            stretch: stretch(model, field),
        };
        map.render(area, buffer);
    }
}

fn has_values(model: &Model) -> bool {
    model.shown.image.is_some() || model.shown.scene.is_some()
}

fn is_curve(field: &Field) -> bool {
    field.shape.len() == 1 && !is_in_space(field)
}

/// Returns points in space, or the slice of a mesh that says where its points are.
fn raster(model: &Model, area: Rect) -> Option<Raster> {
    let (shown, size) = (&model.shown, scatter::size(area));
    match (&shown.scene, &shown.image, &shown.grid) {
        (Some(scene), _, _) => Some(Raster::of_points(scene, model.choice.along.others(), size)),
        (None, Some(image), Some(grid)) => Some(Raster::of_grid(image, grid, size)),
        _ => None,
    }
}

/// Returns the number of values of the slice that are not finite, in the colour of their samples.
fn not_finite(model: &Model, depth: Depth) -> Span<'static> {
    let shown = Some(&model.shown).filter(|_| model.has_version());
    let count = shown.map_or(0, |shown| match (&shown.scene, &shown.image) {
        (Some(scene), _) => scene.not_finite,
        (None, image) => image.as_ref().map_or(0, |image| image.not_finite),
    });
    let text = match (count, depth) {
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
    if model.shown.empty {
        let particles = model.shown_field().is_some_and(is_in_space);
        let what = if particles { "points" } else { "values" };
        return format!("no {what} in this version");
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
    let shown = &model.shown;
    let mut title = format!(" {} ", name(model, field));
    if let Some(scene) = &shown.scene {
        title += &format!(" {} of {} points ", scene.positions.len(), scene.all);
        let axes = model.choice.along.others();
        return (title, space_axes(model, field, scene.bounds, axes));
    }
    let slice = shown.request.slice.as_ref();
    let Some(slice) = slice.filter(|slice| slice.at.len() == field.shape.len()) else {
        return (title, String::new());
    };
    title += &position(field, slice);
    let Some(grid) = &shown.grid else {
        return (title, slice_axes(field, slice.axes));
    };
    if grid.invalid_points > 0 {
        title += &format!(" {} invalid corners ", grid.invalid_points);
    }
    (title, space_axes(model, field, grid.bounds, grid.axes()))
}

/// Returns the name of the component that is shown, with the unit.
fn name(model: &Model, field: &Field) -> String {
    match field.unit.as_str() {
        "" | "1" => model.shown_name(),
        unit => format!("{} [{unit}]", model.shown_name()),
    }
}

/// Returns the index of a slice on each axis that it cuts.
fn position(field: &Field, slice: &Slice) -> String {
    let cut = slice.at.iter().enumerate();
    let cut = cut.filter(|(axis, _)| !slice.axes.contains(axis));
    let text = |(axis, at): (usize, &usize)| {
        let last = field.shape[axis].saturating_sub(1);
        format!(" {} = {at} of 0..{last} ", field.axes[axis])
    };
    cut.map(text).collect()
}

/// Returns the axes of a slice that go to the right and up, with their last indices.
fn slice_axes(field: &Field, [rows, cols]: [usize; 2]) -> String {
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
    axes
}

/// Returns the axes that go up and to the right, with the ends of the drawing and the unit of the
/// mesh.
fn space_axes(
    model: &Model,
    field: &Field,
    bounds: Option<Bounds>,
    [up, right]: [usize; 2],
) -> String {
    let Some([low, high]) = bounds else {
        return " no point can be drawn ".to_owned();
    };
    let mut meshes = model.region.meshes.iter();
    let mesh = meshes.find(|mesh| Some(&mesh.name) == field.mesh.as_ref());
    let text = |(arrow, axis): (char, usize)| {
        let unit = mesh.map_or("", |mesh| mesh.units[axis].as_str());
        let ends = format!("{}..{}", number(low[axis]), number(high[axis]));
        let name = ["x", "y", "z"][axis];
        format!(" {arrow} {name} {ends} {unit}")
            .trim_end()
            .to_owned()
            + " "
    };
    [('\u{2192}', right), ('\u{2191}', up)].map(text).concat()
}

/// Returns the distance of points along a row, divided by their distance along a column.
fn stretch(model: &Model, field: &Field) -> f64 {
    let axes = model.shown.request.slice.as_ref().map(|slice| slice.axes);
    // The mesh may have another spacing in the newest version, which describes the field.
    let shown = model.shown.axes.as_ref().map(|axes| &axes.spacing);
    let spacing = shown.or(field.spacing.as_ref());
    let (Some(spacing), Some([rows, cols])) = (spacing, axes) else {
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
    draw_gradient(palette, depth, (gradient, area.y), buffer);
}

/// Draws all colours in the columns `columns` of the row `y`.
fn draw_gradient(
    palette: &[Color],
    depth: Depth,
    (columns, y): (Range<u16>, u16),
    buffer: &mut Buffer,
) {
    let steps = f64::from((columns.end - columns.start).max(2) - 1);
    for (step, x) in zip(0_u16.., columns) {
        let share = f64::from(step) / steps;
        match depth {
            Depth::None => buffer[(x, y)].set_symbol(shade(share)),
            _ => buffer[(x, y)].set_bg(pick(palette, share)),
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
