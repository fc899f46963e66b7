//! The keys and their actions.

use super::choice::{Action, Axis};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The descriptions of the keys: the key, a word for the last line of the screen, and a text for
/// the help.
pub const KEYS: [(&str, &str, &str); 14] = [
    ("q", "quit", "quit (also Esc and Ctrl-C)"),
    ("?", "help", "show this help; any key closes it"),
    (
        "\u{2191}\u{2193}",
        "field",
        "select the field (also k and j)",
    ),
    (
        "space",
        "pause",
        "stay at this version, or follow the newest again",
    ),
    (
        "[ ]",
        "version",
        "go back or forward by one kept version (also \u{2190} \u{2192})",
    ),
    (
        "x y z",
        "axis",
        "cut across this axis, or look at points along it",
    ),
    ("+ -", "slice", "move the slice"),
    ("tab", "next axis", "cut across the next axis"),
    ("PgUp PgDn", "far", "move the slice by a tenth of the axis"),
    (
        "c",
        "component",
        "show the next component of a vector, or its magnitude",
    ),
    ("m", "colours", "use the next colour map"),
    ("l", "log", "switch between linear and logarithmic colours"),
    (
        "r",
        "range",
        "keep the range of the colours, or fit it to the slice",
    ),
    (
        "Ctrl-L",
        "redraw",
        "draw the screen again (Ctrl-Z stops the program)",
    ),
];

/// Returns the action of a key. Any other key only closes the help.
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
