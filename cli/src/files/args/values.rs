//! Parsers of numbers: those greater than 0, and percentages.

/// Parses a number greater than 0, up to 1e9.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 1e9)
        .ok_or_else(|| "write a number greater than 0".to_owned())
}

/// Parses a percentage: greater than 0, up to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 100.0)
        .ok_or_else(|| "write a number greater than 0, up to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_percentages_are_greater_than_zero() {
        assert_eq!((positive("0.5"), percent("5")), (Ok(0.5), Ok(5.0)));
        for bad in ["0", "-1", "nan", "inf", "x"] {
            assert!(positive(bad).is_err() && percent(bad).is_err(), "{bad:?}");
        }
        assert!(percent("101").is_err());
    }
}
