//! Random fields, and the reference that reads their values by plain index arithmetic.

use crate::number::{Scalar, modulus};
use proptest::prelude::*;
use tcasm_core::field::{DType, FieldDesc, Order};

/// The kind of numbers in a field.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// Numbers between -1000 and 1000 (integers: -100 to 100, unsigned ones wrapped).
    Finite,
    /// As `Finite`, but three in seven floats are NaN or infinite.
    NonFinite,
    /// Random bits.
    AnyBits,
}

/// A field with its bytes.
#[derive(Clone)]
pub struct Sample {
    pub desc: FieldDesc,
    content: Content,
    seed: u64,
    /// The bytes, in words so that they are aligned.
    words: Vec<u64>,
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} of {:?}", self.content, self.seed, self.desc)
    }
}

impl Sample {
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.desc.bytes() as usize]
    }

    /// Returns the components of each interior point, in index order (last index fastest).
    pub fn points(&self) -> Vec<Vec<Scalar>> {
        let shape = self.desc.interior_shape();
        let count: usize = shape.iter().product();
        (0..count)
            .map(|number| self.point(number, &shape))
            .collect()
    }

    fn point(&self, mut number: usize, shape: &[usize]) -> Vec<Scalar> {
        let dims = shape.len();
        let mut index = vec![0; dims];
        for axis in (0..dims).rev() {
            index[axis] = number % shape[axis] + self.desc.ghosts[axis][0];
            number /= shape[axis];
        }
        let full = &self.desc.shape;
        let slow_first: Vec<usize> = match self.desc.order {
            Order::C => (0..dims).collect(),
            Order::F => (0..dims).rev().collect(),
        };
        let place = slow_first
            .iter()
            .fold(0, |place, &axis| place * full[axis] + index[axis]);
        let components = self.desc.components;
        (0..components)
            .map(|c| self.element(place * components + c))
            .collect()
    }

    fn element(&self, number: usize) -> Scalar {
        let size = self.desc.dtype.size();
        scalar(
            self.desc.dtype,
            &self.bytes()[number * size..(number + 1) * size],
        )
    }

    /// Returns the values of each component, and the magnitudes if there are several components.
    pub fn lanes(&self) -> Vec<Vec<Scalar>> {
        let points = self.points();
        let n = self.desc.components;
        let mut lanes: Vec<Vec<Scalar>> = (0..n)
            .map(|c| points.iter().map(|p| p[c]).collect())
            .collect();
        if n > 1 {
            let norm = |p: &Vec<Scalar>| p.iter().fold(0.0, |n, v| modulus(n, v.to_f64().abs()));
            lanes.push(points.iter().map(|p| Scalar::Float(norm(p))).collect());
        }
        lanes
    }
}

fn scalar(dtype: DType, bytes: &[u8]) -> Scalar {
    macro_rules! le {
        ($t:ty, $b:expr) => {
            <$t>::from_le_bytes($b.try_into().unwrap())
        };
    }
    match dtype {
        DType::I8 => Scalar::Int(le!(i8, bytes).into()),
        DType::I16 => Scalar::Int(le!(i16, bytes).into()),
        DType::I32 => Scalar::Int(le!(i32, bytes).into()),
        DType::I64 => Scalar::Int(le!(i64, bytes)),
        DType::U8 => Scalar::UInt(le!(u8, bytes).into()),
        DType::U16 => Scalar::UInt(le!(u16, bytes).into()),
        DType::U32 => Scalar::UInt(le!(u32, bytes).into()),
        DType::U64 => Scalar::UInt(le!(u64, bytes)),
        DType::F32 => Scalar::Float(le!(f32, bytes).into()),
        DType::F64 => Scalar::Float(le!(f64, bytes)),
        DType::C32 => {
            let (re, im) = (le!(f32, bytes[..4]).into(), le!(f32, bytes[4..]).into());
            Scalar::Complex { re, im }
        }
        DType::C64 => {
            let (re, im) = (le!(f64, bytes[..8]), le!(f64, bytes[8..]));
            Scalar::Complex { re, im }
        }
    }
}

/// Returns fields with 1 to 4 axes, of all dtypes, orders, ghost layers and contents.
pub fn samples() -> impl Strategy<Value = Sample> {
    let axis = (1usize..6, 0usize..3, 0usize..3);
    let content = prop_oneof![
        Just(Content::Finite),
        Just(Content::NonFinite),
        Just(Content::AnyBits)
    ];
    (
        proptest::sample::select(DType::ALL.to_vec()),
        proptest::collection::vec(axis, 1..=4),
        any::<bool>(),
        1usize..4,
        content,
        any::<u64>(),
    )
        .prop_map(|(dtype, axes, fortran, components, content, seed)| {
            let shape: Vec<usize> = axes.iter().map(|(n, a, b)| n + a + b).collect();
            let mut desc = FieldDesc::new("sample", dtype, &shape);
            desc.ghosts = axes.iter().map(|&(_, a, b)| [a, b]).collect();
            desc.order = if fortran { Order::F } else { Order::C };
            desc.components = components;
            desc.check().unwrap();
            fill(desc, content, seed)
        })
}

/// Returns a field with random content.
pub fn fill(desc: FieldDesc, content: Content, seed: u64) -> Sample {
    let bytes = desc.bytes() as usize;
    let mut state = seed;
    let mut out = Vec::with_capacity(bytes + 16);
    while out.len() < bytes {
        out.extend(part(desc.dtype, content, &mut state));
    }
    out.resize(bytes.next_multiple_of(8), 0);
    Sample {
        desc,
        content,
        seed,
        words: out
            .chunks_exact(8)
            .map(|b| u64::from_ne_bytes(b.try_into().unwrap()))
            .collect(),
    }
}

/// Returns the bytes of one number, or of one part of a complex number.
fn part(dtype: DType, content: Content, seed: &mut u64) -> Vec<u8> {
    let bits = random(seed);
    let float = match content {
        Content::NonFinite if bits.is_multiple_of(7) => f64::NAN,
        Content::NonFinite if bits % 7 == 1 => f64::INFINITY,
        Content::NonFinite if bits % 7 == 2 => f64::NEG_INFINITY,
        _ => (bits >> 11) as f64 / (1u64 << 53) as f64 * 2000.0 - 1000.0,
    };
    let any_bits = matches!(content, Content::AnyBits);
    match dtype {
        DType::F32 | DType::C32 if any_bits => bits.to_le_bytes()[..4].to_vec(),
        DType::F32 | DType::C32 => (float as f32).to_le_bytes().to_vec(),
        DType::F64 | DType::C64 if any_bits => bits.to_le_bytes().to_vec(),
        DType::F64 | DType::C64 => float.to_le_bytes().to_vec(),
        _ if any_bits => bits.to_le_bytes()[..dtype.size()].to_vec(),
        _ => (bits as i64 % 101).to_le_bytes()[..dtype.size()].to_vec(),
    }
}

/// Returns the next number of the generator SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
