//! The meaning of units in SI.
//!
//! A text is a product of terms: `kg m^-3`, `J/(kg K)`, `nm/ps`, `10^-6 m`, `kg.m2.s-1`. Terms are
//! joined by spaces, `*`, `.` and `/`. A term is a number, a symbol of [`symbols`], which may have
//! an SI prefix, or a product in parentheses. A power follows `^` or `**`, or, if it is a whole
//! number, the symbol itself. A text that could mean two things, such as `J/kg K`, means nothing
//! here: a wrong factor is worse than none.

mod parser;
mod product;
mod symbols;
#[cfg(test)]
mod tests;

pub use product::Si;

/// The longest text in bytes that is taken for a unit.
const LONGEST: usize = 256;

/// The texts that would be products, but are something else: temperatures with another zero.
const NO_PRODUCTS: [&str; 4] = ["deg C", "deg F", "degree C", "degree F"];

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
