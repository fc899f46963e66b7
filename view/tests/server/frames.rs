//! Tests of the data in frames: pages must get what was published.

use crate::page::{Frame, Page, Site, name, numbers, producer};
use ndarray::{Array2, Array3, s};
use serde_json::json;
use std::time::Duration;

/// Returns a value that differs between all points and steps.
fn value(step: u64, z: usize, y: usize, x: usize) -> f64 {
    step as f64 * 1e6 + (z * 10_000 + y * 100 + x) as f64
}

fn field(step: u64) -> Array3<f64> {
    Array3::from_shape_fn((6, 70, 90), |(z, y, x)| value(step, z, y, x))
}

fn slice(z: usize) -> serde_json::Value {
    json!({"axes": [1, 2], "at": [z, 0, 0], "pixels": [500, 500]})
}

/// Returns the image that the page has, as doubles.
fn image(page: &Page, frame: &Frame) -> Array2<f64> {
    doubles(&frame.head["image"], &page.image)
}

fn doubles(head: &serde_json::Value, samples: &[f32]) -> Array2<f64> {
    let size = |name: &str| head[name].as_u64().unwrap() as usize;
    let base = head["base"].as_f64().unwrap();
    let samples = samples.iter().map(|sample| base + f64::from(*sample));
    Array2::from_shape_vec((size("rows"), size("cols")), samples.collect()).unwrap()
}

#[test]
fn page_gets_the_published_values() {
    let name = name("seen");
    let mut producer = producer(&name);
    let t = producer
        .field::<f64, _>("t", [6, 70, 90])
        .unit("K")
        .add()
        .unwrap();
    producer.view_mut(t).unwrap().assign(&field(1));
    producer.publish(1, 0.5).unwrap();

    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({
        "field": "t", "slice": slice(2), "line": {"axis": 2, "at": [2, 5, 7]}, "probe": [2, 5, 7],
        "histogram": 16, "volume": 30, "pages": true,
    }));
    let first = page.next();
    assert_eq!(first.head["error"], json!(null), "{first:?}");
    assert_eq!(
        first.head["version"],
        json!({"version": 1, "step": 1, "time": 0.5})
    );
    assert_eq!(image(&page, &first), field(1).slice(s![2, .., ..]));
    assert_eq!(first.line(), field(1).slice(s![2, 5, ..]).to_vec());
    assert_eq!(first.head["probe"]["values"], json!([value(1, 2, 5, 7)]));

    let whole = match first.head["moments"].is_null() {
        true => page.next(),
        false => first,
    };
    let all = field(1);
    let moments = &whole.head["moments"];
    assert_eq!(moments["count"], json!(all.len()));
    assert_eq!(
        (moments["min"].as_f64(), moments["max"].as_f64()),
        (Some(value(1, 0, 0, 0)), Some(value(1, 5, 69, 89)))
    );
    let counts = numbers(&whole.head["histogram"]["counts"]);
    assert_eq!(
        (counts.len(), counts.iter().sum::<usize>()),
        (16, all.len())
    );
    let volume = &whole.head["volume"];
    assert_eq!(
        numbers(&volume["shape"]),
        [6, 24, 30],
        "blocks of 3 along y and x"
    );
    let bytes = whole.bytes("volume", 6 * 24 * 30);
    assert_eq!((bytes[0], bytes[bytes.len() - 1]), (0, 255));
    let pages = &whole.head["pages"];
    assert_eq!(
        pages["changed"], pages["pages"],
        "the first version changes all"
    );

    let region = page.until_region("fields", |region| region["fields"][0]["name"] == "t");
    assert_eq!(region["fields"][0]["shape"], json!([6, 70, 90]));
    assert_eq!(
        (&region["state"], &region["latest"]["step"]),
        (&json!("running"), &json!(1))
    );
    assert_eq!(region["fields"][0]["axes"], json!(["z", "y", "x"]));
}

