//! Colour maps, as tables of 256 colours. Pages and terminals use the same ones.
//!
//! The perceptually uniform maps are by S. van der Walt and N. Smith; cividis is by J. Nunez,
//! C. Anderton and R. Renslow. The diverging maps, for differences, are by C. Brewer. The colours
//! come from the `colorous` library.

use colorous::Gradient;

/// Number of colours of a map.
pub const COLOURS: usize = 256;

/// All maps by name, the default first.
pub const MAPS: [(&str, Gradient); 8] = [
    ("viridis", colorous::VIRIDIS),
    ("magma", colorous::MAGMA),
    ("inferno", colorous::INFERNO),
    ("plasma", colorous::PLASMA),
    ("cividis", colorous::CIVIDIS),
    ("greys", colorous::GREYS),
    ("RdBu", colorous::RED_BLUE),
    ("PuOr", colorous::PURPLE_ORANGE),
];

/// Returns red, green and blue of colour `number` of a map.
pub fn colour(map: &Gradient, number: u8) -> [u8; 3] {
    let colour = map.eval_rational(number.into(), COLOURS);
    [colour.r, colour.g, colour.b]
}

/// Returns all maps as JSON for the page: `{"viridis": "440154...", ...}`, with six hexadecimal
/// digits for each colour.
pub fn json() -> String {
    let digits = |map: &Gradient| -> String {
        let colours = (0..=u8::MAX).map(|number| colour(map, number));
        colours
            .map(|[r, g, b]| format!("{r:02x}{g:02x}{b:02x}"))
            .collect()
    };
    let maps = MAPS
        .iter()
        .map(|(name, map)| ((*name).to_owned(), digits(map).into()));
    serde_json::Value::Object(maps.collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viridis_matches_matplotlib() {
        let (name, viridis) = &MAPS[0];
        assert_eq!(*name, "viridis");
        // The ends and the middle of matplotlib's `cm.viridis`. A component is between 0 and 1
        // there.
        for (number, right) in [
            (0, [0.267_004, 0.004_874, 0.329_415]),
            (128, [0.127_568, 0.566_949, 0.550_556]),
            (255, [0.993_248, 0.906_157, 0.143_936]),
        ] {
            for (got, right) in colour(viridis, number).iter().zip(right) {
                assert!((f64::from(*got) - right * 255.0).abs() < 1.0, "{number}");
            }
        }
    }

    #[test]
    fn page_gets_256_colours_of_each_map() {
        let maps: serde_json::Value = serde_json::from_str(&json()).unwrap();
        assert_eq!(maps.as_object().unwrap().len(), MAPS.len());
        for (_, digits) in maps.as_object().unwrap() {
            assert_eq!(digits.as_str().unwrap().len(), COLOURS * 6);
        }
    }
}
