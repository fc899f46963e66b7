//! Tests of a hub without a server: any program can be its client.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tcasm_core::field::FieldDesc;
use tcasm_observer::Observer;
use tcasm_producer::Producer;
use tcasm_tests::procfs;
use tcasm_view::request::Slice;
use tcasm_view::{Client, Frame, Hub, Image, Options, ViewRequest};

/// Timeout that only a test that hangs reaches.
const LONG: Duration = Duration::from_secs(60);

/// A client, and the channel that wakes it.
struct Viewer {
    client: Client,
    news: Receiver<()>,
}

impl Viewer {
    fn enter(hub: &Hub, request: ViewRequest) -> Viewer {
        let (wake, news) = channel();
        let client = hub.client(move || {
            let _ = wake.send(());
        });
        client.request(request);
        Viewer { client, news }
    }

    /// Waits for the image of version `number`.
    fn image(&self, number: u64) -> Arc<Image> {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            if let Some(frame) = self.frame()
                && frame.stamp.version == number
                && let Some(image) = frame.image
            {
                // Take until nothing is left: only then the client asks for the next frame.
                while self.client.take().frame.is_some() {}
                return image;
            }
        }
        panic!("version {number} never came");
    }

    /// Waits for a frame for which `is_it` returns true.
    fn until(&self, what: &str, is_it: impl Fn(&Frame) -> bool) -> Frame {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            if let Some(frame) = self.frame()
                && is_it(&frame)
            {
                return frame;
            }
        }
        panic!("{what} never came");
    }

    /// Waits for a frame of this step.
    fn step(&self, step: u64) {
        let end = Instant::now() + LONG;
        while self.frame().is_none_or(|frame| frame.stamp.step != step) {
            assert!(Instant::now() < end, "step {step} never came");
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
fn image_that_several_clients_request_is_computed_once() {
    let name = tcasm_tests::name("hub");
    let builder = Producer::builder(&name).capacity(1 << 22);
    let mut producer = builder.create().unwrap();
    let t = producer.field::<f64, _>("t", [4, 64, 64]).add().unwrap();
    let desc = FieldDesc::new("t", tcasm_core::field::DType::F64, &[4, 64, 64]);
    let hub = Hub::start(&name, Options::default()).unwrap();
    let viewers: Vec<Viewer> = (0..10)
        .map(|_| Viewer::enter(&hub, ViewRequest::at_middle(&desc, [64, 64])))
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
        // A client that was late may have an image of its own.
        shared += usize::from(images.iter().all(|image| Arc::ptr_eq(image, &images[0])));
    }
    assert!(shared > 0, "no image was shared by all clients");
    assert_eq!(hub.clients(), 10);
    drop(viewers);
    assert_eq!(hub.clients(), 0);
}

#[test]
fn hub_without_clients_does_not_attach() {
    let name = tcasm_tests::name("asleep");
    let start = || Hub::start(&name, Options::default()).unwrap();
    let (idle, left, other) = (start(), start(), start());
    let request = || ViewRequest {
        field: "t".to_owned(),
        probe: Some(vec![0]),
        ..ViewRequest::default()
    };
    let mut viewers = vec![
        Viewer::enter(&left, request()),
        Viewer::enter(&other, request()),
    ];
    for run in 1..=2 {
        let mut producer = Producer::builder(&name).capacity(1 << 22).create().unwrap();
        producer.field::<f64, _>("t", [8]).add().unwrap();
        producer.publish(run, 0.0).unwrap();
        viewers.iter().for_each(|viewer| viewer.step(run));
        // Hubs without clients would have attached as soon as those with clients.
        let mut asks = Observer::attach(&name).unwrap();
        let attached = asks.observers().unwrap().len() - 1;
        assert_eq!(attached, viewers.len(), "run {run}");
        viewers.remove(0);
    }
    drop(viewers);
    assert_eq!((idle.clients(), left.clients(), other.clients()), (0, 0, 0));
}

/// Bytes of a chunk.
const CHUNK: usize = 2 << 20;

/// Publishes one version of the fields `a`, `b` and `c`, of 1, 8 and 1 chunks.
fn three_fields(name: &str) -> Producer {
    let mut producer = Producer::builder(name).capacity(32 << 20).create().unwrap();
    for (field, value, chunks) in [("a", 1.0, 1), ("b", 2.0, 8), ("c", 3.0, 1)] {
        let len = chunks * CHUNK / 8;
        let field = producer.field::<f64, _>(field, [len]).add().unwrap();
        producer.view_mut(field).unwrap().fill(value);
    }
    producer.publish(1, 0.0).unwrap();
    producer
}

#[test]
fn hub_maps_only_fields_that_clients_want_to_see() {
    let name = tcasm_tests::name("wanted");
    let _producer = three_fields(&name);
    let planes = format!("tcasm-{name}-plane");
    // The mappings of views are read-only, and those of the producer, in this process, are not.
    let mapped = || procfs::mapped_bytes(std::process::id() as i32, &[" r--s ", &planes]);
    let a = ViewRequest {
        field: "a".to_owned(),
        probe: Some(vec![0]),
        ..ViewRequest::default()
    };
    let hub = Hub::start(&name, Options::default()).unwrap();
    let viewer = Viewer::enter(&hub, a.clone());
    let frame = viewer.until("the mean of a", |frame| frame.moments.is_some());
    assert_eq!(frame.moments.unwrap().1.count, (CHUNK / 8) as u64);
    // A field can begin and end inside chunks.
    assert!((1..4 * CHUNK).contains(&mapped()), "{} bytes", mapped());

    let also = ["c", "gone"].map(str::to_owned).to_vec();
    viewer.client.request(ViewRequest { also, ..a.clone() });
    let frame = viewer.until("the mean of c", |frame| !frame.also.is_empty());
    assert_eq!(frame.also.keys().collect::<Vec<_>>(), ["c"]);
    let slice = Slice {
        axes: [0, 0],
        at: vec![0],
        pixels: [1, 8],
        ..Slice::default()
    };
    viewer.client.request(ViewRequest {
        version: Some(1),
        compare: Some(1),
        slice: Some(slice),
        ..a.clone()
    });
    let frame = viewer.until("two images", |frame| frame.compare.is_some());
    assert_eq!(frame.image.unwrap().range, Some([1.0; 2]));
    assert_eq!(frame.compare.unwrap().unwrap().1.range, Some([1.0; 2]));
    viewer.client.request(ViewRequest {
        field: "gone".to_owned(),
        ..a
    });
    let frame = viewer.until("an error", |frame| frame.error.is_some());
    let error = frame.error.unwrap();
    for part in ["there is no field \"gone\"", "\"a\"", "\"b\""] {
        assert!(error.contains(part), "{error}");
    }
    assert!((1..8 * CHUNK).contains(&mapped()), "{} bytes", mapped());
}
