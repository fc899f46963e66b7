//! Computes the number of bits that floats need for a bound of their relative error.
//!
//! A float that is rounded to nearest, so that `bits` bits of its mantissa are left behind the
//! leading 1, differs from the exact one by at most half of the last of these bits: by
//! 2^-(`bits` + 1) of its own size. Kloewer et al. 2021
//! (<https://doi.org/10.1038/s43588-021-00156-2>) call this number *keepbits*, netCDF calls it
//! *number of significant bits*.

use super::desc::FieldDesc;
use super::dtype::DType;
use super::table::FieldTable;

impl DType {
    /// Returns the number of explicit bits of the mantissa that values of this type need, so that
    /// rounding to nearest changes none by more than `relative_error` of itself. It is at least 1,
    /// as in netCDF.
    ///
    /// Returns `None` if the values are stored as they are: they are not floats, they need all of
    /// their bits, or the bound is not between 0 and 1.
    ///
    /// ```
    /// use tcasm_core::field::DType;
    /// assert_eq!(DType::F32.significant_bits(1e-3), Some(9)); // 2^-10 is 0.00098
    /// assert_eq!(DType::F32.significant_bits(1e-9), None);
    /// assert_eq!(DType::I32.significant_bits(1e-3), None);
    /// ```
    pub fn significant_bits(self, relative_error: f64) -> Option<u32> {
        let all = match self {
            DType::F32 | DType::C32 => f32::MANTISSA_DIGITS - 1,
            DType::F64 | DType::C64 => f64::MANTISSA_DIGITS - 1,
            _ => return None,
        };
        let is_bound = relative_error > 0.0 && relative_error < 1.0;
        // The bound is at least 2^(exponent - 1023), which is 2^-(bits + 1). A bound below 1 has
        // an exponent of at most 1022.
        let exponent = (relative_error.to_bits() >> (f64::MANTISSA_DIGITS - 1)) as u32;
        let bits = 1022_u32.saturating_sub(exponent).max(1);
        (is_bound && bits < all).then_some(bits)
    }
}

impl FieldDesc {
    /// In a file: returns the number of bits of the mantissa that are left of each value, or `None`
    /// if the values are not rounded.
    pub fn significant_bits(&self) -> Option<u32> {
        self.dtype.significant_bits(self.relative_error?)
    }
}

impl FieldTable {
    /// In a file: returns the fields whose values are rounded.
    pub fn rounded(&self) -> impl Iterator<Item = &FieldDesc> {
        let fields = self.fields.iter();
        fields.filter(|field| field.relative_error.is_some())
    }

    /// In a file: returns the largest bound of the relative error of a field, or `None` if all
    /// values are exact.
    pub fn relative_error(&self) -> Option<f64> {
        let bounds = self.fields.iter().filter_map(|field| field.relative_error);
        bounds.reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_as_few_as_the_bound_allows() {
        for (bound, bits) in [
            (0.999, 1),
            (0.5, 1),
            (0.25, 1),
            (0.2, 2),
            (0.125, 2),
            (1e-3, 9),
            (0.000_976_562_5, 9), // 2^-10
            (0.000_976_562_4, 10),
            (1e-6, 19),
        ] {
            for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
                assert_eq!(dtype.significant_bits(bound), Some(bits), "{bound} {dtype}");
            }
            let error = |bits: i32| 2_f64.powi(-bits - 1);
            assert!(error(bits as i32) <= bound);
            assert!(bits == 1 || error(bits as i32 - 1) > bound, "{bound}");
        }
    }

    #[test]
    fn values_that_need_all_their_bits_are_not_rounded() {
        assert_eq!(DType::F32.significant_bits(2_f64.powi(-23)), Some(22));
        assert_eq!(DType::F32.significant_bits(2_f64.powi(-24)), None);
        assert_eq!(DType::F64.significant_bits(2_f64.powi(-24)), Some(23));
        assert_eq!(DType::F64.significant_bits(2_f64.powi(-52)), Some(51));
        assert_eq!(DType::F64.significant_bits(2_f64.powi(-53)), None);
        for no_bound in [0.0, -0.0, -0.5, 1.0, 2.0, 5e-324, f64::NAN, f64::INFINITY] {
            for dtype in DType::ALL {
                assert_eq!(dtype.significant_bits(no_bound), None, "{no_bound} {dtype}");
            }
        }
        assert_eq!(DType::U8.significant_bits(0.5), None);
    }

    #[test]
    fn table_has_the_largest_bound_of_its_fields() {
        let mut table = FieldTable {
            fields: ["a", "b", "c"]
                .map(|name| FieldDesc::new(name, DType::F64, &[4]))
                .to_vec(),
            ..FieldTable::default()
        };
        assert_eq!((table.relative_error(), table.rounded().count()), (None, 0));
        table.fields[1].relative_error = Some(1e-2);
        table.fields[2].relative_error = Some(1e-3);
        assert_eq!(table.relative_error(), Some(1e-2));
        assert_eq!(table.rounded().next(), Some(&table.fields[1]));
        assert_eq!(table.fields[2].significant_bits(), Some(9));
    }
}
