//! The symbols of units: SI, and those that codes of physics use beside it. Constants of nature
//! have the values of CODATA 2022.

use super::product::Product;
use std::f64::consts::PI;

/// The prefixes, and the powers of ten that they stand for.
const PREFIXES: [(&str, i8); 26] = [
    ("Q", 30),
    ("R", 27),
    ("Y", 24),
    ("Z", 21),
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("h", 2),
    ("da", 1),
    ("d", -1),
    ("c", -2),
    ("m", -3),
    ("u", -6),
    ("\u{b5}", -6),
    ("\u{3bc}", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
    ("a", -18),
    ("z", -21),
    ("y", -24),
    ("r", -27),
    ("q", -30),
];

/// Symbols, the mantissa and the power of ten of their factor, and their dimension.
type Row = (&'static [&'static str], f64, i8, [i8; 7]);

/// The symbols that take prefixes.
#[rustfmt::skip]
const PREFIXED: &[Row] = &[
    (&["m"], 1.0, 0, [1, 0, 0, 0, 0, 0, 0]),
    (&["g"], 1.0, -3, [0, 1, 0, 0, 0, 0, 0]),
    (&["s"], 1.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["A"], 1.0, 0, [0, 0, 0, 1, 0, 0, 0]),
    (&["K"], 1.0, 0, [0, 0, 0, 0, 1, 0, 0]),
    (&["mol"], 1.0, 0, [0, 0, 0, 0, 0, 1, 0]),
    (&["cd"], 1.0, 0, [0, 0, 0, 0, 0, 0, 1]),
    (&["rad", "sr"], 1.0, 0, [0, 0, 0, 0, 0, 0, 0]),
    (&["Hz", "Bq"], 1.0, 0, [0, 0, -1, 0, 0, 0, 0]),
    (&["N"], 1.0, 0, [1, 1, -2, 0, 0, 0, 0]),
    (&["Pa"], 1.0, 0, [-1, 1, -2, 0, 0, 0, 0]),
    (&["J"], 1.0, 0, [2, 1, -2, 0, 0, 0, 0]),
    (&["W"], 1.0, 0, [2, 1, -3, 0, 0, 0, 0]),
    (&["C"], 1.0, 0, [0, 0, 1, 1, 0, 0, 0]),
    (&["V"], 1.0, 0, [2, 1, -3, -1, 0, 0, 0]),
    (&["F"], 1.0, 0, [-2, -1, 4, 2, 0, 0, 0]),
    (&["ohm", "Ohm", "\u{3a9}", "\u{2126}"], 1.0, 0, [2, 1, -3, -2, 0, 0, 0]),
    (&["S"], 1.0, 0, [-2, -1, 3, 2, 0, 0, 0]),
    (&["Wb"], 1.0, 0, [2, 1, -2, -1, 0, 0, 0]),
    (&["T"], 1.0, 0, [0, 1, -2, -1, 0, 0, 0]),
    (&["H"], 1.0, 0, [2, 1, -2, -2, 0, 0, 0]),
    (&["lm"], 1.0, 0, [0, 0, 0, 0, 0, 0, 1]),
    (&["lx"], 1.0, 0, [-2, 0, 0, 0, 0, 0, 1]),
    (&["Gy", "Sv"], 1.0, 0, [2, 0, -2, 0, 0, 0, 0]),
    (&["kat"], 1.0, 0, [0, 0, -1, 0, 0, 1, 0]),
    (&["L", "l"], 1.0, -3, [3, 0, 0, 0, 0, 0, 0]),
    (&["bar"], 1.0, 5, [-1, 1, -2, 0, 0, 0, 0]),
    (&["eV"], 1.602_176_634, -19, [2, 1, -2, 0, 0, 0, 0]),
    (&["cal"], 4.184, 0, [2, 1, -2, 0, 0, 0, 0]),
    (&["Wh"], 3600.0, 0, [2, 1, -2, 0, 0, 0, 0]),
    (&["Da"], 1.660_539_068_92, -27, [0, 1, 0, 0, 0, 0, 0]),
    (&["G"], 1.0, -4, [0, 1, -2, -1, 0, 0, 0]),
    (&["P"], 1.0, -1, [-1, 1, -1, 0, 0, 0, 0]),
    (&["St"], 1.0, -4, [2, 0, -1, 0, 0, 0, 0]),
    (&["barn"], 1.0, -28, [2, 0, 0, 0, 0, 0, 0]),
    (&["yr"], 31_557_600.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["pc"], 648_000.0 * 149_597_870_700.0 / PI, 0, [1, 0, 0, 0, 0, 0, 0]),
];

