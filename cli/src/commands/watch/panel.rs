//! The border and the styles that all panels use.

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType};

/// Returns a border with a title.
pub fn block<'a>(title: impl Into<Line<'a>>) -> Block<'a> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(dim())
        .title_top(title)
        .title_style(bold())
}

/// Returns the area inside of the border.
pub fn inner(area: Rect) -> Rect {
    Block::bordered().inner(area)
}

pub fn bold() -> Style {
    Style::new()
        .remove_modifier(Modifier::DIM)
        .add_modifier(Modifier::BOLD)
}

pub fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}
