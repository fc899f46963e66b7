//! Formats numbers and words for narrow columns.

use crate::output::number;

/// Formats a number in at most `width` characters, with as many digits as fit, at most six. If it
/// does not fit at all, returns `#` characters.
pub fn fit(x: f64, width: usize) -> String {
    let short = number(x);
    if short.len() <= width {
        return short;
    }
    let scientific = (0..5).rev().map(|digits| format!("{x:.digits$e}"));
    let mut fitting = scientific.filter(|text| text.len() <= width);
    fitting.next().unwrap_or_else(|| "#".repeat(width))
}

/// Formats a number like [`fit`], or returns `-` if there is none.
pub fn fit_some(x: Option<f64>, width: usize) -> String {
    x.map_or_else(|| "-".to_owned(), |x| fit(x, width))
}

/// Shortens a text to `width` characters. The last one is an ellipsis if the text is longer.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    let end = if width > 0 { "\u{2026}" } else { "" };
    kept + end
}

/// Formats a time in microseconds, such as `80 us`, `1.2 ms`, `3.4 s`.
pub fn duration(us: f64) -> String {
    match us {
        ..1e3 => format!("{us:.0} us"),
        ..1e6 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

/// Formats a rate, such as `12.5/s`.
pub fn rate(per_second: Option<f64>) -> String {
    match per_second {
        Some(rate) if rate >= 100.0 => format!("{rate:.0}/s"),
        Some(rate) => format!("{rate:.1}/s"),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_lose_digits_rather_than_places() {
        let of = [
            (1.0 / 3.0, 11, "0.333333"),
            (-1.234567e-300, 11, "-1.235e-300"),
            (-1.234567e-300, 7, "-1e-300"),
            (-1.234567e-300, 5, "#####"),
            (123_456.0, 4, "1e5"),
            (f64::NAN, 3, "NaN"),
        ];
        for (x, width, text) in of {
            assert_eq!(fit(x, width), text);
        }
    }

    #[test]
    fn clipped_text_ends_with_an_ellipsis() {
        assert_eq!(clip("velocity", 8), "velocity");
        assert_eq!(clip("velocity", 5), "velo\u{2026}");
        assert_eq!(clip("velocity", 0), "");
    }

    #[test]
    fn times_have_a_suitable_unit() {
        assert_eq!(
            [80.4, 1200.0, 3.4e6].map(duration),
            ["80 us", "1.2 ms", "3.4 s"]
        );
    }

    proptest! {
        #[test]
        fn every_number_fits(x in any::<f64>(), width in 0_usize..20) {
            prop_assert!(fit(x, width).len() <= width);
        }
    }
}
