//! Rounds values before they are stored, so that they compress better.
//!
//! This is *BitRound* (Kloewer et al. 2021, <https://doi.org/10.1038/s43588-021-00156-2>), which
//! netCDF calls `NC_QUANTIZE_BITROUND`: the mantissa is rounded to nearest, ties to even, and the
//! bits after the last significant one are zero. Only the compressor gains by that. The values stay
//! ordinary floats, which every program reads.
//!
//! Some values are stored as they are: NaN, infinities and zeros; subnormal numbers, which have
//! fewer bits, so that a bound relative to their size would not hold; and numbers that rounding
//! would make infinite. So no value changes its sign or its class, and all orders are kept.

use bytemuck::Pod;
use tcasm_core::field::{DType, FieldDesc};

/// The bits of the exponent of an `f32`.
const EXPONENT_32: u64 = 0x7F80_0000;
/// The bits of the exponent of an `f64`.
const EXPONENT_64: u64 = 0x7FF0_0000_0000_0000;

/// The rounding of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    dtype: DType,
    /// The number of bits of the mantissa that are left. There is at least one more.
    pub bits: u32,
    /// The bound of the relative error that was asked for.
    pub relative_error: f64,
}

impl Rounding {
    /// Returns the rounding of the values of `field`, or `None` if they are stored as they are.
    pub fn of(field: &FieldDesc) -> Option<Self> {
        Some(Rounding {
            dtype: field.dtype,
            bits: field.significant_bits()?,
            relative_error: field.relative_error?,
        })
    }

    /// Rounds `values`, which must have the dtype of the field. Both parts of complex numbers are
    /// rounded.
    pub fn apply<T: Pod>(self, values: &mut [T]) {
        match self.dtype {
            DType::F32 | DType::C32 => {
                let drop = f32::MANTISSA_DIGITS - 1 - self.bits;
                for value in bytemuck::cast_slice_mut::<T, u32>(values) {
                    *value = round(u64::from(*value), drop, EXPONENT_32) as u32;
                }
            }
            DType::F64 | DType::C64 => {
                let drop = f64::MANTISSA_DIGITS - 1 - self.bits;
                for value in bytemuck::cast_slice_mut::<T, u64>(values) {
                    *value = round(*value, drop, EXPONENT_64);
                }
            }
            _ => {}
        }
    }
}

