//! The meaning of units in SI.
//!
//! A text is a product of terms: `kg m^-3`, `J/(kg K)`, `nm/ps`, `10^-6 m`, `kg.m2.s-1`. Terms are
//! joined by spaces, `*`, `.` and `/`. A term is a number, a symbol of [`symbols`], which may have
//! an SI prefix, or a product in parentheses. A power follows `^` or `**`, or, if it is a whole
//! number, the symbol itself. A text that could mean two things, such as `J/kg K`, means nothing
//! here: a wrong factor is worse than none.

mod parser;
mod symbols;
#[cfg(test)]
mod tests;

/// The longest text in bytes that is taken for a unit.
const LONGEST: usize = 256;

/// The texts that would be products, but are something else: temperatures with another zero.
const NO_PRODUCTS: [&str; 4] = ["deg C", "deg F", "degree C", "degree F"];

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

/// Returns the meaning of the unit `text`, or `None` if it is not known. An empty text is 1.
pub fn parse(text: &str) -> Option<Si> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Si::ONE);
    }
    if text.len() > LONGEST || NO_PRODUCTS.contains(&text) {
        return None;
    }
    parser::parse(&plain_powers(text))?.si()
}

/// Returns `text` with `^` and digits in place of raised digits.
fn plain_powers(text: &str) -> String {
    const RAISED: &str =
        "\u{2070}\u{b9}\u{b2}\u{b3}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}\u{207b}";
    const PLAIN: &str = "0123456789-";
    let mut plain = String::with_capacity(text.len());
    let mut was_raised = false;
    for c in text.chars() {
        let digit = RAISED.chars().zip(PLAIN.chars()).find(|(r, _)| *r == c);
        if digit.is_some() && !was_raised {
            plain.push('^');
        }
        plain.push(digit.map_or(c, |(_, plain)| plain));
        was_raised = digit.is_some();
    }
    plain
}

/// A product of units. Its factor is `mantissa * 10^power`: the powers of ten are added as whole
/// numbers, so that prefixes cause no rounding errors.
#[derive(Clone, Copy, Debug)]
struct Product {
    mantissa: f64,
    power: f64,
    dimension: [f64; 7],
}

impl Product {
    fn number(mantissa: f64, power: f64) -> Self {
        Product {
            mantissa,
            power,
            dimension: [0.0; 7],
        }
    }

    fn times(self, other: Self) -> Self {
        Product {
            mantissa: self.mantissa * other.mantissa,
            power: self.power + other.power,
            dimension: std::array::from_fn(|i| self.dimension[i] + other.dimension[i]),
        }
    }

    fn to_the(self, n: f64) -> Self {
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
    fn si(self) -> Option<Si> {
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
