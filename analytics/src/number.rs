//! Numbers and arrays of results, and the properties of a dtype that operators need: its order, its
//! arithmetic, NaN and infinity.

use ndarray::ArrayD;
use num_complex::Complex;
use serde::Serialize;
use std::fmt;
use std::ops::{Add, Mul, Sub};
use tcasm_core::field::Element;

/// One number of a result, as exact as its dtype.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// From a signed integer dtype.
    Int(i64),
    /// From an unsigned integer dtype.
    UInt(u64),
    /// From a float dtype, a modulus or a mean.
    Float(f64),
    /// From a complex dtype.
    Complex {
        /// Real part.
        re: f64,
        /// Imaginary part.
        im: f64,
    },
}

impl Scalar {
    /// Returns the nearest `f64`. For a complex number this is the modulus.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Int(v) => v as f64,
            Scalar::UInt(v) => v as f64,
            Scalar::Float(v) => v,
            Scalar::Complex { re, im } => modulus(re, im),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(v) => v.fmt(f),
            Scalar::UInt(v) => v.fmt(f),
            Scalar::Float(v) => v.fmt(f),
            Scalar::Complex { re, im } => Complex::new(*re, *im).fmt(f),
        }
    }
}

/// An array of numbers of any dtype, in C order. As JSON: `{"dtype", "shape", "values"}`, with the
/// values in one flat list.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The variants are the dtypes.
pub enum Values {
    I8(ArrayD<i8>),
    I16(ArrayD<i16>),
    I32(ArrayD<i32>),
    I64(ArrayD<i64>),
    U8(ArrayD<u8>),
    U16(ArrayD<u16>),
    U32(ArrayD<u32>),
    U64(ArrayD<u64>),
    F32(ArrayD<f32>),
    F64(ArrayD<f64>),
    C32(ArrayD<Complex<f32>>),
    C64(ArrayD<Complex<f64>>),
}

/// An element type that operators work on: every [`Element`] of the field table.
pub trait Number: Element + PartialEq {
    /// The type that min, max and histograms compare: the type itself, or `f64` for the modulus of
    /// complex types.
    type Key: Key;
    /// The type of sums: `f64` or a complex number of `f64`.
    type Wide: Wide;

    /// Returns the number for comparisons.
    fn key(self) -> Self::Key;
    /// Returns the number for sums.
    fn wide(self) -> Self::Wide;
    /// Returns true if the number, or a part of it, is NaN.
    fn is_nan(self) -> bool;
    /// Returns true if the number (both of its parts) is finite.
    fn is_finite(self) -> bool;
    /// Returns the number as a [`Scalar`], which has no type parameter.
    fn scalar(self) -> Scalar;
    /// Converts an array to [`Values`], which have no type parameter.
    fn values(array: ArrayD<Self>) -> Values;
    /// Returns the array in `values`, if its elements have this type.
    fn array(values: &Values) -> Option<&ArrayD<Self>>;
}

/// A totally ordered value. It must not be NaN.
pub trait Key: Copy + PartialOrd + Send + Sync + Into<Scalar> {
    /// A value that is not above any finite value.
    const LOWEST: Self;
    /// A value that is not below any finite value.
    const HIGHEST: Self;
    /// Returns the nearest `f64`.
    fn to_f64(self) -> f64;
}

/// A number with the arithmetic for sums.
pub trait Wide:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<f64, Output = Self>
    + Into<Scalar>
{
    /// Zero.
    const ZERO: Self;
    /// Returns the square of the modulus.
    fn norm_sqr(self) -> f64;
    /// Returns the modulus.
    fn modulus(self) -> f64;
    /// Returns true if every part is finite.
    fn finite(self) -> bool;
    /// Returns the nearest finite value. The number must not be NaN.
    fn clamped(self) -> Self;
}

/// Returns `sqrt(a^2 + b^2)`, or NaN if `a` or `b` is NaN. It is as fast as a square root, unless
/// the squares would overflow or lose digits.
pub fn modulus(a: f64, b: f64) -> f64 {
    let square = a * a + b * b;
    if (1e-280..1e280).contains(&square) || square.is_nan() {
        square.sqrt()
    } else {
        a.hypot(b)
    }
}

