use super::sample::{Sample, samples};
use crate::dynamic::{self, AnalyticsError};
use crate::{HistogramError, Range};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use tcasm_core::field::{DType, FieldDesc, Kind};

/// Returns a function that reads a sample, and counts the bytes that it reads.
fn reader<'s>(
    sample: &'s Sample,
    count: &'s AtomicU64,
) -> impl Fn(u64, &mut [u8]) -> Result<(), AnalyticsError> + Sync + Copy + 's {
    move |at, out| {
        out.copy_from_slice(&sample.bytes()[at as usize..][..out.len()]);
        count.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

proptest! {
    #[test]
    fn results_of_reading_have_the_same_bits_as_those_over_an_array(
        sample in samples(),
        bins in 1usize..20,
        given: bool,
    ) {
        let (desc, count) = (&sample.desc, AtomicU64::new(0));
        let read = reader(&sample, &count);
        // As text, every number has all its digits, and NaN equals NaN.
        let moments = dynamic::read_moments(desc, read).map(|m| format!("{m:?}"));
        let expected = dynamic::moments(desc, sample.bytes()).map(|m| format!("{m:?}"));
        prop_assert_eq!(moments.unwrap(), expected.unwrap());
        prop_assert!(count.load(Ordering::Relaxed) <= desc.bytes(), "bytes are read twice");

        let range = if given { Range::Given(-10.0, 90.0) } else { Range::Auto };
        let histogram = dynamic::read_histogram(desc, read, bins, range);
        let expected = dynamic::histogram(desc, sample.bytes(), bins, range);
        let text = |result: Result<_, AnalyticsError>| match result {
            Ok(histogram) => format!("{histogram:?}"),
            Err(error) => error.to_string(),
        };
        prop_assert_eq!(text(histogram), text(expected));
    }
}

#[test]
fn values_between_far_rows_are_not_read() {
    let mut desc = FieldDesc::new("f", DType::F64, &[50, 3000]);
    desc.ghosts = vec![[0, 0], [1000, 1997]];
    let (count, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let read = |at: u64, out: &mut [u8]| -> Result<(), AnalyticsError> {
        assert!((8000..8024).contains(&(at % 24_000)), "byte {at}");
        out.fill(0);
        count.fetch_add(out.len() as u64, Ordering::Relaxed);
        most.fetch_max(out.len() as u64, Ordering::Relaxed);
        Ok(())
    };
    let moments = dynamic::read_moments(&desc, read).unwrap();
    assert_eq!(moments.components[0].count, 150);
    assert_eq!(count.load(Ordering::Relaxed), 150 * 8);
    assert!(most.load(Ordering::Relaxed) <= 24);
}

/// An error of a reader.
#[derive(Debug, PartialEq)]
enum Failed {
    Read,
    Operator(String),
}

impl From<AnalyticsError> for Failed {
    fn from(error: AnalyticsError) -> Self {
        Failed::Operator(error.to_string())
    }
}

#[test]
fn failure_of_a_read_is_the_result() {
    let desc = FieldDesc::new("f", DType::F32, &[1000]);
    let moments = |at: u64| {
        dynamic::read_moments(&desc, |from, out: &mut [u8]| {
            out.fill(0);
            match from + out.len() as u64 > at {
                true => Err(Failed::Read),
                false => Ok(()),
            }
        })
    };
    for at in [0, 2000, 3999] {
        assert_eq!(moments(at).unwrap_err(), Failed::Read);
    }
    assert_eq!(moments(4000).unwrap().components[0].count, 1000);
}

#[test]
fn nothing_is_read_if_the_operator_does_not_fit_the_field() {
    let never = |_: u64, _: &mut [u8]| -> Result<(), AnalyticsError> { panic!("was read") };
    let mut desc = FieldDesc::new("f", DType::U8, &[10]);
    let error = dynamic::read_histogram(&desc, never, 0, Range::Auto).unwrap_err();
    let bins = HistogramError::BinCount(0);
    assert!(matches!(error, AnalyticsError::Histogram { source, .. } if source == bins));
    desc.kind = Kind::Raw {
        type_name: "T".to_owned(),
        align: 1,
    };
    let error = dynamic::read_moments(&desc, never).unwrap_err();
    assert!(matches!(error, AnalyticsError::Array(_)), "{error}");
}
