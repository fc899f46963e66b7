//! Tests of fields on named meshes, and of lengths that change: pages must get what was published.

use crate::page::{Frame, Site, name, producer};
use serde_json::{Value, json};
use tcasm_core::field::CellType;

/// Returns the 32-bit floats at `at`, which is a number in the head.
pub fn floats(frame: &Frame, at: &Value, count: usize) -> Vec<f64> {
    let at = at.as_u64().unwrap() as usize;
    let bytes = frame.body[at..at + 4 * count].chunks_exact(4);
    let floats = bytes.map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    floats.map(f64::from).collect()
}

/// Returns the coordinates x of the points of a scene, and the values.
fn points(frame: &Frame) -> (Vec<f64>, Vec<f64>) {
    let scene = &frame.head["scene"];
    let count = scene["points"].as_u64().unwrap() as usize;
    let (origin, base) = (
        scene["origin"][0].as_f64().unwrap(),
        scene["base"].as_f64().unwrap(),
    );
    let positions = floats(frame, &scene["positions"], 3 * count);
    let values = floats(frame, &scene["values"], count);
    let x = positions.chunks_exact(3).map(|place| origin + place[0]);
    (
        x.collect(),
        values.iter().map(|value| base + value).collect(),
    )
}

#[test]
fn particles_come_with_their_places_and_may_be_none() {
    let name = name("atoms");
    let mut producer = producer(&name);
    let x = producer
        .field::<f64, _>("x", [100, 3])
        .vector()
        .variable()
        .unit("nm");
    let x = x.add().unwrap();
    let atoms = producer.particles("atoms", &x).add().unwrap();
    let v = producer
        .field::<f64, _>("v", [100])
        .variable()
        .on(&atoms)
        .add()
        .unwrap();
    producer.publish(1, 0.0).unwrap();

    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({
        "field": "v", "scene": {"points": 1000}, "probe": [90], "histogram": 4,
        "line": {"axis": 0, "at": [90]},
    }));
    let empty = page.until("the first version", |frame| frame.version() == 1);
    assert_eq!(empty.head["error"], json!(null), "no values are no error");
    assert_eq!(empty.head["shape"], json!([0]));
    assert_eq!(empty.head["scene"], json!(null));
    let region = page.until_region("meshes", |region| region["meshes"][0]["name"] == "atoms");
    assert_eq!(region["meshes"][0]["kind"], json!("particles"));
    assert_eq!(region["meshes"][0]["units"], json!(["nm", "nm", "nm"]));
    assert_eq!(region["fields"][1]["mesh"], json!("atoms"));

    for (version, count) in [(2, 3_usize), (3, 2)] {
        producer.set_len(atoms, count).unwrap();
        for i in 0..count {
            producer.view_mut(x).unwrap()[[i, 0]] = i as f64;
            producer.view_mut(v).unwrap()[[i]] = 10.0 * i as f64;
        }
        producer.publish(version, 0.0).unwrap();
        let frame = page.until("particles", |frame| {
            frame.version() == version && !frame.head["scene"].is_null()
        });
        let right: Vec<f64> = (0..count).map(|i| i as f64).collect();
        let values: Vec<f64> = right.iter().map(|x| 10.0 * x).collect();
        assert_eq!(points(&frame), (right, values));
        assert_eq!(frame.head["shape"], json!([count]));
        // The page asks for the value of a particle that is not there any more.
        assert_eq!(frame.head["probe"]["at"], json!([count - 1]));
    }
}