impl Wide for f64 {
    const ZERO: f64 = 0.0;
    fn norm_sqr(self) -> f64 {
        self * self
    }
    fn modulus(self) -> f64 {
        self.abs()
    }
    fn finite(self) -> bool {
        self.is_finite()
    }
    fn clamped(self) -> f64 {
        self.clamp(f64::MIN, f64::MAX)
    }
}

impl Wide for Complex<f64> {
    const ZERO: Self = Complex::new(0.0, 0.0);
    fn norm_sqr(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
    fn modulus(self) -> f64 {
        modulus(self.re, self.im)
    }
    fn finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    fn clamped(self) -> Self {
        Complex::new(self.re.clamped(), self.im.clamped())
    }
}

impl From<Complex<f64>> for Scalar {
    fn from(z: Complex<f64>) -> Self {
        let Complex { re, im } = z;
        Scalar::Complex { re, im }
    }
}

macro_rules! key {
    ($($t:ty => $scalar:ident, $lowest:expr, $highest:expr;)*) => {$(
        impl From<$t> for Scalar {
            fn from(v: $t) -> Self {
                Scalar::$scalar(v.into())
            }
        }
        impl Key for $t {
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

key! {
    i8 => Int, i8::MIN, i8::MAX; i16 => Int, i16::MIN, i16::MAX;
    i32 => Int, i32::MIN, i32::MAX; i64 => Int, i64::MIN, i64::MAX;
    u8 => UInt, u8::MIN, u8::MAX; u16 => UInt, u16::MIN, u16::MAX;
    u32 => UInt, u32::MIN, u32::MAX; u64 => UInt, u64::MIN, u64::MAX;
    f32 => Float, f32::NEG_INFINITY, f32::INFINITY;
    f64 => Float, f64::NEG_INFINITY, f64::INFINITY;
}

macro_rules! number {
    ($(
        $t:ty => $dtype:ident, $key:ty, $wide:ty,
        |$v:ident| $to_key:expr, $to_wide:expr, $nan:expr, $finite:expr;
    )*) => {$(
        impl Number for $t {
            type Key = $key;
            type Wide = $wide;
            fn key(self) -> $key {
                let $v = self;
                $to_key
            }
            fn wide(self) -> $wide {
                let $v = self;
                $to_wide
            }
            fn is_nan(self) -> bool {
                let $v = self;
                $nan
            }
            fn is_finite(self) -> bool {
                let $v = self;
                $finite
            }
            fn scalar(self) -> Scalar {
                self.into()
            }
            fn values(array: ArrayD<Self>) -> Values {
                Values::$dtype(array)
            }
            fn array(values: &Values) -> Option<&ArrayD<Self>> {
                match values {
                    Values::$dtype(array) => Some(array),
                    _ => None,
                }
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty => $dtype:ident),* $(,)?) => {
        number! {$(
            $t => $dtype, $t, f64,
            |v| v, v as f64, { let _ = v; false }, { let _ = v; true };
        )*}
    };
}

impl From<Complex<f32>> for Scalar {
    fn from(z: Complex<f32>) -> Self {
        z.wide().into()
    }
}

integers! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
}
number! {
    f32 => F32, f32, f64,
        |v| v, v as f64, f32::is_nan(v), f32::is_finite(v);
    f64 => F64, f64, f64,
        |v| v, v, f64::is_nan(v), f64::is_finite(v);
    Complex<f32> => C32, f64, Complex<f64>,
        |z| Wide::modulus(z.wide()), Complex::new(z.re.into(), z.im.into()),
        z.re.is_nan() || z.im.is_nan(), z.re.is_finite() && z.im.is_finite();
    Complex<f64> => C64, f64, Complex<f64>,
        |z| modulus(z.re, z.im), z,
        z.re.is_nan() || z.im.is_nan(), z.re.is_finite() && z.im.is_finite();
}
