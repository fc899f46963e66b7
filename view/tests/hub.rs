//! A hub without a server: any program can be its client.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tcasm_core::field::FieldDesc;
use tcasm_observer::Observer;
use tcasm_producer::Producer;
use tcasm_view::{Client, Frame, Hub, Image, Look, Options};

/// Far more than anything here takes: only what hangs reaches it.
const LONG: Duration = Duration::from_secs(60);

/// A client, and what wakes it.
struct Viewer {
    client: Client,
    news: Receiver<()>,
}

impl Viewer {
    fn enter(hub: &Hub, look: Look) -> Viewer {
        let (wake, news) = channel();
        let client = hub.client(move || {
            let _ = wake.send(());
        });
        client.look(look);
        Viewer { client, news }
    }

    /// The image of version `number`, which the client waits for.
    fn image(&self, number: u64) -> Arc<Image> {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            if let Some(frame) = self.frame()
                && frame.stamp.version == number
                && let Some(image) = frame.image
            {
                // Who takes nothing more waits for the next one.
                while self.client.take().frame.is_some() {}
                return image;
            }
        }
        panic!("never: version {number}");
    }

    /// Wait for a frame of this step.
    fn step(&self, step: u64) {
        let end = Instant::now() + LONG;
        while self.frame().is_none_or(|frame| frame.stamp.step != step) {
            assert!(Instant::now() < end, "never: step {step}");
        }
    }

    fn frame(&self) -> Option<Frame> {
        let frame = self.client.take().frame;
        if frame.is_none() {
            let _ = self.news.recv_timeout(Duration::from_millis(100));
        }
        frame
    }
}

#[test]
fn what_several_clients_look_at_is_computed_once() {
    let name = tcasm_tests::name("hub");
    let builder = Producer::builder(&name).capacity(1 << 22);
    let mut producer = builder.create().unwrap();
    let t = producer.field::<f64, _>("t", [4, 64, 64]).add().unwrap();
    let desc = FieldDesc::new("t", tcasm_core::field::DType::F64, &[4, 64, 64]);
    let hub = Hub::start(&name, Options::default()).unwrap();
    let viewers: Vec<Viewer> = (0..10)
        .map(|_| Viewer::enter(&hub, Look::at_middle(&desc, [64, 64])))
        .collect();
    let mut shared = 0;
    for version in 1..=20 {
        producer.view_mut(t).unwrap().fill(version as f64);
        producer.publish(version, 0.0).unwrap();
        let images: Vec<Arc<Image>> = viewers.iter().map(|v| v.image(version)).collect();
        assert!(
            images
                .iter()
                .all(|image| image.range == Some([version as f64; 2]))
        );
        // One that was late would have another.
        shared += usize::from(images.iter().all(|image| Arc::ptr_eq(image, &images[0])));
    }
    assert!(shared > 0, "of no version");
    assert_eq!(hub.clients(), 10);
    drop(viewers);
    assert_eq!(hub.clients(), 0);
}

#[test]
fn a_hub_that_nobody_looks_at_attaches_to_nothing() {
    let name = tcasm_tests::name("asleep");
    let start = || Hub::start(&name, Options::default()).unwrap();
    let (idle, left, other) = (start(), start(), start());
    let look = || Look {
        field: "t".to_owned(),
        probe: Some(vec![0]),
        ..Look::default()
    };
    let mut viewers = vec![Viewer::enter(&left, look()), Viewer::enter(&other, look())];
    for run in 1..=2 {
        let mut producer = Producer::builder(&name).capacity(1 << 22).create().unwrap();
        producer.field::<f64, _>("t", [8]).add().unwrap();
        producer.publish(run, 0.0).unwrap();
        viewers.iter().for_each(|viewer| viewer.step(run));
        // They would have found the region as soon as the one that looks at it.
        let mut asks = Observer::attach(&name).unwrap();
        let attached = asks.observers().unwrap().len() - 1;
        assert_eq!(attached, viewers.len(), "run {run}");
        viewers.remove(0);
    }
    drop(viewers);
    assert_eq!((idle.clients(), left.clients(), other.clients()), (0, 0, 0));
}
