//! Tests of `stats`.

use crate::common::{bad, good, json, name};
use ndarray::Array;
use serde_json::{Value, json};
use tcasm_producer::Producer;

/// Creates a region with a grid `f`, whose interior value at (i, j) is 10 i + j, and a vector field
/// `v`, which is (3, 4) everywhere.
fn grid(name: &str) -> Producer {
    let mut p = Producer::builder(name).capacity(1 << 16).create().unwrap();
    let f = p
        .field::<f64, _>("f", [6, 12])
        .ghosts(&[[1, 1], [1, 1]])
        .unit("K")
        .add()
        .unwrap();
    let v = p.field::<f32, _>("v", [5, 2]).vector().add().unwrap();
    let values = |(j, i)| match (j, i) {
        (1..5, 1..11) => ((j - 1) * 10 + i - 1) as f64,
        _ => f64::NAN, // ghosts
    };
    p.view_mut(f)
        .unwrap()
        .assign(&Array::from_shape_fn([6, 12], values));
    p.view_mut(v)
        .unwrap()
        .assign(&Array::from_shape_fn([5, 2], |(_, c)| 3.0 + c as f32));
    p.publish(7, 0.5).unwrap();
    p
}

#[test]
fn moments_and_histogram_are_those_of_the_interior() {
    let name = name("stats");
    let _p = grid(&name);
    let stats = json(&["stats", &name, "f", "--json", "--bins", "4"]);
    assert_eq!(
        (&stats["name"], &stats["field"]),
        (&json!(name), &json!("f"))
    );
    assert_eq!(
        (&stats["version"], &stats["step"], &stats["time"]),
        (&json!(1), &json!(7), &json!(0.5))
    );
    assert_eq!(
        (&stats["shape"], &stats["dtype"]),
        (&json!([4, 10]), &json!("float64"))
    );
    assert_eq!((&stats["count"], &stats["nans"]), (&json!(40), &json!(0)));
    assert_eq!((&stats["min"], &stats["max"]), (&json!(0.0), &json!(39.0)));
    assert_eq!(
        (&stats["mean"], &stats["variance"]),
        (&json!(19.5), &json!(133.25))
    );
    assert_eq!(stats["std"].as_f64().unwrap(), 133.25_f64.sqrt());
    assert_eq!(stats["histogram"]["counts"], json!([10, 10, 10, 10]));
    assert_eq!(stats["histogram"]["edges"][4], 39.0);
    let text = good(&["stats", &name, "f"]).out;
    for line in ["count", "mean", "19.5", "133.25", "in K", "####"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn slice_selects_a_part_of_the_field() {
    let name = name("slice");
    let _p = grid(&name);
    let of = |slice: &str| json(&["stats", &name, "f", "--json", "--slice", slice]);
    let extent = |stats: &Value| {
        (
            stats["min"].clone(),
            stats["max"].clone(),
            stats["count"].clone(),
        )
    };
    assert_eq!(extent(&of("3,:")), (json!(30.0), json!(39.0), json!(10)));
    assert_eq!(extent(&of("1:3,5")), (json!(15.0), json!(25.0), json!(2)));
    assert_eq!(extent(&of("-1,-1")), (json!(39.0), json!(39.0), json!(1)));
    assert_eq!(of("1:3,5")["shape"], json!([2]));
}

#[test]
fn vectors_are_reported_by_component_and_magnitude() {
    let name = name("vector");
    let _p = grid(&name);
    for slice in ["...", "2:", "...,-1", "1"] {
        let stats = json(&["stats", &name, "v", "--json", "--slice", slice]);
        assert_eq!(
            (&stats["min"], &stats["mean"]),
            (&json!(5.0), &json!(5.0)),
            "{slice}"
        );
        assert_eq!(stats["components"][0]["mean"], 3.0, "{slice}");
        assert_eq!(stats["components"][1]["mean"], 4.0, "{slice}");
    }
    assert_eq!(
        json(&["stats", &name, "v", "--json", "--slice", "2:"])["count"],
        3
    );
    let text = good(&["stats", &name, "v"]).out;
    assert!(
        text.contains("component 1") && text.contains("magnitude"),
        "{text}"
    );
    bad(&["stats", &name, "v", "--slice", "0,0"], 2);
}

#[test]
fn values_outside_the_range_are_counted_separately() {
    let name = name("range");
    let _p = grid(&name);
    let stats = json(&[
        "stats", &name, "f", "--json", "--range", "-10:9.5", "--bins", "2",
    ]);
    let histogram = &stats["histogram"];
    assert_eq!(
        (&histogram["below"], &histogram["above"]),
        (&json!(0), &json!(30))
    );
    assert_eq!(histogram["edges"], json!([-10.0, -0.25, 9.5]));
    assert_eq!(histogram["counts"], json!([0, 10]));
    let text = good(&["stats", &name, "f", "--range", "0:9.5"]).out;
    assert!(text.contains("above: 30"), "{text}");
}

#[test]
fn arguments_that_do_not_fit_the_field_are_reported() {
    let name = name("misfit");
    let _p = grid(&name);
    for (args, says) in [
        (["--slice", "9"], "outside axis 0 of length 4"),
        (["--slice", "1,2,3"], "names 3 axes"),
        (["--slice", "a"], "not an integer"),
        (["--range", "2:1"], "the smaller first"),
        (["--bins", "0"], "0 bins"),
    ] {
        let error = bad(&["stats", &name, "f", args[0], args[1]], 2);
        assert!(error.contains(says), "{args:?}: {error}");
    }
}