#[test]
fn version_without_values_comes_without_an_image_to_compare_with() {
    let name = name("vanished");
    let mut producer = producer(&name);
    let v = producer.field::<f64, _>("v", [100]).variable();
    let v = v.add().unwrap();
    for (version, count) in [(1, 3), (2, 0)] {
        producer.set_len(v, count).unwrap();
        producer.publish(version, 0.0).unwrap();
    }
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({
        "field": "v", "slice": {"axes": [0, 0], "at": [0], "pixels": [1, 90]}, "compare": 1,
    }));
    let empty = page.until("no values", |frame| frame.version() == 2);
    assert_eq!(empty.head["shape"], json!([0]));
    assert_eq!(empty.head["compare"], json!(null));

    producer.set_len(v, 3).unwrap();
    producer.publish(3, 0.0).unwrap();
    let frame = page.until("values", |frame| {
        frame.version() == 3 && !frame.head["compare"].is_null()
    });
    assert_eq!(frame.head["compare"]["tiles"], json!([0]));
}

#[test]
fn surface_is_sent_once_and_its_values_with_each_version() {
    let name = name("tetra");
    let mut producer = producer(&name);
    let p = producer
        .field::<f64, _>("p", [4, 3])
        .vector()
        .add()
        .unwrap();
    let c = producer
        .field::<i32, _>("c", [1, 4])
        .vector()
        .add()
        .unwrap();
    let m = producer
        .unstructured_mesh("m", &p, CellType::TETRA, &c)
        .add()
        .unwrap();
    let t = producer.field::<f64, _>("t", [4]).on(&m).add().unwrap();
    let places = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for (i, place) in places.into_iter().enumerate() {
        for (axis, x) in place.into_iter().enumerate() {
            producer.view_mut(p).unwrap()[[i, axis]] = x;
        }
        producer.view_mut(c).unwrap()[[0, i]] = i as i32;
    }
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "t", "scene": {"points": 9, "surface": true}}));
    let first = page.until("a surface", |frame| !frame.head["scene"].is_null());
    let scene = &first.head["scene"];
    assert_eq!(scene["why"], json!(null));
    assert_eq!(scene["surface"]["triangles"], json!(4));
    assert!(scene["surface"]["corners"].is_u64() && scene["positions"].is_u64());

    producer.view_mut(t).unwrap()[[2]] = 5.0;
    producer.publish(2, 0.0).unwrap();
    let second = page.until("other values", |frame| {
        frame.version() == 2 && !frame.head["scene"].is_null()
    });
    let scene = &second.head["scene"];
    assert_eq!(scene["surface"]["corners"], json!(null));
    assert_eq!(scene["positions"], json!(null));
    assert_eq!(floats(&second, &scene["values"], 4), [0.0, 0.0, 5.0, 0.0]);

    producer.view_mut(c).unwrap()[[0, 3]] = 4;
    producer.publish(3, 0.0).unwrap();
    let third = page.until("a point that is not there", |frame| {
        frame.version() == 3 && !frame.head["scene"].is_null()
    });
    let why = third.head["scene"]["why"].as_str().unwrap();
    assert!(why.contains("has the point 4; there are 4"), "{why}");
    assert_eq!(
        third.head["scene"]["points"],
        json!(4),
        "its points are shown"
    );
}

#[test]
fn single_value_that_is_not_finite_is_sent_and_counted_among_many() {
    const COUNT: usize = 200_000;
    const BAD: usize = 123_457;
    let name = name("speck");
    let mut producer = producer(&name);
    let x = producer.field::<f32, _>("x", [COUNT, 3]).vector();
    let x = x.add().unwrap();
    let dust = producer.particles("dust", &x).add().unwrap();
    let v = producer.field::<f32, _>("v", [COUNT]).on(&dust);
    let v = v.add().unwrap();
    for ((i, axis), place) in producer.view_mut(x).unwrap().indexed_iter_mut() {
        *place = if axis == 0 { i as f32 } else { 0.0 };
    }
    for (i, value) in producer.view_mut(v).unwrap().indexed_iter_mut() {
        *value = i as f32;
    }
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({"field": "v", "scene": {"points": 1000}}));
    let good = page.until("particles", |frame| !frame.head["scene"].is_null());
    assert_eq!(good.head["scene"]["not_finite"], json!(0));
    assert!(!points(&good).0.contains(&(BAD as f64)), "not by chance");

    producer.view_mut(v).unwrap()[[BAD]] = f32::NAN;
    producer.publish(2, 0.0).unwrap();
    let bad = page.until("a value that is NaN", |frame| {
        frame.version() == 2 && !frame.head["scene"].is_null()
    });
    let scene = &bad.head["scene"];
    assert_eq!(scene["not_finite"], json!(1));
    let last = (COUNT - 1) as f64;
    assert_eq!((&scene["min"], &scene["max"]), (&json!(0.0), &json!(last)));
    let (x, values) = points(&bad);
    assert!(values.len() <= 1000);
    let marked = values.iter().zip(&x).filter(|(value, _)| value.is_nan());
    let marked: Vec<f64> = marked.map(|(_, x)| *x).collect();
    assert_eq!(marked, [BAD as f64]);
}

