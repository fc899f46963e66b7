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
    let error = bad(&["stats", &name, "v", "--slice", "0,0,0"], 2);
    assert!(error.contains("(shape [5]) and 2 components"), "{error}");
    assert!(error.contains("--slice '0', or ':,0' for"), "{error}");
}

#[test]
fn one_component_is_chosen_by_option_or_by_the_last_item_of_the_slice() {
    let name = name("component");
    let _p = grid(&name);
    for (args, describes, mean) in [
        (["--component", "1"], "component 1", 4.0),
        (["--component", "y"], "component 1", 4.0),
        (["--component", "magnitude"], "magnitude", 5.0),
        (["--slice", ":,0"], "component 0", 3.0),
        (["--slice", "1:3,-1"], "component 1", 4.0),
        (["--slice", "2,1:"], "component 1", 4.0),
        (["--slice", ":,:"], "magnitude", 5.0),
    ] {
        let stats = json(&["stats", &name, "v", "--json", args[0], args[1]]);
        assert_eq!(stats["describes"], describes, "{args:?}");
        assert_eq!(stats["mean"], mean, "{args:?}");
        assert_eq!(
            stats["min"],
            stats["histogram"]["edges"][0].as_f64().unwrap() + 0.5
        );
    }
    let text = good(&["stats", &name, "v", "--component", "x"]).out;
    assert!(text.contains("component 0"), "{text}");
    assert!(
        !text.contains("component 1") && !text.contains("magnitude"),
        "{text}"
    );
    for (args, says) in [
        (
            vec!["v", "--component", "2"],
            "choose 0, 1, x, y or magnitude",
        ),
        (vec!["v", "--component", "w"], "counted from 0"),
        (
            vec!["f", "--component", "magnitude"],
            "leave --component out",
        ),
        (
            vec!["v", "--component", "1", "--slice", ":,0"],
            "use one of them",
        ),
    ] {
        let error = bad(&[&["stats", name.as_str()], args.as_slice()].concat(), 2);
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn values_that_are_not_finite_are_counted_by_kind() {
    let name = name("kinds");
    let mut p = Producer::builder(&name).capacity(4096).create().unwrap();
    let t = p.field::<f64, _>("t", [8]).add().unwrap();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let values = [1.0, 2.0, inf, nan, -inf, inf, inf, 3.0];
    p.view_mut(t).unwrap().assign(&Array::from_iter(values));
    p.publish(1, 0.0).unwrap();
    let stats = json(&["stats", &name, "t", "--json"]);
    for (key, count) in [
        ("count", 8),
        ("nans", 1),
        ("infinities", 4),
        ("positive_infinities", 3),
        ("negative_infinities", 1),
    ] {
        assert_eq!(stats[key], count, "{key}");
    }
    let text = good(&["stats", &name, "t"]).out;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for row in [["nan", "1"], ["+inf", "3"], ["-inf", "1"], ["mean", "2"]] {
        assert!(rows.contains(&row.to_vec()), "{row:?}: {text}");
    }
    assert!(text.contains("those of the finite values: 3\n"), "{text}");
    assert!(text.contains("\n-inf: 1\n+inf: 3\nnan: 1\n"), "{text}");
    assert!(!text.contains("below") && !text.contains("above"), "{text}");
    let text = good(&["stats", &name, "t", "--slice", ":2"]).out;
    assert!(!text.contains("finite"), "{text}");
}

#[test]
fn integers_are_printed_exactly() {
    let name = name("integers");
    let mut p = Producer::builder(&name).capacity(4096).create().unwrap();
    let n = p.field::<i64, _>("n", [2]).add().unwrap();
    let values = [123_456_789, 987_654_321];
    p.view_mut(n).unwrap().assign(&Array::from_iter(values));
    p.publish(1, 0.0).unwrap();
    let text = good(&["stats", &name, "n", "--bins", "1"]).out;
    let words: Vec<&str> = text.split_whitespace().collect();
    for (exact, times) in [("123456789", 2), ("987654321", 2), ("555555555", 1)] {
        let found = words.iter().filter(|word| **word == exact).count();
        assert_eq!(found, times, "{exact}: {text}");
    }
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
