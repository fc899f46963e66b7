//! Tests of units.

use super::symbols::{all, prefixes};
use super::{Si, parse};
use proptest::prelude::*;
use std::collections::HashSet;

/// Units with their factors, which must be exact, and their dimensions.
#[rustfmt::skip]
const EXACT: &[(&str, f64, [i8; 7])] = &[
    ("", 1.0, [0, 0, 0, 0, 0, 0, 0]),
    ("1", 1.0, [0, 0, 0, 0, 0, 0, 0]),
    ("m/s", 1.0, [1, 0, -1, 0, 0, 0, 0]),
    ("kg m^-3", 1.0, [-3, 1, 0, 0, 0, 0, 0]),
    ("kg m-3", 1.0, [-3, 1, 0, 0, 0, 0, 0]),
    ("kg.m2.s-1", 1.0, [2, 1, -1, 0, 0, 0, 0]),
    ("kg*m**2/s**2", 1.0, [2, 1, -2, 0, 0, 0, 0]),
    ("eV", 1.602_176_634e-19, [2, 1, -2, 0, 0, 0, 0]),
    ("keV", 1.602_176_634e-16, [2, 1, -2, 0, 0, 0, 0]),
    ("nm/ps", 1e3, [1, 0, -1, 0, 0, 0, 0]),
    ("nm", 1e-9, [1, 0, 0, 0, 0, 0, 0]),
    ("um", 1e-6, [1, 0, 0, 0, 0, 0, 0]),
    ("\u{b5}m", 1e-6, [1, 0, 0, 0, 0, 0, 0]),
    ("\u{3bc}s", 1e-6, [0, 0, 1, 0, 0, 0, 0]),
    ("J/(kg K)", 1.0, [2, 0, -2, 0, -1, 0, 0]),
    ("J / ( kg * K )", 1.0, [2, 0, -2, 0, -1, 0, 0]),
    ("J/kg/K", 1.0, [2, 0, -2, 0, -1, 0, 0]),
    ("W m\u{207b}\u{b2}", 1.0, [0, 1, -3, 0, 0, 0, 0]),
    ("W\u{b7}m\u{207b}\u{b9}\u{22c5}K\u{207b}\u{b9}", 1.0, [1, 1, -3, 0, -1, 0, 0]),
    ("V/m", 1.0, [1, 1, -3, -1, 0, 0, 0]),
    ("T", 1.0, [0, 1, -2, -1, 0, 0, 0]),
    ("G", 1e-4, [0, 1, -2, -1, 0, 0, 0]),
    ("kG", 1e-1, [0, 1, -2, -1, 0, 0, 0]),
    ("Gauss", 1e-4, [0, 1, -2, -1, 0, 0, 0]),
    ("g/cm^3", 1e3, [-3, 1, 0, 0, 0, 0, 0]),
    ("g cm^-2 s^-1", 10.0, [-2, 1, -1, 0, 0, 0, 0]),
    ("(m/s)^2", 1.0, [2, 0, -2, 0, 0, 0, 0]),
    ("((m)^2)^-1", 1.0, [-2, 0, 0, 0, 0, 0, 0]),
    ("1/s", 1.0, [0, 0, -1, 0, 0, 0, 0]),
    ("10^-6 m", 1e-6, [1, 0, 0, 0, 0, 0, 0]),
    ("1e-9 m", 1e-9, [1, 0, 0, 0, 0, 0, 0]),
    ("2.5e3 m", 2500.0, [1, 0, 0, 0, 0, 0, 0]),
    ("u", 1.660_539_068_92e-27, [0, 1, 0, 0, 0, 0, 0]),
    ("Angstrom", 1e-10, [1, 0, 0, 0, 0, 0, 0]),
    ("\u{c5}", 1e-10, [1, 0, 0, 0, 0, 0, 0]),
    ("eV/Angstrom", 1.602_176_634e-9, [1, 1, -2, 0, 0, 0, 0]),
    ("bar", 1e5, [-1, 1, -2, 0, 0, 0, 0]),
    ("mbar", 1e2, [-1, 1, -2, 0, 0, 0, 0]),
    ("atm", 101_325.0, [-1, 1, -2, 0, 0, 0, 0]),
    ("hPa", 1e2, [-1, 1, -2, 0, 0, 0, 0]),
    ("kcal/mol", 4184.0, [2, 1, -2, 0, 0, -1, 0]),
    ("h", 3600.0, [0, 0, 1, 0, 0, 0, 0]),
    ("min", 60.0, [0, 0, 1, 0, 0, 0, 0]),
    ("d", 86400.0, [0, 0, 1, 0, 0, 0, 0]),
    ("Myr", 3.155_76e13, [0, 0, 1, 0, 0, 0, 0]),
    ("L", 1e-3, [3, 0, 0, 0, 0, 0, 0]),
    ("mL", 1e-6, [3, 0, 0, 0, 0, 0, 0]),
    ("mol/L", 1e3, [-3, 0, 0, 0, 0, 1, 0]),
    ("MeV/c", 1.602_176_634e-13 / 299_792_458.0, [1, 1, -1, 0, 0, 0, 0]),
    ("e", 1.602_176_634e-19, [0, 0, 1, 1, 0, 0, 0]),
    ("deg", std::f64::consts::PI / 180.0, [0, 0, 0, 0, 0, 0, 0]),
    ("mrad", 1e-3, [0, 0, 0, 0, 0, 0, 0]),
    ("%", 1e-2, [0, 0, 0, 0, 0, 0, 0]),
    ("Pa s", 1.0, [-1, 1, -1, 0, 0, 0, 0]),
    ("cP", 1e-3, [-1, 1, -1, 0, 0, 0, 0]),
    ("pc", 3.085_677_581_491_367_5e16, [1, 0, 0, 0, 0, 0, 0]),
    ("cd", 1.0, [0, 0, 0, 0, 0, 0, 1]),
    ("dag", 1e-2, [0, 1, 0, 0, 0, 0, 0]),
];

