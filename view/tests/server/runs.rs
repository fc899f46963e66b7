//! Tests of regions that begin, end, are lost, and begin again.

use crate::page::{LONG, Site, name, producer};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn page_waits_for_a_region_sees_its_end_and_finds_the_next_run() {
    let name = name("runs");
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "probe": [3]}));
    let waiting = page.until_region("waiting", |region| region["state"] == "waiting");
    let hint = waiting["message"].as_str().unwrap();
    assert!(hint.contains("start the producer"), "{hint}");

    let mut first = producer(&name);
    let t = first.field::<f64, _>("t", [8]).add().unwrap();
    first.view_mut(t).unwrap().fill(1.5);
    first.publish(10, 0.0).unwrap();
    let frame = page.until("the first run", |frame| !frame.head["probe"].is_null());
    assert_eq!(frame.head["probe"]["values"], json!([1.5]));
    let run = page.until_region("running", |region| region["state"] == "running")["run"].clone();

    first.view_mut(t).unwrap().fill(2.5);
    first.publish(11, 0.0).unwrap();
    drop(first);
    page.until_region("the end", |region| region["state"] == "ended");
    // The last version is still there.
    let id = page.request(json!({"field": "t", "probe": [4]}));
    let last = page.until("the last version", |frame| frame.head["id"] == id);
    assert_eq!(last.head["probe"]["values"], json!([2.5]));

    // The next run has another field instead, and its version numbers begin at 1 again.
    let mut second = producer(&name);
    let u = second.field::<f64, _>("u", [2, 3]).add().unwrap();
    second.view_mut(u).unwrap().fill(7.0);
    second.publish(1, 0.0).unwrap();
    let frame = page.until("the second run", |frame| frame.head["version"]["step"] == 1);
    let error = frame.head["error"].as_str().unwrap();
    assert!(
        error.contains("there is no field \"t\"") && error.contains("\"u\""),
        "{error}"
    );
    let region = page.until_region("its fields", |region| region["fields"][0]["name"] == "u");
    assert_ne!(region["run"], run);
    page.request(json!({"field": "u", "probe": [1, 2]}));
    let frame = page.until("its values", |frame| !frame.head["probe"].is_null());
    assert_eq!(frame.head["probe"]["values"], json!([7.0]));
}

#[test]
fn pages_of_several_regions_are_served_side_by_side() {
    let names = [name("one"), name("two")];
    let site = Site::start(&names[0]);
    let mut producers: Vec<_> = names.iter().map(|name| producer(name)).collect();
    for (number, producer) in producers.iter_mut().enumerate() {
        let t = producer.field::<f64, _>("t", [2]).add().unwrap();
        producer.view_mut(t).unwrap().fill(number as f64);
        producer.publish(1, 0.0).unwrap();
    }
    let query = format!("{}&region={}", site.query(), names[1]);
    for (mut page, value) in [
        (site.open(), 0.0),
        (site.try_open(&query, &[]).unwrap(), 1.0),
    ] {
        page.request(json!({"field": "t", "probe": [0]}));
        assert_eq!(page.next().head["probe"]["values"], json!([value]));
    }
    let (_, list) = site.get(&format!("/regions{}", site.query()), "");
    for name in &names {
        assert!(
            list.contains(&format!(r#"{{"name":"{name}","state":"running"}}"#)),
            "{list}"
        );
    }
}

/// Returns the steps in the series that a new page gets for a field.
fn steps_known(site: &Site, field: &str) -> Vec<u64> {
    let mut page = site.open();
    page.request(json!({"field": field}));
    page.next();
    let points = page.series[0]["points"].as_array().unwrap().iter();
    points.map(|point| point[1].as_u64().unwrap()).collect()
}

#[test]
fn versions_of_the_next_run_are_not_confused_with_those_of_the_run_before() {
    let name = name("again");
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "probe": [0], "histogram": 4}));
    for run in [1, 2] {
        let mut producer = producer(&name);
        let t = producer.field::<f64, _>("t", [8]).add().unwrap();
        producer.view_mut(t).unwrap().fill(run as f64);
        producer.publish(run * 10, 0.0).unwrap();
        let is_of_run = |head: &serde_json::Value| head["version"]["step"] == run * 10;
        let values = page.until("its values", |frame| {
            is_of_run(&frame.head) && !frame.head["probe"].is_null()
        });
        assert_eq!(values.version(), 1);
        assert_eq!(values.head["probe"]["values"], json!([run as f64]));
        if values.head["histogram"].is_null() {
            page.until("its histogram", |frame| is_of_run(&frame.head["histogram"]));
        }
        assert_eq!(steps_known(&site, "t"), [run * 10]);
    }
}