/// Rounds the float with the bits `value`, so that its last `drop` bits are zero. `exponent` has
/// the bits of the exponent.
fn round(value: u64, drop: u32, exponent: u64) -> u64 {
    let is_normal = |value: u64| value & exponent != 0 && value & exponent != exponent;
    if !is_normal(value) {
        return value;
    }
    // Less than half of the last bit that is left, or exactly half if that bit is 1: a tie goes to
    // the even number. The carry may go into the exponent, which gives the next power of two.
    let odd = (value >> drop) & 1;
    let half = (1 << (drop - 1)) - 1 + odd;
    let rounded = ((value + half) >> drop) << drop;
    if is_normal(rounded) { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounding(dtype: DType, bits: u32) -> Rounding {
        let mut field = FieldDesc::new("t", dtype, &[1]);
        field.relative_error = Some(2_f64.powi(-(bits as i32) - 1));
        let rounding = Rounding::of(&field).unwrap();
        assert_eq!(rounding.bits, bits);
        rounding
    }

    fn single(value: f32, bits: u32) -> f32 {
        let mut values = [value];
        rounding(DType::F32, bits).apply(&mut values);
        values[0]
    }

    fn double(value: f64, bits: u32) -> f64 {
        let mut values = [value];
        rounding(DType::F64, bits).apply(&mut values);
        values[0]
    }

    #[test]
    fn ties_go_to_the_even_number() {
        // With 2 bits: 1, 1.25, 1.5, 1.75, 2, 2.5, ...
        for (value, rounded) in [
            (1.125, 1.0),
            (1.124, 1.0),
            (1.126, 1.25),
            (1.375, 1.5),
            (1.625, 1.5),
            (1.875, 2.0),
            (-1.875, -2.0),
            (2.25, 2.0),
            (2.26, 2.5),
        ] {
            assert_eq!(double(value, 2), rounded, "{value}");
            assert_eq!(f64::from(single(value as f32, 2)), rounded, "{value}");
        }
    }

    #[test]
    fn values_that_have_no_relative_error_stay_as_they_are() {
        let payload = f64::from_bits(0xFFF4_0000_0000_0123); // a signalling NaN
        for value in [
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            payload,
            5e-324,
            f64::MIN_POSITIVE.next_down(),
            -f64::MIN_POSITIVE.next_down(),
            f64::MAX,
            f64::MIN,
        ] {
            assert_eq!(double(value, 3).to_bits(), value.to_bits(), "{value}");
        }
        let payload = f32::from_bits(0xFFA0_0123);
        for value in [
            0.0,
            -0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            payload,
            1e-45,
            f32::MIN_POSITIVE.next_down(),
            -f32::MIN_POSITIVE.next_down(),
            f32::MAX,
            f32::MIN,
        ] {
            assert_eq!(single(value, 3).to_bits(), value.to_bits(), "{value}");
        }
        assert_eq!(double(f64::MIN_POSITIVE, 3), f64::MIN_POSITIVE);
        assert_eq!(single(f32::MIN_POSITIVE.next_up(), 3), f32::MIN_POSITIVE);
    }

    #[test]
    fn both_parts_of_complex_numbers_are_rounded_and_integers_are_not() {
        let mut pair = [1.126_f64, -1.126];
        rounding(DType::C64, 2).apply(&mut pair);
        assert_eq!(pair, [1.25, -1.25]);
        let mut pair = [1.126_f32, -1.126];
        rounding(DType::C32, 2).apply(&mut pair);
        assert_eq!(pair, [1.25, -1.25]);
        for dtype in [DType::I32, DType::U64, DType::U8] {
            let mut field = FieldDesc::new("n", dtype, &[1]);
            field.relative_error = Some(0.1);
            assert_eq!(Rounding::of(&field), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn rounded_doubles_keep_bound_bits_and_order(
            a in any::<u64>(),
            b in any::<u64>(),
            near in 0u64..1 << 53,
            bits in 1u32..52,
        ) {
            // Two of any size, and two that are close to each other.
            for [a, b] in [[a, b], [a, a.wrapping_add(near)]].map(|pair| pair.map(f64::from_bits)) {
                let rounded = double(a, bits);
                prop_assert_eq!(double(rounded, bits).to_bits(), rounded.to_bits());
                prop_assert_eq!((rounded.classify(), rounded.is_sign_negative()),
                    (a.classify(), a.is_sign_negative()));
                if rounded != a && a.is_normal() {
                    let bound = 2_f64.powi(-(bits as i32) - 1);
                    prop_assert!((rounded - a).abs() / a.abs() <= bound, "{a:e} {rounded:e}");
                    prop_assert_eq!(rounded.to_bits() % (1 << (52 - bits)), 0);
                }
                if a <= b {
                    prop_assert!(rounded <= double(b, bits), "{a:e} {b:e}");
                }
            }
        }

        #[test]
        fn rounded_singles_keep_bound_bits_and_order(
            a in any::<u32>(),
            b in any::<u32>(),
            near in 0u32..1 << 24,
            bits in 1u32..23,
        ) {
            for [a, b] in [[a, b], [a, a.wrapping_add(near)]].map(|pair| pair.map(f32::from_bits)) {
                let rounded = single(a, bits);
                prop_assert_eq!(single(rounded, bits).to_bits(), rounded.to_bits());
                prop_assert_eq!((rounded.classify(), rounded.is_sign_negative()),
                    (a.classify(), a.is_sign_negative()));
                if rounded != a && a.is_normal() {
                    let bound = 2_f64.powi(-(bits as i32) - 1);
                    let (exact, got) = (f64::from(a), f64::from(rounded));
                    prop_assert!((got - exact).abs() / exact.abs() <= bound, "{a:e} {rounded:e}");
                    prop_assert_eq!(rounded.to_bits() % (1 << (23 - bits)), 0);
                }
                if a <= b {
                    prop_assert!(rounded <= single(b, bits), "{a:e} {b:e}");
                }
            }
        }
    }
}
