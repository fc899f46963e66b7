//! Makes text from other processes and files safe for terminals.
//!
//! Units, attributes, names in files and error messages come from other processes and from files.
//! A control character in them could move the cursor, change the window's title, or send input as
//! if the user had typed it. A character that changes the direction of writing could make one name
//! look like another. Everything that this program prints goes through one of these functions.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns true for characters that a terminal interprets instead of showing them.
pub fn is_obeyed(c: char) -> bool {
    // C0, DEL and C1; marks, embeddings, overrides and isolates of direction; line separators.
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes all characters that a terminal would interpret, including newlines: the result is one
/// line.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed, |c| c.escape_default().to_string())
}

/// Returns [`plain`] text with a newline at its end.
pub fn line(text: &str) -> String {
    plain(text).into_owned() + "\n"
}

/// Escapes all characters that a terminal would interpret except newlines, which are ours.
pub fn lines(text: &str) -> Cow<'_, str> {
    let obeyed = |c| is_obeyed(c) && c != '\n';
    escaped(text, obeyed, |c| c.escape_default().to_string())
}

/// Escapes the characters that a terminal would interpret and JSON does not escape itself. They
/// occur only in strings of the JSON text.
pub fn json(text: &str) -> Cow<'_, str> {
    let obeyed = |c| is_obeyed(c) && c != '\n';
    // All these characters are below U+10000, so four digits are enough.
    escaped(text, obeyed, |c| format!("\\u{:04x}", u32::from(c)))
}

fn escaped(
    text: &str,
    is_bad: impl Fn(char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let _ = match is_bad(c) {
            true => out.write_str(&escape(c)),
            false => out.write_char(c),
        };
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_are_escaped() {
        assert_eq!(
            plain("a\n\x1b[31m\u{9b}2J\u{202e}b\x7f"),
            r"a\n\u{1b}[31m\u{9b}2J\u{202e}b\u{7f}"
        );
        assert_eq!(lines("a\nb\r\n"), "a\nb\\r\n");
        for fine in [
            "K",
            "m/s\u{b2}",
            "\u{b5}m \u{2026} \u{221a}",
            "\u{4f60}\u{597d}",
            "",
        ] {
            assert!(matches!(plain(fine), Cow::Borrowed(_)), "{fine}");
        }
    }

    #[test]
    fn escaped_json_decodes_to_the_same_text() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        let raw = serde_json::to_string_pretty(&[&all]).unwrap();
        let safe = json(&raw);
        assert!(!safe.contains(|c| is_obeyed(c) && c != '\n'));
        let back: Vec<String> = serde_json::from_str(&safe).unwrap();
        assert_eq!(back, [all]);
    }
}
