//! An owned n-d array whose dtype is known at run time.

use crate::number::{Number, Scalar};
use ndarray::{ArrayD, ArrayViewD};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use tcasm_core::field::DType;

pub use crate::number::Values;

/// Runs `$body` with `$array` bound to the array inside.
macro_rules! with_array {
    ($values:expr, $array:ident => $body:expr) => {
        match $values {
            Values::I8($array) => $body,
            Values::I16($array) => $body,
            Values::I32($array) => $body,
            Values::I64($array) => $body,
            Values::U8($array) => $body,
            Values::U16($array) => $body,
            Values::U32($array) => $body,
            Values::U64($array) => $body,
            Values::F32($array) => $body,
            Values::F64($array) => $body,
            Values::C32($array) => $body,
            Values::C64($array) => $body,
        }
    };
}

impl Values {
    /// Copies `view`.
    pub fn copy_of<T: Number>(view: ArrayViewD<'_, T>) -> Self {
        // `to_owned` would keep a Fortran order, but `Values` are in C order.
        let shape = view.raw_dim();
        let copy = ArrayD::from_shape_vec(shape, view.iter().copied().collect());
        T::values(copy.expect("as many elements as the shape of the view they come from"))
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        fn dtype_of<T: Number>(_: &ArrayD<T>) -> DType {
            T::DTYPE
        }
        with_array!(self, array => dtype_of(array))
    }

    /// Returns the shape. It is empty for a single number.
    pub fn shape(&self) -> &[usize] {
        with_array!(self, array => array.shape())
    }

    /// Returns the array, if its elements are of type `T`.
    pub fn array<T: Number>(&self) -> Option<&ArrayD<T>> {
        T::array(self)
    }

    /// Returns the numbers one by one, last index fastest.
    pub fn scalars(&self) -> Box<dyn Iterator<Item = Scalar> + '_> {
        with_array!(self, array => Box::new(array.iter().map(|v| v.scalar())))
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Values", 3)?;
        out.serialize_field("dtype", self.dtype().name())?;
        out.serialize_field("shape", self.shape())?;
        out.serialize_field("values", &Flat(self))?;
        out.end()
    }
}

struct Flat<'a>(&'a Values);

impl Serialize for Flat<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.scalars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, ShapeBuilder, array};
    use num_complex::Complex;

    #[test]
    fn copy_of_a_fortran_array_is_in_c_order() {
        let fortran = Array2::from_shape_vec((2, 2).f(), vec![1, 2, 3, 4]);
        let values = Values::copy_of(fortran.unwrap().into_dyn().view());
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(
            json,
            r#"{"dtype":"int32","shape":[2,2],"values":[1,3,2,4]}"#
        );
        assert!(values.array::<i32>().unwrap().is_standard_layout());
        assert!(values.array::<u32>().is_none());
    }

    #[test]
    fn complex_numbers_are_written_as_parts() {
        let z = array![Complex::new(1.5f32, -2.0)].into_dyn();
        let json = serde_json::to_string(&Values::copy_of(z.view())).unwrap();
        assert_eq!(
            json,
            r#"{"dtype":"complex64","shape":[1],"values":[{"re":1.5,"im":-2.0}]}"#
        );
    }
}