#[test]
fn surface_of_too_many_triangles_comes_as_a_coarser_one() {
    const SIDE: usize = 20;
    let name = name("sheet");
    let mut producer = producer(&name);
    let count = (SIDE + 1) * (SIDE + 1);
    let p = producer.field::<f64, _>("p", [count, 3]).vector();
    let p = p.add().unwrap();
    let c = producer.field::<i32, _>("c", [SIDE * SIDE, 4]).vector();
    let c = c.add().unwrap();
    let m = producer.unstructured_mesh("m", &p, CellType::QUAD, &c);
    let m = m.add().unwrap();
    producer.field::<f64, _>("t", [count]).on(&m).add().unwrap();
    for ((i, axis), place) in producer.view_mut(p).unwrap().indexed_iter_mut() {
        *place = [i % (SIDE + 1), i / (SIDE + 1), 0][axis] as f64;
    }
    for ((cell, corner), point) in producer.view_mut(c).unwrap().indexed_iter_mut() {
        let first = cell / SIDE * (SIDE + 1) + cell % SIDE;
        *point = (first + [0, 1, SIDE + 2, SIDE + 1][corner]) as i32;
    }
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    for most in [2 * SIDE * SIDE, 200] {
        let scene = json!({"points": 9, "surface": true, "triangles": most});
        let id = page.request(json!({"field": "t", "scene": scene}));
        let frame = page.until("a surface", |frame| {
            frame.head["id"] == json!(id) && !frame.head["scene"].is_null()
        });
        let scene = &frame.head["scene"];
        assert_eq!(scene["why"], json!(null));
        assert_eq!(scene["surface"]["of"], json!(2 * SIDE * SIDE));
        let triangles = scene["surface"]["triangles"].as_u64().unwrap() as usize;
        let is_near = triangles <= most && triangles > most / 10;
        assert!(is_near, "{triangles} of {most}");
    }
}

#[test]
fn slice_of_a_rectilinear_mesh_comes_with_its_corners() {
    let name = name("stretched");
    let mut producer = producer(&name);
    let x = producer.field::<f64, _>("x", [3]).add().unwrap();
    let y = producer.field::<f64, _>("y", [2]).add().unwrap();
    let m = producer.rectilinear_mesh("m", &[x, y]).add().unwrap();
    producer.field::<f64, _>("t", [2, 3]).on(&m).add().unwrap();
    for (i, place) in [0.0, 1.0, 5.0].into_iter().enumerate() {
        producer.view_mut(x).unwrap()[[i]] = place;
    }
    producer.view_mut(y).unwrap()[[1]] = 1.0;
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({
        "field": "t", "slice": {"axes": [0, 1], "at": [0, 0], "pixels": [90, 90]},
        "line": {"axis": 1, "at": [0, 0]},
    }));
    let frame = page.until("a slice", |frame| !frame.head["image"].is_null());
    let grid = &frame.head["grid"];
    assert_eq!((&grid["rows"], &grid["cols"]), (&json!(3), &json!(4)));
    assert_eq!(
        (&grid["low"], &grid["high"]),
        (&json!([0.0, 0.0, 0.0]), &json!([5.0, 1.0, 0.0]))
    );
    let corners = floats(&frame, &grid["corners"], 3 * 12);
    let row: Vec<f64> = corners
        .chunks_exact(3)
        .take(4)
        .map(|place| place[0] + 2.5)
        .collect();
    assert_eq!(row, [0.0, 0.5, 3.0, 5.0]);
    let line = &frame.head["line"];
    assert_eq!(
        (&line["places"], &line["length"]),
        (&json!(true), &json!(3))
    );
}

