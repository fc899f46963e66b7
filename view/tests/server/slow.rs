//! Pages that are slow, or do not read at all, cost themselves frames and nobody else.

use crate::page::{Site, name, producer};
use serde_json::json;
use std::time::Duration;
use tcasm_view::server::Patience;

#[test]
fn a_page_gets_no_frame_before_it_has_got_the_last_and_then_the_newest() {
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
    quick.look(json!({"field": "t", "probe": [0]}));
    slow.look(json!({"field": "t", "probe": [0]}));
    let first = slow.hear().unwrap();
    for step in 2..=30 {
        publish(step);
        quick.until("each version", |frame| frame.version() == step);
        // It is slow, not dead.
        slow.socket
            .send(tungstenite::Message::Ping(Default::default()))
            .unwrap();
    }
    slow.say(&json!({"type": "got", "frame": first.head["frame"]}).to_string());
    let second = slow.next();
    assert_eq!(second.head["frame"], json!(2), "nothing was sent meanwhile");
    let newest = slow.until("the newest", |frame| frame.version() == 30);
    let number = newest.head["frame"].as_u64().unwrap();
    assert!(
        number <= 4,
        "{number} frames for what is one: values, whole fields"
    );
}

#[test]
fn a_page_that_does_not_read_is_dropped_and_nobody_else_notices() {
    let name = name("deaf");
    let builder = tcasm_producer::Producer::builder(&name).capacity(1 << 26);
    let mut producer = builder.create().unwrap();
    let t = producer.field::<f64, _>("t", [2048, 2048]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let patience = Patience {
        send: Duration::from_secs(1),
        ..Patience::default()
    };
    let site = Site::patient(&name, patience);
    let (mut deaf, mut witness) = (site.open(), site.open());
    // 16 MiB, more than goes into the buffers of a connection.
    deaf.look(
        json!({"field": "t", "slice": {"axes": [0, 1], "at": [0, 0], "pixels": [2048, 2048]}}),
    );
    witness.look(json!({"field": "t", "probe": [0, 0]}));
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
fn a_page_that_answers_nothing_is_dropped_and_one_that_only_answers_is_not() {
    let patience = Patience {
        quiet: Duration::from_millis(500),
        silence: Duration::from_secs(2),
        ..Patience::default()
    };
    let site = Site::patient(&name("silent"), patience);
    let (mut silent, mut witness) = (site.open(), site.open());
    witness.until_region("both", |region| region["clients"] == 2);
    // Who reads answers pings by that.
    witness.until_region("one", |region| region["clients"] == 1);
    silent.end();
}
