//! Tests of the messages that a page in a browser sends, and of what the server computes for them.

use std::hint::black_box;
use tcasm_core::field::{DType, FieldDesc, Order};
use tcasm_view::{ClientMessage, image};

/// Parses `data` as a message of a client. If it is a view request, answers it for a small field
/// with three axes and for one with one axis. The result must be an error, or no larger than
/// requested.
pub fn receive(data: &[u8]) {
    let Ok(ClientMessage::View(request)) = ClientMessage::parse(&String::from_utf8_lossy(data))
    else {
        return;
    };
    for desc in fields() {
        let bytes = vec![1; desc.bytes() as usize];
        let component = request.component;
        if let Some(slice) = &request.slice
            && let Ok(image) = image::image(&desc, &bytes, component, slice)
        {
            assert_eq!(image.samples.len(), image.size[0] * image.size[1]);
            assert!(image.size[0] <= slice.pixels[0] && image.size[1] <= slice.pixels[1]);
        }
        if let Some(line) = &request.line {
            let _ = black_box(image::profile(&desc, &bytes, component, line));
        }
        if let Some(most) = request.volume
            && let Ok(volume) = image::volume(&desc, &bytes, component, most)
        {
            assert!(volume.shape.iter().all(|samples| *samples <= most));
        }
        if let Some(at) = &request.probe {
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