/// Texts that mean nothing, or could mean two things.
#[rustfmt::skip]
const UNKNOWN: &[&str] = &[
    "furlong", "J/kg K", "kg/m.s", "hbar", "Gs", "a.u.", "au", "degC", "deg C", "\u{b0}C", "mb",
    "ft", "Nm", "kkg", "km/", "/s", "m^", "m^x", "m--2", "m-", "m^2^2", "m2.5", "(m", "m)", "()",
    "m(s)", "2m", "1e", "0", "-1", "m^100", "m^(1/0)", "m**", "m,s", "m s /", "1e400", "1e-400",
    "m\0", "arbitrary units", "-",
];

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-14
}

#[test]
fn units_have_their_factors_and_dimensions() {
    for (text, factor, dimension) in EXACT {
        let si = parse(text).unwrap_or_else(|| panic!("{text:?} is not known"));
        let error = (si.factor / factor - 1.0).abs();
        let is_close = error <= 4.0 * f64::EPSILON;
        assert!(is_close, "{text:?}: {} {factor}", si.factor);
        assert_eq!(si.dimension, dimension.map(f64::from), "{text:?}");
    }
    let root = parse("cm^(3/2)").unwrap();
    assert_eq!((root.factor, root.dimension[0]), (1e-3, 1.5));
    assert_eq!(parse("m^0.5").unwrap().dimension[0], 0.5);
}

#[test]
fn prefixes_and_powers_of_ten_cause_no_rounding_errors() {
    for (text, factor) in [
        ("nm/ps", 1e3),
        ("um^3", 1e-18),
        ("fs", 1e-15),
        ("g/cm^3", 1e3),
        ("kJ/(mol nm)", 1e12),
        ("kA/mm^2", 1e9),
    ] {
        assert_eq!(parse(text).unwrap().factor, factor, "{text}");
    }
}

#[test]
fn texts_that_are_not_understood_have_no_meaning() {
    for text in UNKNOWN {
        assert_eq!(parse(text), None, "{text:?}");
    }
    assert_eq!(parse(&"m ".repeat(10_000)), None);
    assert_eq!(parse(&format!("{}m{}", "(".repeat(9), ")".repeat(9))), None);
}

#[test]
fn every_symbol_has_one_meaning() {
    let mut seen = HashSet::new();
    for (symbol, _) in all() {
        assert!(seen.insert(symbol), "{symbol} is twice in the tables");
        assert!(parse(symbol).is_some(), "{symbol}");
    }
    let mut with_prefix = HashSet::new();
    for (symbol, _) in all().filter(|(_, prefixed)| *prefixed) {
        for prefix in prefixes() {
            let text = format!("{prefix}{symbol}");
            assert!(with_prefix.insert(text.clone()), "{text} has two meanings");
            assert!(!seen.contains(text.as_str()), "{text} is a symbol, too");
        }
    }
}

/// Returns a symbol, with a prefix if it takes one.
fn symbol() -> impl Strategy<Value = String> {
    let symbols: Vec<_> = all().collect();
    let prefixes: Vec<_> = prefixes().chain([""]).collect();
    let choice = (
        prop::sample::select(symbols),
        prop::sample::select(prefixes),
    );
    choice.prop_map(|((symbol, prefixed), prefix)| match prefixed {
        true => format!("{prefix}{symbol}"),
        false => symbol.to_owned(),
    })
}

fn sum(a: Si, b: Si, times: f64) -> [f64; 7] {
    std::array::from_fn(|i| a.dimension[i] + times * b.dimension[i])
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(text in ".{0,40}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_text_of_the_characters_of_units_is_parsed_without_panic(
        text in "[a-zA-Z0-9 ()/*.^+\u{b2}\u{207b}-]{0,300}",
    ) {
        if let Some(si) = parse(&text) {
            prop_assert!(si.factor.is_normal() && si.factor > 0.0);
            prop_assert!(si.dimension.iter().all(|x| x.is_finite()));
        }
    }

    #[test]
    fn products_quotients_and_powers_compose(
        a in symbol(),
        b in symbol(),
        n in -3i32..4,
        space in prop::sample::select(vec![" ", "*", "."]),
    ) {
        // Some symbols are ambiguous, and `deg C` is no product.
        prop_assume!(!a.starts_with("deg"));
        let (Some(x), Some(y)) = (parse(&a), parse(&b)) else {
            return Err(TestCaseError::reject("ambiguous"));
        };
        let product = parse(&format!("{a}{space}{b}")).unwrap();
        prop_assert!(close(product.factor, x.factor * y.factor), "{a} {b}");
        prop_assert_eq!(product.dimension, sum(x, y, 1.0));
        let quotient = parse(&format!("{a}/({b})")).unwrap();
        prop_assert!(close(quotient.factor, x.factor / y.factor), "{a} {b}");
        prop_assert_eq!(quotient.dimension, sum(x, y, -1.0));
        for power in [format!("{a}^{n}"), format!("({a})**({n})"), format!("{a}{n}")] {
            let power = parse(&power).unwrap();
            prop_assert!(close(power.factor, x.factor.powi(n)), "{a} {n}");
            prop_assert_eq!(power.dimension, sum(Si::ONE, x, f64::from(n)));
        }
    }
}
