//! Tests of every operator over fields of length 0.

use crate::blocks::{BlocksError, Span, blocks, envelope, point};
use crate::dynamic::{self, AnalyticsError};
use crate::slice::{Selection, SliceError};
use crate::{Extract, Range};
use tcasm_core::field::{DType, FieldDesc, Order};

/// Returns fields of length 0, with components, ghost layers and both orders.
fn fields() -> Vec<FieldDesc> {
    let line = FieldDesc::new("line", DType::I32, &[0]);
    let mut c = FieldDesc::new("c", DType::F64, &[0, 5]);
    (c.components, c.ghosts) = (3, vec![[0, 0], [1, 2]]);
    let mut f = FieldDesc::new("f", DType::C64, &[5, 4, 0]);
    f.order = Order::F;
    [line, c, f]
        .map(|mut field| {
            field.capacity = Some(7);
            field
        })
        .into()
}

/// Reads bytes of a field that has none.
fn read(at: u64, out: &mut [u8]) -> Result<(), AnalyticsError> {
    assert_eq!((at, out.len()), (0, 0), "a field of length 0 is not read");
    Ok(())
}

#[test]
fn moments_of_nothing_count_nothing() {
    for desc in fields() {
        let moments = dynamic::moments(&desc, &[]).unwrap();
        assert_eq!(dynamic::read_moments(&desc, read).unwrap(), moments);
        assert_eq!(moments.components.len(), desc.components);
        assert_eq!(moments.magnitude.is_some(), desc.components > 1);
        for m in moments.components.iter().chain(&moments.magnitude) {
            assert_eq!((m.count, m.nans, m.infinities), (0, 0, 0));
            assert_eq!((m.min, m.max, m.mean, m.variance), (None, None, None, None));
        }
    }
}

#[test]
fn histograms_of_nothing_have_empty_bins() {
    for desc in fields() {
        for (range, first) in [(Range::Auto, 0.0), (Range::Given(2.0, 3.0), 2.0)] {
            let histogram = dynamic::histogram(&desc, &[], 4, range).unwrap();
            let again = dynamic::read_histogram(&desc, read, 4, range).unwrap();
            assert_eq!(again, histogram);
            for h in &histogram.components {
                assert_eq!((h.counts.as_slice(), h.edges[0]), (&[0; 4][..], first));
            }
        }
    }
}

#[test]
fn whole_axis_without_indices_can_be_sliced() {
    for desc in fields() {
        let interior = desc.interior_shape();
        for text in ["...", ":", "::2"] {
            let selection: Selection = text.parse().unwrap();
            let values = dynamic::slice(&desc, &[], &selection).unwrap();
            assert_eq!(
                values.shape()[..interior.len()].iter().product::<usize>(),
                0
            );
            assert!(selection.within(&interior).is_ok());
        }
        let slowest = desc.slowest_axis().unwrap();
        let error = dynamic::slice(&desc, &[], &Selection::fix(slowest, 0)).unwrap_err();
        let text = error.to_string();
        let is_bounds = matches!(
            error,
            AnalyticsError::Slice {
                source: SliceError::OutOfBounds { len: 0, .. },
                ..
            }
        );
        assert!(is_bounds && text.contains("no index"), "{text}");
    }
}

#[test]
fn part_of_nothing_is_nothing() {
    for desc in fields() {
        for (stride, single) in [(1, false), (3, false), (1, true)] {
            let extract = Extract {
                stride,
                single,
                ..Extract::default()
            };
            let parts = extract.describe([&desc]).unwrap();
            assert_eq!(parts[0].length(), 0, "{:?}", desc.shape);
            assert!(parts[0].check().is_ok());
            assert!(extract.values(&desc, &[]).unwrap().is_empty());
        }
    }
}

#[test]
fn windows_of_nothing_are_refused() {
    for desc in fields() {
        let shape = crate::blocks::shape(&desc);
        let window: Vec<Span> = shape.iter().map(|_| Span::at(0)).collect();
        let at = vec![0; shape.len()];
        for error in [
            blocks(&desc, &[], None, &window).unwrap_err(),
            envelope(&desc, &[], None, &window).unwrap_err(),
            point(&desc, &[], &at).unwrap_err(),
        ] {
            let is_outside = matches!(
                error,
                AnalyticsError::Blocks {
                    source: BlocksError::Outside {
                        axis: 0,
                        len: 0,
                        ..
                    },
                    ..
                }
            );
            assert!(is_outside, "{error}");
        }
    }
}
