//! Values that are not finite, and spikes: a picture of few samples must show them.

use super::*;
use tcasm_core::field::DType;

fn request(desc: &FieldDesc, pixels: [usize; 2]) -> Slice {
    let request = ViewRequest::at_middle(desc, pixels);
    request.slice.unwrap()
}

#[test]
fn one_nan_in_a_large_plane_is_in_the_small_image() {
    let desc = FieldDesc::new("t", DType::F64, &[512, 512]);
    let mut values = vec![3.0_f64; 512 * 512];
    values[100 * 512 + 8] = f64::NAN;
    let bytes = bytemuck::cast_slice(&values);
    let slice = request(&desc, [128, 128]);
    let image = image(&desc, bytes, None, &slice).unwrap();
    assert_eq!((image.size, image.not_finite), ([128, 128], 1));
    let marked = (0..image.samples.len()).filter(|i| !image.samples[*i].is_finite());
    assert_eq!(marked.collect::<Vec<_>>(), [25 * 128 + 2]);
    assert_eq!((image.range, image.envelope), (Some([3.0, 3.0]), vec![]));
}

#[test]
fn numbers_that_are_too_large_for_32_bits_are_finite_in_the_image() {
    let desc = FieldDesc::new("t", DType::F64, &[1, 5]);
    let values = [0.0, 1e43, -1.5e308, 1.5e308, f64::NEG_INFINITY];
    let bytes = bytemuck::cast_slice(&values);
    let image = image(&desc, bytes, None, &request(&desc, [1, 5])).unwrap();
    let most = f32::MAX;
    assert_eq!(image.samples, [0.0, most, -most, most, f32::NEG_INFINITY]);
    assert_eq!((image.base, image.not_finite), (0.0, 1));
    assert_eq!(image.range, Some([-1.5e308, 1.5e308]));
}

#[test]
fn spike_of_one_value_is_in_the_envelope_of_a_line() {
    let desc = FieldDesc::new("t", DType::F64, &[100_000]);
    let mut values = vec![1.0_f64; 100_000];
    (values[41_000], values[70_000]) = (1e6, f64::INFINITY);
    let bytes = bytemuck::cast_slice(&values);
    let image = image(&desc, bytes, None, &request(&desc, [1, 100])).unwrap();
    assert_eq!((image.block, image.not_finite), ([1, 1000], 1));
    assert_eq!(image.envelope[41], [1.0, 1e6]);
    assert_eq!(image.envelope[70], [1.0, 1.0]);
    assert_eq!(image.range, Some([1.0, 1e6]));
    let line = Line {
        axis: 0,
        at: vec![0],
    };
    let profile = profile(&desc, bytes, None, &line).unwrap();
    assert_eq!((profile.block, profile.not_finite), (13, 1));
    assert_eq!(profile.envelope.len(), profile.values.len());
    assert_eq!(profile.envelope[41_000 / 13], [1.0, 1e6]);
    assert!(profile.values[70_000 / 13].is_nan());
}

#[test]
fn line_of_few_points_has_no_envelope() {
    let desc = FieldDesc::new("t", DType::F64, &[4]);
    let values = [1.0, f64::INFINITY, 2.0, 5.0];
    let bytes = bytemuck::cast_slice(&values);
    let image = image(&desc, bytes, None, &request(&desc, [1, 10])).unwrap();
    assert_eq!((image.envelope, image.not_finite), (vec![], 1));
    assert_eq!(image.range, Some([1.0, 5.0]));
    let line = Line {
        axis: 0,
        at: vec![0],
    };
    let profile = profile(&desc, bytes, None, &line).unwrap();
    assert!(profile.envelope.is_empty() && profile.values[1].is_infinite());
}
