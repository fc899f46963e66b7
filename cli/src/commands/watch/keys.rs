//! Which key does what.

use super::choice::{Action, Axis};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys for people: as in the last line, what they do there, and all of it for the help.
pub const KEYS: [(&str, &str, &str); 14] = [
    ("q", "quit", "quit (Esc and Ctrl-C, too)"),
    ("?", "help", "this help; any key closes it"),
    (
        "\u{2191}\u{2193}",
        "field",
        "select the field (k and j, too)",
    ),
    (
        "space",
        "pause",
        "stay at this version; go on with the newest",
    ),
    (
        "[ ]",
        "version",
        "one version back or forward, of those that are kept (\u{2190} \u{2192}, too)",
    ),
    ("x y z", "axis", "cut across this axis"),
    ("+ -", "slice", "move the slice"),
    ("tab", "next axis", "cut across the next axis"),
    ("PgUp PgDn", "far", "move the slice by a tenth"),
    (
        "c",
        "component",
        "next component of a vector, or its magnitude",
    ),
    ("m", "colours", "next colour map"),
    ("l", "log", "colours by logarithm, or not"),
    (
        "r",
        "range",
        "keep the range of the colours, or follow the slice",
    ),
    (
        "Ctrl-L",
        "redraw",
        "draw the screen anew (Ctrl-Z stops the program)",
    ),
];

/// What a key does; none of the others does anything but close the help.
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Interrupt),
            KeyCode::Char('z') => Some(Action::Suspend),
            KeyCode::Char('l') => Some(Action::Redraw),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Action::Quit,
        KeyCode::Char('?') => Action::Help,
        KeyCode::Up | KeyCode::Char('k') => Action::Field(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Field(1),
        KeyCode::Char('x') => Action::Cut(Axis::X),
        KeyCode::Char('y') => Action::Cut(Axis::Y),
        KeyCode::Char('z') => Action::Cut(Axis::Z),
        KeyCode::Tab => Action::Cut(Axis::Next),
        KeyCode::Char('+' | '=') => Action::Move(1),
        KeyCode::Char('-' | '_') => Action::Move(-1),
        KeyCode::PageUp => Action::Page(1),
        KeyCode::PageDown => Action::Page(-1),
        KeyCode::Char('c') => Action::Component,
        KeyCode::Char('m') => Action::Map,
        KeyCode::Char('l') => Action::Log,
        KeyCode::Char('r') => Action::Range,
        KeyCode::Char(' ') => Action::Pause,
        KeyCode::Left | KeyCode::Char('[') => Action::Version(-1),
        KeyCode::Right | KeyCode::Char(']') => Action::Version(1),
        _ => return None,
    })
}
