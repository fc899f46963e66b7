//! Element types: every integer and float type of the field's languages, and complex.

use num_complex::Complex;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one component of a field's element. Little-endian, as the machine is.
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
    /// Every dtype, for tests and listings.
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

    /// Size of one component in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C32 => 8,
            DType::C64 => 16,
        }
    }

    /// The name numpy gives it (`float64`, `complex64`, ...): used in `--json` and messages.
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

    /// Whether values are complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C32 | DType::C64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that fields can be made of.
///
/// # Safety
/// The type's size must be `DTYPE.size()`, its alignment at most 16 (fields start on pages), and every bit
/// pattern must be a value: what `bytemuck::Pod` promises.
pub unsafe trait Element: bytemuck::Pod + Send + Sync + fmt::Debug {
    /// The dtype that describes this type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $d:ident),* $(,)?) => {$(
        // SAFETY: primitive numbers (and pairs of them) are Pod; the constant below checks the size.
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
