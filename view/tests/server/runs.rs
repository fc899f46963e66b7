//! Regions come, end, die, and come again.

use crate::page::{Site, name, producer};
use serde_json::json;

#[test]
fn a_page_waits_for_a_region_sees_its_end_and_finds_the_next_run() {
    let name = name("runs");
    let site = Site::start(&name);
    let mut page = site.open();
    page.look(json!({"field": "t", "probe": [3]}));
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
    // What it published last is still there.
    let id = page.look(json!({"field": "t", "probe": [4]}));
    let last = page.until("the last version", |frame| frame.head["id"] == id);
    assert_eq!(last.head["probe"]["values"], json!([2.5]));

    // The next run has another field in its place, and version numbers that begin anew.
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
    page.look(json!({"field": "u", "probe": [1, 2]}));
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
    let query = format!("?token={}&region={}", crate::page::TOKEN, names[1]);
    for (mut page, value) in [
        (site.open(), 0.0),
        (site.try_open(&query, &[]).unwrap(), 1.0),
    ] {
        page.look(json!({"field": "t", "probe": [0]}));
        assert_eq!(page.next().head["probe"]["values"], json!([value]));
    }
    let (_, list) = site.get("/regions", &format!("Cookie: {}\r\n", site.cookie()));
    for name in &names {
        assert!(
            list.contains(&format!(r#"{{"name":"{name}","state":"running"}}"#)),
            "{list}"
        );
    }
}