/// The symbols and names that take no prefixes.
#[rustfmt::skip]
const PLAIN: &[Row] = &[
    (&["min", "minute", "minutes"], 60.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["h", "hr", "hour", "hours"], 3600.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["d", "day", "days"], 86400.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["year", "years"], 31_557_600.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["sec", "second", "seconds"], 1.0, 0, [0, 0, 1, 0, 0, 0, 0]),
    (&["meter", "meters", "metre", "metres"], 1.0, 0, [1, 0, 0, 0, 0, 0, 0]),
    (&["micron", "microns"], 1.0, -6, [1, 0, 0, 0, 0, 0, 0]),
    (&["Angstrom", "angstrom", "Ang", "\u{c5}", "\u{212b}"], 1.0, -10, [1, 0, 0, 0, 0, 0, 0]),
    (&["bohr", "Bohr"], 5.291_772_105_44, -11, [1, 0, 0, 0, 0, 0, 0]),
    (&["AU"], 149_597_870_700.0, 0, [1, 0, 0, 0, 0, 0, 0]),
    (&["ly"], 9_460_730_472_580_800.0, 0, [1, 0, 0, 0, 0, 0, 0]),
    (&["t"], 1.0, 3, [0, 1, 0, 0, 0, 0, 0]),
    (&["u", "amu"], 1.660_539_068_92, -27, [0, 1, 0, 0, 0, 0, 0]),
    (&["m_e", "me"], 9.109_383_713_9, -31, [0, 1, 0, 0, 0, 0, 0]),
    (&["kelvin", "Kelvin"], 1.0, 0, [0, 0, 0, 0, 1, 0, 0]),
    (&["hartree", "Hartree", "Ha", "E_h"], 4.359_744_722_206, -18, [2, 1, -2, 0, 0, 0, 0]),
    (&["Ry", "rydberg", "Rydberg"], 2.179_872_361_103, -18, [2, 1, -2, 0, 0, 0, 0]),
    (&["erg"], 1.0, -7, [2, 1, -2, 0, 0, 0, 0]),
    (&["dyn"], 1.0, -5, [1, 1, -2, 0, 0, 0, 0]),
    (&["atm"], 101_325.0, 0, [-1, 1, -2, 0, 0, 0, 0]),
    (&["Torr", "torr"], 101_325.0 / 760.0, 0, [-1, 1, -2, 0, 0, 0, 0]),
    (&["Gauss", "gauss"], 1.0, -4, [0, 1, -2, -1, 0, 0, 0]),
    (&["Oe"], 250.0 / PI, 0, [-1, 0, 0, 1, 0, 0, 0]),
    (&["e"], 1.602_176_634, -19, [0, 0, 1, 1, 0, 0, 0]),
    (&["debye", "Debye"], 1.0 / 2.997_924_58, -29, [1, 0, 1, 1, 0, 0, 0]),
    (&["c"], 299_792_458.0, 0, [1, 0, -1, 0, 0, 0, 0]),
    (&["deg", "degree", "degrees", "\u{b0}"], PI / 180.0, 0, [0, 0, 0, 0, 0, 0, 0]),
    (&["arcmin"], PI / 10_800.0, 0, [0, 0, 0, 0, 0, 0, 0]),
    (&["arcsec"], PI / 648_000.0, 0, [0, 0, 0, 0, 0, 0, 0]),
    (&["%", "percent"], 1.0, -2, [0, 0, 0, 0, 0, 0, 0]),
];

/// The symbols that could be read as a prefix and a unit, but are often meant otherwise: the
/// constant of Planck and the gauss.
const AMBIGUOUS: [&str; 2] = ["hbar", "Gs"];

/// Returns the unit with this symbol.
pub fn find(symbol: &str) -> Option<Product> {
    let is_ambiguous = AMBIGUOUS.contains(&symbol);
    let whole = || row(PLAIN, symbol).or_else(|| row(PREFIXED, symbol));
    let with_prefix = |&(prefix, power): &(&str, i8)| {
        let unit = row(PREFIXED, symbol.strip_prefix(prefix)?)?;
        Some(unit.times(Product::number(1.0, power.into())))
    };
    match is_ambiguous {
        true => None,
        false => whole().or_else(|| PREFIXES.iter().find_map(with_prefix)),
    }
}

fn row(rows: &[Row], symbol: &str) -> Option<Product> {
    let row = rows.iter().find(|(symbols, ..)| symbols.contains(&symbol));
    row.map(|&(_, mantissa, power, dimension)| Product {
        mantissa,
        power: power.into(),
        dimension: dimension.map(f64::from),
    })
}

/// Returns all symbols, and whether they take prefixes.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = (&'static str, bool)> {
    let symbols = |rows: &'static [Row], prefixed| {
        let symbols = rows.iter().flat_map(|(symbols, ..)| symbols.iter());
        symbols.map(move |symbol| (*symbol, prefixed))
    };
    symbols(PREFIXED, true).chain(symbols(PLAIN, false))
}

/// Returns all prefixes.
#[cfg(test)]
pub fn prefixes() -> impl Iterator<Item = &'static str> {
    PREFIXES.iter().map(|(prefix, _)| *prefix)
}
