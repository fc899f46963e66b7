//! Element types: the integer and float types of all supported languages, and complex numbers.

use num_complex::Complex;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one component of a field. Values are little-endian, as on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// Complex of two `f32` (real, imaginary): numpy `complex64`.
    C32,
    /// Complex of two `f64` (real, imaginary): numpy `complex128`.
    C64,
}

impl DType {
    /// All dtypes, for tests and lists.
    pub const ALL: [DType; 12] = [
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F32,
        DType::F64,
        DType::C32,
        DType::C64,
    ];

    /// Returns the size of one component in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C32 => 8,
            DType::C64 => 16,
        }
    }

    /// Returns the alignment of one component in bytes.
    pub const fn align(self) -> usize {
        match self {
            DType::C32 | DType::C64 => self.size() / 2,
            _ => self.size(),
        }
    }

    /// Returns the name in numpy (`float64`, `complex64`, ...), which `--json` and messages use.
    pub const fn name(self) -> &'static str {
        match self {
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::C32 => "complex64",
            DType::C64 => "complex128",
        }
    }

    /// Returns true if the values are complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C32 | DType::C64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that can be the element of a field.
///
/// # Safety
/// The size of the type must be `DTYPE.size()`, and its alignment at most 16 (fields start at the
/// beginning of pages). Every bit pattern must be a value, as `bytemuck::Pod` promises.
pub unsafe trait Element: bytemuck::Pod + Send + Sync + fmt::Debug {
    /// The dtype that describes this type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $d:ident),* $(,)?) => {$(
        // SAFETY: primitive numbers and pairs of them are Pod, and their alignment is at most 16.
        // The constant below checks the size.
        unsafe impl Element for $t {
            const DTYPE: DType = DType::$d;
        }
        const _: () = assert!(size_of::<$t>() == DType::$d.size());
    )*};
}

element! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, Complex<f32> => C32, Complex<f64> => C64,
}
