//! Messages of pages from outside, and what they make the server compute.

use std::hint::black_box;
use tcasm_core::field::{DType, FieldDesc, Order};
use tcasm_view::{Said, image};

/// Read `data` as a message; if it is a look, look at a small field of three axes and one of one axis. What comes is an error, or
/// no larger than was asked for.
pub fn hear(data: &[u8]) {
    let Ok(Said::Look(look)) = Said::parse(&String::from_utf8_lossy(data)) else {
        return;
    };
    for desc in fields() {
        let bytes = vec![1; desc.bytes() as usize];
        let component = look.component;
        if let Some(slice) = &look.slice
            && let Ok(image) = image::image(&desc, &bytes, component, slice)
        {
            assert_eq!(image.samples.len(), image.size[0] * image.size[1]);
            assert!(image.size[0] <= slice.pixels[0] && image.size[1] <= slice.pixels[1]);
        }
        if let Some(line) = &look.line {
            let _ = black_box(image::profile(&desc, &bytes, component, line));
        }
        if let Some(most) = look.volume
            && let Ok(volume) = image::volume(&desc, &bytes, component, most)
        {
            assert!(volume.shape.iter().all(|samples| *samples <= most));
        }
        if let Some(at) = &look.probe {
            let _ = black_box(tcasm_analytics::blocks::point(&desc, &bytes, at));
        }
    }
}

fn fields() -> [FieldDesc; 2] {
    let mut three = FieldDesc::new("u", DType::F32, &[5, 6, 7]);
    three.ghosts = vec![[1, 1]; 3];
    three.order = Order::F;
    three.components = 2;
    [three, FieldDesc::new("v", DType::I16, &[9])]
}
