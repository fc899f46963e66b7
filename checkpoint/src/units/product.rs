//! Products of units, and their meaning.

/// The meaning of a unit in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Si {
    /// The factor that converts values to SI, positive.
    pub factor: f64,
    /// The powers of the SI base units, in the order of openPMD: length, mass, time, electric
    /// current, temperature, amount of substance, luminous intensity.
    pub dimension: [f64; 7],
}

impl Si {
    /// The meaning of numbers without a unit.
    pub const ONE: Si = Si {
        factor: 1.0,
        dimension: [0.0; 7],
    };

    /// The metre.
    pub const METRE: Si = Si {
        factor: 1.0,
        dimension: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    };
}

/// A product of units. Its factor is `mantissa * 10^power`: the powers of ten are added as whole
/// numbers, so that prefixes cause no rounding errors.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub(super) mantissa: f64,
    pub(super) power: f64,
    pub(super) dimension: [f64; 7],
}

impl Product {
    /// Returns the number `mantissa * 10^power`.
    pub(super) fn number(mantissa: f64, power: f64) -> Self {
        Product {
            mantissa,
            power,
            dimension: [0.0; 7],
        }
    }

    /// Returns the product of both.
    pub(super) fn times(self, other: Self) -> Self {
        Product {
            mantissa: self.mantissa * other.mantissa,
            power: self.power + other.power,
            dimension: std::array::from_fn(|i| self.dimension[i] + other.dimension[i]),
        }
    }

    /// Returns the power with the exponent `n`.
    pub(super) fn to_the(self, n: f64) -> Self {
        let power = self.power * n;
        let (mantissa, power) = match n.fract() == 0.0 {
            true => (self.mantissa.powi(n as i32), power),
            false => (
                self.mantissa.powf(n) * 10f64.powf(power.fract()),
                power.trunc(),
            ),
        };
        Product {
            mantissa,
            power,
            dimension: self.dimension.map(|exponent| exponent * n),
        }
    }

    /// Returns the meaning, or `None` if the factor is no number that can be used.
    pub(super) fn si(self) -> Option<Si> {
        // Decimal text is rounded only once.
        let factor: f64 = format!("{}e{}", self.mantissa, self.power).parse().ok()?;
        let is_usable = factor.is_normal() && factor > 0.0;
        is_usable.then_some(Si {
            factor,
            // Adding 0 makes -0 a 0.
            dimension: self.dimension.map(|exponent| exponent + 0.0),
        })
    }
}
