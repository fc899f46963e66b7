//! Parsers of values on the command line.

/// Parses a range, `LO:HI`.
pub fn range(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(':');
    let number = |part: &str| part.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    parts
        .and_then(|(low, high)| Some((number(low)?, number(high)?)))
        .filter(|(low, high)| low <= high)
        .ok_or_else(|| "write two numbers, the smaller first: LO:HI".to_owned())
}

/// Parses a time in seconds, which may be 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .filter(|s| (0.0..=1e9).contains(s))
        .ok_or_else(|| "write a number of seconds, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_finite_numbers_in_order() {
        assert_eq!(range("-1.5:2e3"), Ok((-1.5, 2000.0)));
        for bad in ["", "1", "2:1", "nan:1", "0:inf", "a:b"] {
            assert!(range(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_waiting_time_is_a_number_of_seconds() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        for bad in ["-1", "nan", "1e300", "soon"] {
            assert!(seconds(bad).is_err(), "{bad:?}");
        }
    }
}
