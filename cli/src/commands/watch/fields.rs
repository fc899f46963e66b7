//! Draws the table of fields.

use super::choice::part_name;
use super::model::Model;
use super::panel::{bold, dim};
use super::text::{clip, fit_some};
use crate::output;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tcasm_view::region::Field;

/// The width of a number.
const NUMBER: usize = 11;
/// The smallest width of the means over time: the width of the title.
const TREND: usize = 14;
/// The width between columns.
const GAP: usize = 2;

/// The columns in their order, with their ranks. If there is not enough room, the column with the
/// lowest rank is dropped first.
const COLUMNS: [(&str, u8); 10] = [
    ("FIELD", 10),
    ("TYPE", 1),
    ("SHAPE", 3),
    ("MESH", 2),
    ("UNIT", 4),
    ("MIN", 7),
    ("MEAN", 9),
    ("MAX", 8),
    ("NANS", 5),
    ("MEAN OVER TIME", 6),
];

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let fields = model.fields_in_sight(usize::from(area.height) - 1);
    let rows: Vec<[String; 9]> = fields.iter().map(|field| cells(model, field)).collect();
    let columns = columns(&rows, usize::from(area.width) - 1);
    let mut line = area.rows();
    if let Some(place) = line.next() {
        let titles = |column: usize| COLUMNS[column].0.to_owned();
        put(buffer, place, &columns, titles, dim());
    }
    for ((field, row), place) in fields.iter().zip(&rows).zip(line) {
        let selected = field.name == model.choice.field;
        let style = if selected {
            bold().reversed()
        } else {
            Style::new()
        };
        let cell = |column: usize| match row.get(column) {
            Some(text) => text.clone(),
            None => trend(model, field, columns.last().map_or(0, |(_, width)| *width)),
        };
        put(buffer, place, &columns, cell, style);
    }
}

/// Draws one line. The means over time are never drawn in reverse, because their bars would then
/// look inverted.
fn put(
    buffer: &mut Buffer,
    place: Rect,
    columns: &[(usize, usize)],
    cell: impl Fn(usize) -> String,
    style: Style,
) {
    let mut line = " ".to_owned();
    let mut plain = String::new();
    for (column, width) in columns {
        let text = clip(&cell(*column), *width);
        match COLUMNS[*column].0 {
            "MIN" | "MEAN" | "MAX" | "NANS" => line += &format!("{text:>width$}"),
            "MEAN OVER TIME" => plain = text,
            _ => line += &format!("{text:<width$}"),
        }
        line += &" ".repeat(GAP);
    }
    let width = usize::from(place.width);
    buffer.set_stringn(place.x, place.y, line.trim_end(), width, style);
    if !plain.is_empty() {
        let before: usize = columns
            .iter()
            .rev()
            .skip(1)
            .map(|(_, width)| width + GAP)
            .sum();
        let x = place.x + 1 + before as u16;
        let style = style.remove_modifier(Modifier::REVERSED | Modifier::BOLD);
        buffer.set_stringn(x, place.y, plain, width.saturating_sub(1 + before), style);
    }
}

/// Returns the cells of a field, except the mean over time.
fn cells(model: &Model, field: &Field) -> [String; 9] {
    let selected = field.name == model.choice.field;
    let component = model.choice.component.filter(|_| selected);
    let moments = model
        .records
        .get(&field.name, component)
        .map(|r| &r.moments);
    let number = |value: Option<Option<tcasm_analytics::Scalar>>| {
        fit_some(value.flatten().map(|value| value.to_f64()), NUMBER)
    };
    [
        part_name(&field.name, field.components, component),
        field.dtype.to_owned(),
        shape(field),
        mesh(field),
        field.unit.clone(),
        number(moments.map(|m| m.min)),
        number(moments.map(|m| m.mean)),
        number(moments.map(|m| m.max)),
        moments.map_or_else(|| "-".to_owned(), |m| m.nans.to_string()),
    ]
}

fn shape(field: &Field) -> String {
    let shape = output::shape(&field.shape);
    match field.components {
        1 => shape,
        n => format!("{shape}, {n} each"),
    }
}

/// Returns the name and the kind of the mesh that the field is on, such as `atoms: particles`.
fn mesh(field: &Field) -> String {
    match (&field.mesh, field.mesh_kind) {
        (Some(name), Some(kind)) => format!("{name}: {kind}"),
        _ => String::new(),
    }
}

fn trend(model: &Model, field: &Field, width: usize) -> String {
    let component = model
        .choice
        .component
        .filter(|_| field.name == model.choice.field);
    let record = model.records.get(&field.name, component);
    record.map_or_else(String::new, |record| record.sparkline(width))
}

/// Returns the columns that fit, with their widths. The last one gets the remaining width.
fn columns(rows: &[[String; 9]], width: usize) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> = (0..COLUMNS.len())
        .map(|column| (column, width_of(rows, column)))
        .filter(|(_, width)| *width > 0)
        .collect();
    let total = |columns: &[(usize, usize)]| -> usize {
        let widths = columns.iter().map(|(_, width)| width + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    };
    while columns.len() > 1 && total(&columns) > width {
        let ranks = columns.iter().enumerate();
        let least = ranks.min_by_key(|(_, (column, _))| COLUMNS[*column].1);
        let least = least.map_or(0, |(place, _)| place);
        columns.remove(least);
    }
    let left = width.saturating_sub(total(&columns));
    if let Some((_, width)) = columns.last_mut() {
        *width += left;
    }
    columns
}

/// Returns the width that a column needs; 0 if it is empty for all fields.
fn width_of(rows: &[[String; 9]], column: usize) -> usize {
    let texts = || rows.iter().filter_map(|row| row.get(column));
    let widest = texts().map(|text| text.chars().count()).max().unwrap_or(0);
    match COLUMNS[column].0 {
        "MIN" | "MEAN" | "MAX" => NUMBER,
        "MEAN OVER TIME" => TREND,
        "UNIT" | "MESH" if widest == 0 => 0,
        title => widest.clamp(title.len(), 32),
    }
}