#[test]
fn only_tiles_that_changed_are_sent_again() {
    let name = name("tiles");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [6, 70, 90]).add().unwrap();
    producer.view_mut(t).unwrap().assign(&field(1));
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "slice": slice(2)}));
    let first = page.next();
    assert_eq!(numbers(&first.head["image"]["tiles"]), [0, 1, 2, 3]);

    // Change one value of the third tile, and many values of another plane.
    let mut now = field(1);
    now[[2, 69, 3]] += 0.5;
    now.slice_mut(s![4, .., ..]).fill(1e6);
    producer.view_mut(t).unwrap().assign(&now);
    producer.publish(2, 0.0).unwrap();
    let second = page.until("the second version", |frame| {
        frame.version() == 2 && !frame.head["image"].is_null()
    });
    assert_eq!(numbers(&second.head["image"]["tiles"]), [2]);
    assert_eq!(image(&page, &second), now.slice(s![2, .., ..]));

    // Another plane is sent whole.
    page.request(json!({"field": "t", "slice": slice(3)}));
    let other = page.until("the other plane", |frame| {
        frame.head["id"] == 2 && !frame.head["image"].is_null()
    });
    assert_eq!(numbers(&other.head["image"]["tiles"]), [0, 1, 2, 3]);
    assert_eq!(image(&page, &other), now.slice(s![3, .., ..]));
}

#[test]
fn image_has_the_requested_window_axes_and_component() {
    let name = name("axes");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [6, 70, 90]).add().unwrap();
    let v = producer
        .field::<f64, _>("v", [4, 5, 2])
        .vector()
        .add()
        .unwrap();
    producer.view_mut(t).unwrap().assign(&field(1));
    let vectors = ndarray::Array3::from_shape_fn((4, 5, 2), |(y, x, c)| {
        if c == 0 {
            3.0 * x as f64
        } else {
            4.0 * x as f64 + y as f64 * 0.0
        }
    });
    producer.view_mut(v).unwrap().assign(&vectors);
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    let mut see = |request: serde_json::Value| {
        let id = page.request(request);
        let frame = page.until("an answer", |frame| frame.head["id"] == id);
        assert_eq!(frame.head["error"], json!(null));
        image(&page, &frame)
    };
    let all = field(1);
    let window = json!({
        "axes": [1, 2], "at": [1, 0, 0], "rows": [10, 40], "cols": [80, 90], "pixels": [15, 500],
    });
    let part = all.slice(s![1, 10..40, 80..90]);
    let means = Array2::from_shape_fn((15, 10), |(r, c)| {
        (part[[2 * r, c]] + part[[2 * r + 1, c]]) / 2.0
    });
    assert_eq!(see(json!({"field": "t", "slice": window})), means);
    let across = json!({"axes": [0, 1], "at": [0, 0, 33], "pixels": [500, 500]});
    assert_eq!(
        see(json!({"field": "t", "slice": across})),
        all.slice(s![.., .., 33])
    );
    let turned = json!({"axes": [2, 0], "at": [0, 9, 0], "pixels": [500, 500]});
    assert_eq!(
        see(json!({"field": "t", "slice": turned})),
        all.slice(s![.., 9, ..]).t()
    );
    let plane = json!({"axes": [0, 1], "at": [0, 0], "pixels": [500, 500]});
    assert_eq!(
        see(json!({"field": "v", "component": 1, "slice": plane.clone()})),
        vectors.slice(s![.., .., 1])
    );
    let norm = Array2::from_shape_fn((4, 5), |(_, x)| 5.0 * x as f64);
    assert_eq!(see(json!({"field": "v", "slice": plane})), norm);
}

