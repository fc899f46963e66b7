//! Draws the help with all keys, on top of the panels.

use super::keys::KEYS;
use super::panel;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Widget};

pub fn draw(area: Rect, buffer: &mut Buffer) {
    let line = |(key, _, what): &(&'static str, &str, &'static str)| {
        Line::from(vec![
            Span::styled(format!(" {key:<10}"), panel::bold()),
            Span::raw(*what),
        ])
    };
    let lines: Vec<Line> = KEYS.iter().map(line).collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0) as u16;
    let (width, height) = (widest + 4, lines.len() as u16 + 2);
    let place = centred(area, width.min(area.width), height.min(area.height));
    Clear.render(place, buffer);
    Paragraph::new(lines)
        .block(panel::block(" keys "))
        .render(place, buffer);
}

fn centred(area: Rect, width: u16, height: u16) -> Rect {
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}
