//! The parser of units. It reads a text from left to right, and gives up where it does not
//! understand it.

use super::product::Product;
use super::symbols;

/// The largest depth of parentheses.
const DEEPEST: usize = 8;

/// The largest power.
const HIGHEST: f64 = 99.0;

/// The sign between two terms.
enum Joint {
    /// `*`.
    Times,
    /// `/`.
    Over,
    /// A space or a dot.
    Beside,
}

struct Parser<'t> {
    /// The part of the text that is not read yet.
    rest: &'t str,
    depth: usize,
}

/// Returns the unit that all of `text` is.
pub fn parse(text: &str) -> Option<Product> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
    };
    let product = parser.product()?;
    parser.rest.is_empty().then_some(product)
}

impl Parser<'_> {
    /// Reads terms up to the end or a closing parenthesis.
    fn product(&mut self) -> Option<Product> {
        let mut product = self.term()?;
        let mut is_divided = false;
        while let Some(joint) = self.joint() {
            let term = self.term()?;
            product = match joint {
                // `J/kg K` may be `J/(kg K)` or `(J/kg) K`.
                Joint::Beside if is_divided => return None,
                Joint::Beside | Joint::Times => product.times(term),
                Joint::Over => {
                    is_divided = true;
                    product.times(term.to_the(-1.0))
                }
            };
        }
        Some(product)
    }

    /// Reads the sign before the next term. Returns `None` if no term follows.
    fn joint(&mut self) -> Option<Joint> {
        let rest = self.rest.trim_start();
        let has_space = rest.len() < self.rest.len();
        self.rest = rest;
        let first = rest.chars().next()?;
        let joint = match first {
            '/' => Joint::Over,
            '*' | '\u{d7}' => Joint::Times,
            '.' | '\u{b7}' | '\u{22c5}' => Joint::Beside,
            ')' => return None,
            _ => return has_space.then_some(Joint::Beside),
        };
        self.rest = rest[first.len_utf8()..].trim_start();
        Some(joint)
    }

    /// Reads a number, a symbol or a product in parentheses, and its power.
    fn term(&mut self) -> Option<Product> {
        if self.take('(') {
            let product = self.inner()?;
            return Some(product.to_the(self.power()?.unwrap_or(1.0)));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let number = self.number()?;
            return Some(number.to_the(self.power()?.unwrap_or(1.0)));
        }
        let end = self.rest.find(|c: char| !is_letter(c));
        let (symbol, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let unit = symbols::find(symbol)?;
        let power = match self.power()? {
            Some(power) => power,
            None => self.attached_power()?,
        };
        Some(unit.to_the(power))
    }

    /// Reads the product after an opening parenthesis, and the closing one.
    fn inner(&mut self) -> Option<Product> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        self.rest = self.rest.trim_start();
        let product = self.product()?;
        self.depth -= 1;
        self.take(')').then_some(product)
    }

    /// Reads a number such as `10`, `2.5` or `1e-9`.
    fn number(&mut self) -> Option<Product> {
        let mantissa = self.decimal()?;
        let power = match self.take('e') || self.take('E') {
            true => self.whole()?,
            false => 0.0,
        };
        Some(Product::number(mantissa, power))
    }

    /// Reads a power after `^` or `**`. Returns `Some(None)` if there is none.
    fn power(&mut self) -> Option<Option<f64>> {
        let marked = ["^", "**"].iter().find_map(|m| self.rest.strip_prefix(*m));
        let Some(rest) = marked else {
            return Some(None);
        };
        self.rest = rest;
        let power = match self.take('(') {
            true => self.fraction()?,
            false => self.signed()?,
        };
        (power.abs() <= HIGHEST).then_some(Some(power))
    }

    /// Reads a power such as `3/2`, and the closing parenthesis.
    fn fraction(&mut self) -> Option<f64> {
        let mut power = self.signed()?;
        if self.take('/') {
            power /= self.decimal()?;
        }
        self.take(')').then_some(power)
    }

    /// Reads a whole number right after a symbol, as in `m2` and `s-1`. Returns 1 if there is none.
    fn attached_power(&mut self) -> Option<f64> {
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        match digits.starts_with(|c: char| c.is_ascii_digit()) {
            true => self.whole().filter(|power| power.abs() <= HIGHEST),
            false => Some(1.0),
        }
    }

    /// Reads a number without decimals.
    fn whole(&mut self) -> Option<f64> {
        self.signed().filter(|number| number.fract() == 0.0)
    }

    /// Reads a decimal number that may have a sign.
    fn signed(&mut self) -> Option<f64> {
        let sign = if self.take('-') { -1.0 } else { 1.0 };
        if sign > 0.0 {
            self.take('+');
        }
        Some(sign * self.decimal()?)
    }

    /// Reads a decimal number. A point that no digit follows is not part of it.
    fn decimal(&mut self) -> Option<f64> {
        let digits = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit());
            end.unwrap_or(text.len())
        };
        let mut end = digits(self.rest);
        let decimals = self.rest[end..].strip_prefix('.').map_or(0, digits);
        if end > 0 && decimals > 0 {
            end += 1 + decimals;
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().ok()
    }

    /// Reads `c` if it comes next.
    fn take(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// Returns true if `c` can be part of a symbol.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '%' | '\u{b0}')
}