#[test]
fn page_learns_that_the_lease_is_revoked_and_goes_on_after_attaching_again() {
    let name = name("revoked");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "probe": [0]}));
    page.until("moments", |frame| !frame.head["moments"].is_null());
    let before = page.until_region("running", |region| region["state"] == "running");
    page.regions.clear();

    // The server is in this process.
    assert_eq!(producer.revoke(std::process::id() as i32), 1);
    let told = page.until_told("it is revoked", |region| region["state"] == "revoked");
    let why = told["message"].as_str().unwrap();
    assert!(
        why.contains("lease") && why.contains("attaches again"),
        "{why}"
    );
    assert_eq!(
        (&told["run"], &told["fields"]),
        (&before["run"], &before["fields"])
    );

    producer.view_mut(t).unwrap().fill(2.0);
    producer.publish(2, 0.0).unwrap();
    let frame = page.until("the next version", |frame| {
        frame.version() == 2 && !frame.head["probe"].is_null()
    });
    assert_eq!(frame.head["probe"]["values"], json!([2.0]));
    let after = page.until_region("it runs", |region| region["state"] == "running");
    assert_eq!(
        (&after["run"], &after["message"]),
        (&before["run"], &json!(""))
    );
    page.request(json!({"field": "t", "histogram": 4}));
    page.until("a histogram", |frame| {
        frame.head["histogram"]["version"]["step"] == 2
    });
    assert_eq!(steps_known(&site, "t"), [1, 2]);
}

#[test]
fn page_with_a_revoked_lease_learns_that_the_producer_ended_and_finds_the_next_run() {
    let name = name("revoked-twice");
    let publish = |step: u64| {
        let mut producer = producer(&name);
        let t = producer.field::<f64, _>("t", [8]).add().unwrap();
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
        producer
    };
    let mut first = publish(1);
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "probe": [0]}));
    page.next();
    assert_eq!(first.revoke(std::process::id() as i32), 1);
    page.until_told("it is revoked", |region| region["state"] == "revoked");
    drop(first);
    page.until_told("there is no producer", |region| {
        let message = region["message"].as_str().unwrap();
        region["state"] == "revoked" && message.contains("start the producer")
    });
    let _second = publish(2);
    let frame = page.until("the next run", |frame| frame.head["version"]["step"] == 2);
    assert_eq!(frame.head["probe"]["values"], json!([2.0]));
}

#[test]
fn server_detaches_from_a_region_without_pages_when_the_next_page_comes() {
    let names = [name("shown"), name("left")];
    let site = Site::start(&names[0]);
    let mut left = producer(&names[1]);
    let t = left.field::<f64, _>("t", [2]).add().unwrap();
    left.view_mut(t).unwrap().fill(1.0);
    left.publish(1, 0.0).unwrap();
    // The number of observers besides this one, which asks.
    let mut asks = tcasm_observer::Observer::attach(&names[1]).unwrap();
    let mut others = || asks.observers().unwrap().len() - 1;
    let query = format!("{}&region={}", site.query(), names[1]);
    let mut page = site.try_open(&query, &[]).unwrap();
    page.request(json!({"field": "t"}));
    page.next();
    assert_eq!(others(), 1);
    drop(page);
    let end = Instant::now() + LONG;
    while others() > 0 {
        assert!(Instant::now() < end, "still attached");
        drop(site.open());
        // A producer does not answer an observer that asks without pauses.
        std::thread::sleep(Duration::from_millis(5));
    }
}
