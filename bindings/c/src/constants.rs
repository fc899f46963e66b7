//! Numbers that C passes for choices, and the choices that they stand for.

use crate::status::Failure;
use std::ffi::c_int;
use tcasm_core::field::{Centering, DType, Order};

/// The largest number of dimensions that a `tcasm_array` describes, that of components included.
pub const TCASM_MAX_RANK: usize = 16;

/// Signed 8-bit integer, `int8_t`.
pub const TCASM_I8: c_int = 1;
/// Signed 16-bit integer, `int16_t`.
pub const TCASM_I16: c_int = 2;
/// Signed 32-bit integer, `int32_t`.
pub const TCASM_I32: c_int = 3;
/// Signed 64-bit integer, `int64_t`.
pub const TCASM_I64: c_int = 4;
/// Unsigned 8-bit integer, `uint8_t`.
pub const TCASM_U8: c_int = 5;
/// Unsigned 16-bit integer, `uint16_t`.
pub const TCASM_U16: c_int = 6;
/// Unsigned 32-bit integer, `uint32_t`.
pub const TCASM_U32: c_int = 7;
/// Unsigned 64-bit integer, `uint64_t`.
pub const TCASM_U64: c_int = 8;
/// Single precision, `float`.
pub const TCASM_F32: c_int = 9;
/// Double precision, `double`.
pub const TCASM_F64: c_int = 10;
/// Complex of two `float`, real and imaginary.
pub const TCASM_C32: c_int = 11;
/// Complex of two `double`, real and imaginary.
pub const TCASM_C64: c_int = 12;
/// The last index varies fastest, as in C. A 3-d shape is `{nz, ny, nx}`.
pub const TCASM_ORDER_C: c_int = 0;
/// The first index varies fastest, as in Fortran. A 3-d shape is `{nx, ny, nz}`.
pub const TCASM_ORDER_F: c_int = 1;
/// Values on the points of the mesh.
pub const TCASM_ON_POINTS: c_int = 0;
/// Values in the cells of the mesh.
pub const TCASM_IN_CELLS: c_int = 1;
/// A table that belongs to the mesh as a whole.
pub const TCASM_NO_CENTRING: c_int = 2;

/// Implements the functions between the numbers and the values of a type.
macro_rules! numbers {
    ($what:literal, $type:ty, $from:ident, $to:ident: $($name:ident => $value:path,)+) => {
        pub fn $from(number: c_int) -> Result<$type, Failure> {
            match number {
                $($name => Ok($value),)+
                _ => Err(Failure::argument(format!("{number} is no {}", $what))),
            }
        }

        pub fn $to(value: $type) -> c_int {
            match value {
                $($value => $name,)+
            }
        }
    };
}

numbers! {
    "dtype (TCASM_F64 and the like)", DType, dtype, dtype_number:
    TCASM_I8 => DType::I8,
    TCASM_I16 => DType::I16,
    TCASM_I32 => DType::I32,
    TCASM_I64 => DType::I64,
    TCASM_U8 => DType::U8,
    TCASM_U16 => DType::U16,
    TCASM_U32 => DType::U32,
    TCASM_U64 => DType::U64,
    TCASM_F32 => DType::F32,
    TCASM_F64 => DType::F64,
    TCASM_C32 => DType::C32,
    TCASM_C64 => DType::C64,
}

numbers! {
    "order (TCASM_ORDER_C or TCASM_ORDER_F)", Order, order, order_number:
    TCASM_ORDER_C => Order::C,
    TCASM_ORDER_F => Order::F,
}

numbers! {
    "centring (TCASM_ON_POINTS, TCASM_IN_CELLS or TCASM_NO_CENTRING)",
    Centering, centring, centring_number:
    TCASM_ON_POINTS => Centering::Point,
    TCASM_IN_CELLS => Centering::Cell,
    TCASM_NO_CENTRING => Centering::None,
}

/// Reads a flag: 0 or 1.
pub fn flag(value: i64, what: &str) -> Result<bool, Failure> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::argument(format!("{what} is {value}, not 0 or 1"))),
    }
}

/// Reads a number that is not negative.
pub fn unsigned<T: TryFrom<i64>>(value: i64, what: &str) -> Result<T, Failure> {
    T::try_from(value).map_err(|_| Failure::argument(format!("{what} cannot be {value}")))
}
