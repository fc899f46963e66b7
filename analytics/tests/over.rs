//! Tests of the operators on versions of a producer in the same process.

use tcasm_analytics::over::{self, OverError};
use tcasm_analytics::{Range, Selection};
use tcasm_observer::Observer;
use tcasm_producer::Producer;

#[test]
fn results_come_from_the_pinned_version_and_name_it() {
    let name = format!("analytics-over-{}", std::process::id());
    let mut producer = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let t = producer
        .field::<f32, _>("t", [4, 6])
        .ghosts(&[[1, 1], [0, 0]])
        .unit("K")
        .add()
        .unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    producer.view_mut(t).unwrap().fill(2.0);
    producer.publish(7, 0.5).unwrap();
    let view = observer.latest().unwrap().view().unwrap();
    producer.view_mut(t).unwrap().fill(9.0);
    producer.publish(8, 0.6).unwrap();

    let json = serde_json::to_value(over::moments(&view, "t").unwrap()).unwrap();
    assert_eq!(
        (&json["field"], &json["dtype"], &json["unit"]),
        (&"t".into(), &"float32".into(), &"K".into())
    );
    assert_eq!(
        (&json["version"], &json["step"], &json["time"]),
        (&1.into(), &7.into(), &0.5.into())
    );
    let moments = &json["components"][0];
    assert_eq!(
        (&moments["count"], &moments["mean"]),
        (&12.into(), &2.0.into())
    );

    let histogram = over::histogram(&view, "t", 2, Range::Given(0.0, 2.0)).unwrap();
    assert_eq!(histogram.result.components[0].counts, [0, 12]);
    let slice = over::slice(&view, "t", &Selection::fix(1, -1)).unwrap();
    assert_eq!(
        slice.result.array::<f32>().unwrap().as_slice(),
        Some(&[2.0f32, 2.0][..])
    );
    assert!(matches!(
        over::moments(&view, "nothing"),
        Err(OverError::View(_))
    ));
}
