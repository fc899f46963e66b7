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

/// Returns how many mappings of planes of region `name` this process has for reading.
fn read_only_planes(name: &str) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let planes = format!("tcasm-{name}-plane");
    let mapped = maps
        .lines()
        .filter(|line| line.contains(&planes) && line.contains(" r--s "));
    mapped.count()
}

#[test]
fn statistics_of_a_version_that_is_not_mapped_equal_those_of_a_view() {
    let name = format!("analytics-reading-{}", std::process::id());
    let mut producer = Producer::builder(&name)
        .capacity(32 << 20)
        .create()
        .unwrap();
    let t = producer
        .field::<f64, _>("t", [10, 500, 600])
        .ghosts(&[[1, 1], [2, 0], [0, 3]])
        .add()
        .unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for step in 1..12 {
        // Single pages here and there. Most of the field stays in no plane at first.
        let mut view = producer.view_mut(t).unwrap();
        for _ in 0..300 {
            let at = [random(10), random(500), random(600)];
            view[at] = random(1000) as f64 - 500.0;
        }
        let receipt = producer.publish(step, 0.0).unwrap();
        if let tcasm_producer::Receipt::Published(published) = &receipt {
            assert!(
                published
                    .wait_visible(std::time::Duration::from_secs(60))
                    .unwrap()
            );
        }
        let version = observer.latest().unwrap();
        let moments = over::read_moments(&version, "t").unwrap();
        let histogram = over::read_histogram(&version, "t", 7, Range::Auto).unwrap();
        if step == 1 {
            let stats = observer.stats().unwrap();
            assert_eq!(
                (stats.windows, stats.mappings, stats.copied_bytes),
                (0, 0, 0)
            );
            assert_eq!(read_only_planes(&name), 0);
        }
        let view = version.view().unwrap();
        assert!(read_only_planes(&name) > 0);
        let expected = over::moments(&view, "t").unwrap();
        assert_eq!(format!("{moments:?}"), format!("{expected:?}"));
        assert_eq!(
            histogram,
            over::histogram(&view, "t", 7, Range::Auto).unwrap()
        );
    }
    let version = observer.latest().unwrap();
    let error = over::read_moments(&version, "nothing").unwrap_err();
    assert!(matches!(error, OverError::Read(_)), "{error}");
}
