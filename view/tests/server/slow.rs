//! Tests of pages that are slow or do not read. They get fewer frames, and other pages do not
//! notice.

use crate::page::{Site, name, producer};
use serde_json::json;
use std::time::Duration;
use tcasm_view::server::Timeouts;

#[test]
fn page_gets_the_newest_frame_only_after_it_has_drawn_the_last() {
    let name = name("slow");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    let mut publish = |step: u64| {
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
    };
    publish(1);
    let site = Site::start(&name);
    let (mut slow, mut quick) = (site.open(), site.open());
    quick.request(json!({"field": "t", "probe": [0]}));
    slow.request(json!({"field": "t", "probe": [0]}));
    let first = slow.receive().unwrap();
    for step in 2..=30 {
        publish(step);
        quick.until("each version", |frame| frame.version() == step);
        // The slow page still sends messages, so the server does not drop it.
        slow.socket
            .send(tungstenite::Message::Ping(Default::default()))
            .unwrap();
    }
    slow.send(&json!({"type": "drawn", "frame": first.head["frame"]}).to_string());
    let second = slow.next();
    assert_eq!(second.head["frame"], json!(2), "nothing was sent meanwhile");
    let newest = slow.until("the newest", |frame| frame.version() == 30);
    let number = newest.head["frame"].as_u64().unwrap();
    assert!(
        number <= 4,
        "{number} frames came; the newest version takes two: values, whole fields"
    );
}

#[test]
fn page_that_does_not_read_is_dropped_and_other_pages_do_not_notice() {
    let name = name("deaf");
    let builder = tcasm_producer::Producer::builder(&name).capacity(1 << 26);
    let mut producer = builder.create().unwrap();
    let t = producer.field::<f64, _>("t", [2048, 2048]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let timeouts = Timeouts {
        send: Duration::from_secs(4),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name, timeouts);
    let (mut deaf, mut witness) = (site.open(), site.open());
    // The image has 16 MiB, more than the buffers of a connection hold.
    deaf.request(
        json!({"field": "t", "slice": {"axes": [0, 1], "at": [0, 0], "pixels": [2048, 2048]}}),
    );
    witness.request(json!({"field": "t", "probe": [0, 0]}));
    witness.until_region("both", |region| region["clients"] == 2);
    let mut step = 1;
    witness.until_region("the deaf one is gone", |region| region["clients"] == 1);
    for _ in 0..3 {
        step += 1;
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
        let frame = witness.until("the next version", |frame| frame.version() == step);
        if !frame.head["probe"].is_null() {
            assert_eq!(frame.head["probe"]["values"], json!([step as f64]));
        }
    }
}

#[test]
fn page_that_does_not_answer_pings_is_dropped_and_one_that_does_is_not() {
    let timeouts = Timeouts {
        quiet: Duration::from_millis(500),
        silence: Duration::from_secs(6),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name("silent"), timeouts);
    let (mut silent, mut witness) = (site.open(), site.open());
    witness.until_region("both", |region| region["clients"] == 2);
    // The witness reads, and thereby answers pings. The silent page does not read.
    witness.until_region("one", |region| region["clients"] == 1);
    silent.end();
}
