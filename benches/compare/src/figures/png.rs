//! Converts SVG to PNG. It uses a font that is part of the program, so the fonts of the machine do
//! not matter.

use crate::failure::Failure;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Number of pixels for each unit of the SVG.
const SCALE: f32 = 1.6;

/// Returns the figure as a PNG file.
pub fn render(name: &str, svg: &str) -> Result<Vec<u8>, Failure> {
    let failed = |why: String| Failure::Figure {
        name: name.to_owned(),
        why,
    };
    let mut options = Options {
        font_family: "Ubuntu".to_owned(),
        ..Options::default()
    };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    fonts.set_sans_serif_family("Ubuntu");
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixels = size.and_then(|s| Pixmap::new(s.width(), s.height()));
    let mut pixels = pixels.ok_or_else(|| failed("it has no size".to_owned()))?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}
