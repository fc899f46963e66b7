//! Converts values to colours of the terminal.

use ratatui::style::Color;
use tcasm_view::Image;
use tcasm_view::colormaps::{COLOURS, MAPS, colour};
use tcasm_view::mesh::Scene;

/// The colours that the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Any red, green and blue.
    True,
    /// The 256 colours of xterm.
    Indexed,
    /// No colours: characters stand for shades.
    None,
}

/// The characters for shades, from the lightest to the darkest.
const SHADES: [&str; 10] = [" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"];

impl Depth {
    /// Returns the depth that the environment variables specify.
    pub fn of_environment() -> Depth {
        Depth::of(|name| std::env::var(name).unwrap_or_default())
    }

    fn of(variable: impl Fn(&str) -> String) -> Depth {
        if !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb" {
            Depth::None
        } else if matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit") {
            Depth::True
        } else {
            Depth::Indexed
        }
    }

    /// Returns all colours of a map.
    pub fn palette(self, map: usize) -> Vec<Color> {
        let (_, gradient) = &MAPS[map % MAPS.len()];
        let numbers = 0..=u8::MAX;
        let of = |number| match (self, colour(gradient, number)) {
            (Depth::True, [r, g, b]) => Color::Rgb(r, g, b),
            (Depth::Indexed, rgb) => Color::Indexed(nearest(rgb)),
            (Depth::None, _) => Color::Reset,
        };
        numbers.map(of).collect()
    }

    /// Returns the colour of samples that are not finite. No map has it.
    pub fn not_finite(self) -> Color {
        match self {
            Depth::True => Color::Rgb(0xff, 0x00, 0xd4),
            Depth::Indexed => Color::Indexed(nearest([0xff, 0x00, 0xd4])),
            Depth::None => Color::Reset,
        }
    }
}

/// The character for samples that are not finite, if there are no colours.
pub const NOT_FINITE: &str = "?";

/// Returns the character for a share of the scale (0 to 1).
pub fn shade(share: f64) -> &'static str {
    let number = (share * SHADES.len() as f64) as usize;
    SHADES[number.min(SHADES.len() - 1)]
}

/// Returns the colour for a share of the scale (0 to 1).
pub fn pick(palette: &[Color], share: f64) -> Color {
    let number = (share * COLOURS as f64) as usize;
    let last = palette.len().saturating_sub(1);
    palette
        .get(number.min(last))
        .copied()
        .unwrap_or(Color::Reset)
}

/// Returns the nearest of the 256 colours of xterm, from its cube of 6 x 6 x 6 or its 24 greys.
fn nearest(rgb: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let level = |value: u8| {
        let mut all = 0..LEVELS.len();
        let first = all.next().unwrap_or(0);
        all.fold(first, |best, l| {
            if value.abs_diff(LEVELS[l]) < value.abs_diff(LEVELS[best]) {
                l
            } else {
                best
            }
        })
    };
    let cube = rgb.map(level);
    let mean = rgb.iter().map(|v| u16::from(*v)).sum::<u16>() / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let away = |other: [u8; 3]| -> u32 {
        let pairs = rgb.iter().zip(other);
        pairs.map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    if away([8 + 10 * grey; 3]) < away(cube.map(|l| LEVELS[l])) {
        232 + grey
    } else {
        let [r, g, b] = cube.map(|l| l as u8);
        16 + 36 * r + 6 * g + b
    }
}

/// The scale of the colours: the values at its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
}

impl Scale {
    /// Returns the scale for an image, or for the range that the user keeps. A logarithmic scale
    /// begins at the smallest positive value; if there is none, the scale is linear.
    pub fn of(image: &Image, kept: Option<[f64; 2]>, log: bool) -> Option<Scale> {
        let values = image.samples.iter().map(|v| image.base + f64::from(*v));
        Some(Scale::over(kept.or(image.range)?, values, log))
    }

    /// Returns the scale for points in space.
    pub fn of_points(scene: &Scene, kept: Option<[f64; 2]>, log: bool) -> Option<Scale> {
        let values = scene.values.iter().map(|v| scene.base + f64::from(*v));
        Some(Scale::over(kept.or(scene.range)?, values, log))
    }