#[test]
fn each_version_comes_with_the_place_that_its_uniform_mesh_has() {
    let name = name("moving");
    let mut producer = producer(&name);
    let m = producer.uniform_mesh("m", [4, 3, 2], [0.0; 3], [1.0; 3]);
    let m = m.add().unwrap();
    let t = producer.field::<f64, _>("t", [2, 3, 4]).on(&m);
    t.add().unwrap();
    producer.publish(1, 0.0).unwrap();
    producer
        .set_uniform_mesh(&m, [4, 3, 2], [5.0, 6.0, 7.0], [0.5, 0.25, 2.0])
        .unwrap();
    producer.publish(2, 1.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    let slice = json!({"axes": [1, 2], "at": [0, 0, 0], "pixels": [90, 90]});
    for (version, origin, spacing) in [
        (1, [0.0; 3], [1.0; 3]),
        (2, [7.0, 6.0, 5.0], [2.0, 0.25, 0.5]),
    ] {
        let id = page.request(json!({"field": "t", "version": version, "slice": slice}));
        let frame = page.until("a slice", |frame| {
            frame.head["id"] == json!(id) && !frame.head["image"].is_null()
        });
        let axes = json!({"origin": origin, "spacing": spacing});
        assert_eq!(frame.head["axes"], axes, "version {version}");
        let id = page.request(json!({"field": "t", "version": version, "volume": 9}));
        let frame = page.until("a volume", |frame| {
            frame.head["id"] == json!(id) && !frame.head["volume"].is_null()
        });
        assert_eq!(frame.head["volume"]["spacing"], json!(spacing));
    }
}

#[test]
fn block_that_is_unused_has_no_values_and_comes_back_where_it_is_used_again() {
    let name = name("block");
    let mut producer = producer(&name);
    let m = producer.uniform_mesh("m", [3, 3, 3], [0.0; 3], [1.0; 3]);
    let m = m.add().unwrap();
    let t = producer.field::<f64, _>("t", [2, 2, 2]).cell_centred();
    let t = t.variable().on(&m).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(json!({
        "field": "t", "slice": {"axes": [1, 2], "at": [1, 0, 0], "pixels": [90, 90]},
    }));
    let used = page.until("values", |frame| !frame.head["image"].is_null());
    assert_eq!(used.head["axes"]["origin"], json!([0.0, 0.0, 0.0]));

    producer.set_unused(&m).unwrap();
    producer.publish(2, 1.0).unwrap();
    let unused = page.until("no values", |frame| frame.version() == 2);
    assert_eq!(unused.head["shape"], json!([0, 2, 2]));
    assert_eq!(
        (&unused.head["image"], &unused.head["error"]),
        (&json!(null), &json!(null))
    );

    let (origin, spacing) = ([4.0, 0.0, 0.0], [0.5; 3]);
    producer
        .set_uniform_mesh(&m, [3, 3, 3], origin, spacing)
        .unwrap();
    producer.publish(3, 2.0).unwrap();
    let again = page.until("values again", |frame| {
        frame.version() == 3 && !frame.head["image"].is_null()
    });
    let axes = json!({"origin": [0.0, 0.0, 4.0], "spacing": spacing});
    assert_eq!(again.head["axes"], axes);
}
