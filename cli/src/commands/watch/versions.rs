//! Draws the list of kept versions, with the one that is shown.

use super::model::Model;
use super::panel::{bold, dim};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let kept = &model.region.versions;
    if kept.is_empty() || area.is_empty() {
        return;
    }
    let title = match kept.len() {
        1 => " 1 version is kept: ".to_owned(),
        count => format!(" {count} versions are kept: "),
    };
    let room = usize::from(area.width).saturating_sub(title.len());
    let mut spans = vec![Span::styled(title, dim())];
    spans.extend(list(kept, model.shown.stamp.version, room));
    Line::from(spans).render(area, buffer);
}

/// Returns as many versions as fit into `room` columns. The one that is shown is among them.
fn list(kept: &[u64], shown: u64, room: usize) -> Vec<Span<'static>> {
    let width = kept.iter().map(|v| v.to_string().len() + 1).max();
    let count = (room.saturating_sub(4) / width.unwrap_or(1)).max(1);
    let here = kept.partition_point(|version| *version < shown);
    let last_first = kept.len().saturating_sub(count);
    let first = here.saturating_sub(count / 2).min(last_first);
    let end = (first + count).min(kept.len());
    let span = |version: &u64| match *version == shown {
        true => Span::styled(version.to_string(), bold().reversed()),
        false => Span::raw(version.to_string()),
    };
    let mut spans = Vec::new();
    if first > 0 {
        spans.push(Span::styled("\u{2026} ", dim()));
    }
    for version in &kept[first..end] {
        spans.push(span(version));
        spans.push(Span::raw(" "));
    }
    if end < kept.len() {
        spans.push(Span::styled("\u{2026}", dim()));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kept: &[u64], shown: u64, room: usize) -> String {
        let spans = list(kept, shown, room);
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn shown_version_is_in_the_list() {
        let kept: Vec<u64> = (10..60).collect();
        assert_eq!(text(&kept, 59, 20), "\u{2026} 55 56 57 58 59 ");
        assert_eq!(text(&kept, 30, 20), "\u{2026} 28 29 30 31 32 \u{2026}");
        assert_eq!(text(&kept, 10, 20), "10 11 12 13 14 \u{2026}");
        assert_eq!(text(&[7, 8], 3, 20), "7 8 ");
        assert_eq!(text(&kept, 30, 0), "\u{2026} 30 \u{2026}");
    }

    #[test]
    fn shown_version_is_highlighted() {
        let spans = list(&[7, 8], 8, 20);
        let of: Vec<_> = spans
            .iter()
            .filter(|s| s.style == bold().reversed())
            .collect();
        assert_eq!((of.len(), of[0].content.as_ref()), (1, "8"));
    }
}
