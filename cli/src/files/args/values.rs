//! Parsers of numbers: those greater than 0, percentages, and bounds of errors.

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

/// Parses a bound of the relative error: greater than 0 and less than 1.
pub fn relative_error(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|n| *n > 0.0 && *n < 1.0)
        .ok_or_else(|| "write a number greater than 0 and less than 1, such as 1e-3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_errors_are_between_zero_and_one() {
        assert_eq!(
            (relative_error("1e-3"), relative_error("0.5")),
            (Ok(1e-3), Ok(0.5))
        );
        for bad in ["0", "1", "-0.1", "nan", "inf", "1%", "x"] {
            assert!(relative_error(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn intervals_and_percentages_are_greater_than_zero() {
        assert_eq!((positive("0.5"), percent("5")), (Ok(0.5), Ok(5.0)));
        for bad in ["0", "-1", "nan", "inf", "x"] {
            assert!(positive(bad).is_err() && percent(bad).is_err(), "{bad:?}");
        }
        assert!(percent("101").is_err());
    }
}