#[test]
fn kept_versions_can_be_requested_and_compared() {
    let name = name("kept");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [6, 70, 90]).add().unwrap();
    for step in 1..=70 {
        producer.view_mut(t).unwrap().assign(&field(step));
        producer.publish(step, 0.0).unwrap();
    }
    let site = Site::start(&name);
    let mut page = site.open();
    let region = page.until_region("versions", |region| !region["latest"].is_null());
    let versions = numbers(&region["versions"]);
    assert!(
        versions.len() > 50 && versions.contains(&40) && !versions.contains(&1),
        "{versions:?}"
    );

    let request = json!({"field": "t", "slice": slice(0), "version": 40, "compare": 69});
    page.request(request);
    let frame = page.next();
    assert_eq!(frame.version(), 40);
    assert_eq!(image(&page, &frame), field(40).slice(s![0, .., ..]));
    let other = &frame.head["compare"];
    assert_eq!(other["version"]["version"], json!(69));
    assert_eq!(
        doubles(other, &page.compare),
        field(69).slice(s![0, .., ..])
    );

    page.request(json!({"field": "t", "slice": slice(0), "version": 1}));
    let gone = page.until("an answer", |frame| frame.head["id"] == 2);
    let error = gone.head["error"].as_str().unwrap();
    assert!(error.contains("version 1 is not there"), "{error}");
    // A page that is paused pins nothing: its version goes when the producer drops it.
    for step in 71..=140 {
        producer.view_mut(t).unwrap().assign(&field(step));
        producer.publish(step, 0.0).unwrap();
    }
    let region = page.until_region("later versions", |region| region["latest"]["step"] == 140);
    assert!(!numbers(&region["versions"]).contains(&40), "{region}");
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    for observer in region["observers"].as_array().unwrap() {
        assert_eq!(observer["program"], program.trim_end(), "{region}");
        assert_eq!(observer["pinned"], json!([]), "{region}");
    }
}

#[test]
fn page_gets_an_error_for_a_wrong_request_and_goes_on() {
    let name = name("wrong");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [6, 70, 90]).add().unwrap();
    producer.view_mut(t).unwrap().assign(&field(1));
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    for (request, why) in [
        (
            json!({"field": "u", "slice": slice(0)}),
            "there is no field \"u\"",
        ),
        (
            json!({"field": "t", "slice": slice(6)}),
            "not inside axis 0 of length 6",
        ),
        (
            json!({"field": "t", "component": 1, "slice": slice(0)}),
            "component 1",
        ),
        (json!({"field": "t", "probe": [0, 0]}), "2 axes"),
        (
            json!({"field": "t", "line": {"axis": 3, "at": [0, 0, 0]}}),
            "axes [3, 3]",
        ),
        (
            json!({"field": "t", "slice": {"axes": [1, 1], "at": [0, 0, 0], "pixels": [1, 1]}}),
            "axes [1, 1]",
        ),
        (
            json!({"field": "t", "slice": {
                "axes": [1, 2], "at": [0, 0, 0], "rows": [5, 4], "pixels": [1, 1],
            }}),
            "5..4",
        ),
    ] {
        let id = page.request(request.clone());
        let frame = page.until("an answer", |frame| frame.head["id"] == id);
        let error = frame.head["error"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{request}: {frame:?}");
    }
    let id = page.request(json!({"field": "t", "slice": slice(5)}));
    let frame = page.until("an answer", |frame| frame.head["id"] == id);
    assert_eq!(image(&page, &frame), field(1).slice(s![5, .., ..]));
}

#[test]
fn page_that_comes_later_gets_the_series_of_a_field() {
    let name = name("series");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [6, 70, 90]).add().unwrap();
    let u = producer.field::<f64, _>("u", [3]).add().unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "also": ["u"]}));
    for step in 1..=3 {
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.view_mut(u).unwrap().fill(-(step as f64));
        producer.publish(step, step as f64).unwrap();
        let frame = page.until("moments", |frame| {
            frame.head["moments"]["version"]["step"] == step
        });
        assert_eq!(frame.head["moments"]["mean"], json!(step as f64));
        assert_eq!(frame.head["also"]["u"]["mean"], json!(-(step as f64)));
        std::thread::sleep(Duration::from_millis(1));
    }
    for (field, sign) in [("t", 1.0), ("u", -1.0)] {
        let mut other = site.open();
        other.request(json!({"field": field}));
        other.next();
        let point = |n: u64| {
            let value = sign * n as f64;
            json!([n, n, n as f64, value, value, value])
        };
        let right: Vec<serde_json::Value> = (1..=3).map(point).collect();
        assert_eq!(other.series[0]["points"], json!(right), "{field}");
    }
}