    fn over([low, high]: [f64; 2], values: impl Iterator<Item = f64>, log: bool) -> Scale {
        let least = match log && low <= 0.0 {
            true => values.filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min),
            false => low,
        };
        let log = log && least > 0.0 && least <= high;
        let low = if log { least } else { low };
        Scale { low, high, log }
    }

    /// Returns the position of a value between the ends, from 0 to 1. Values beyond an end get its
    /// position. Returns `None` for a value that is not finite.
    pub fn share(&self, value: f64) -> Option<f64> {
        let map = |x: f64| if self.log { x.max(0.0).ln() } else { x };
        let (low, high) = (map(self.low), map(self.high));
        let span = high - low;
        if !value.is_finite() {
            None
        } else if span > 0.0 && span.is_finite() {
            Some(((map(value) - low) / span).clamp(0.0, 1.0))
        } else {
            // All values are equal, or the difference of the ends is infinite.
            Some(if value > self.high {
                1.0
            } else if value < self.low {
                0.0
            } else {
                0.5
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(of: &[(&str, &str)]) -> Depth {
        Depth::of(|name| {
            let found = of.iter().find(|(n, _)| *n == name);
            found.map_or(String::new(), |(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn environment_selects_the_colours() {
        assert_eq!(depth(&[("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(depth(&[("COLORTERM", "24bit")]), Depth::True);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Indexed);
        assert_eq!(depth(&[("COLORTERM", "yes")]), Depth::Indexed);
        let both = [("NO_COLOR", "1"), ("COLORTERM", "truecolor")];
        assert_eq!(depth(&both), Depth::None);
        assert_eq!(
            depth(&[("NO_COLOR", ""), ("COLORTERM", "24bit")]),
            Depth::True
        );
        assert_eq!(depth(&[("TERM", "dumb")]), Depth::None);
    }

    #[test]
    fn nearest_of_256_colours_is_found() {
        let rgb = |index: u8| -> [i32; 3] {
            if index >= 232 {
                return [8 + 10 * i32::from(index - 232); 3];
            }
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6]
                .map(|l| [0, 95, 135, 175, 215, 255][usize::from(l)])
        };
        for (_, map) in &MAPS {
            for number in 0..=u8::MAX {
                let of = colour(map, number);
                let away = |index: u8| -> i32 {
                    let pairs = of.iter().zip(rgb(index));
                    pairs.map(|(a, b)| (i32::from(*a) - b).pow(2)).sum()
                };
                let best = (16..=255).map(away).min().unwrap();
                let got = away(nearest(of));
                // The cube's best is found exactly; among greys the mean may be off by one step.
                assert!(
                    got <= best + 100,
                    "{of:?}: {} is {got} away, not {best}",
                    nearest(of)
                );
            }
        }
        assert_eq!(nearest([255, 0, 0]), 196);
        assert_eq!(nearest([128, 128, 128]), 244);
    }

    fn image(samples: &[f32]) -> Image {
        let finite = || samples.iter().filter(|v| v.is_finite());
        let low = finite().copied().fold(f32::INFINITY, f32::min);
        let high = finite().copied().fold(f32::NEG_INFINITY, f32::max);
        Image {
            size: [1, samples.len()],
            block: [1, 1],
            window: [[0, 1], [0, samples.len()]],
            base: 0.0,
            range: finite().next().map(|_| [f64::from(low), f64::from(high)]),
            samples: samples.to_vec(),
            not_finite: 0,
            envelope: Vec::new(),
        }
    }

    #[test]
    fn scale_covers_the_range_of_the_values() {
        let scale = Scale::of(&image(&[2.0, 4.0, f32::NAN]), None, false).unwrap();
        assert_eq!((scale.low, scale.high), (2.0, 4.0));
        let shares = [2.0, 3.0, 4.0, 1.0, 9.0].map(|v| scale.share(v));
        assert_eq!(shares, [0.0, 0.5, 1.0, 0.0, 1.0].map(Some));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(scale.share(bad), None);
        }
        assert_eq!(Scale::of(&image(&[f32::NAN]), None, false), None);
    }

    #[test]
    fn logarithmic_scale_begins_at_the_smallest_positive_value() {
        let scale = Scale::of(&image(&[-5.0, 0.0, 0.01, 100.0]), None, true).unwrap();
        assert!(scale.log && (scale.low - 0.01).abs() < 1e-9);
        let near = |value: f64, share: f64| (scale.share(value).unwrap() - share).abs() < 1e-6;
        assert!(near(1.0, 0.5) && near(100.0, 1.0) && near(0.0, 0.0) && near(-5.0, 0.0));
        let none = Scale::of(&image(&[-5.0, 0.0]), None, true).unwrap();
        assert!(!none.log && none.low == -5.0, "no positive value: linear");
    }

    #[test]
    fn kept_range_stays_and_equal_values_are_in_the_middle() {
        let kept = Scale::of(&image(&[2.0, 4.0]), Some([0.0, 1.0]), false).unwrap();
        assert_eq!(kept.share(2.0), Some(1.0));
        let flat = Scale::of(&image(&[3.0, 3.0]), None, false).unwrap();
        assert_eq!(flat.share(3.0), Some(0.5));
    }

    #[test]
    fn shades_and_colours_cover_their_whole_range() {
        assert_eq!([0.0, 0.55, 1.0].map(shade), [" ", "+", "@"]);
        let palette = Depth::True.palette(0);
        assert_eq!(pick(&palette, 0.0), Color::Rgb(0x44, 0x01, 0x54));
        assert_eq!(pick(&palette, 0.5), Color::Rgb(0x20, 0x91, 0x8c));
        assert_eq!(pick(&palette, 1.0), Color::Rgb(0xfd, 0xe7, 0x25));
        for depth in [Depth::True, Depth::Indexed] {
            for map in 0..MAPS.len() {
                let palette = depth.palette(map);
                assert!(!palette.contains(&depth.not_finite()), "map {map}");
            }
        }
        assert!(
            Depth::Indexed
                .palette(0)
                .iter()
                .all(|c| matches!(c, Color::Indexed(16..)))
        );
    }
}
