//! Tests with fields of realistic size, which are computed in many pieces by several threads.

use ndarray::{Array4, ArrayView4, Axis, s};
use tcasm_analytics::{Range, dynamic, histogram, moments};
use tcasm_core::field::{DType, FieldDesc, Order};

const SHAPE: [usize; 3] = [70, 61, 83];

fn velocity(order: Order) -> (FieldDesc, Vec<f64>) {
    let mut desc = FieldDesc::new("velocity", DType::F64, &SHAPE);
    desc.components = 3;
    desc.order = order;
    desc.ghosts = vec![[1, 1], [2, 0], [0, 3]];
    let n = SHAPE.iter().product::<usize>() * 3;
    (
        desc,
        (0..n)
            .map(|i| 5.0 + (i as f64 * 0.37).sin() * (i % 1013) as f64)
            .collect(),
    )
}

fn on_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(run)
}

#[test]
fn vector_field_with_ghost_layers_has_the_moments_of_its_interior() {
    let (desc, data) = velocity(Order::C);
    let got = dynamic::moments(&desc, bytemuck::cast_slice(&data)).unwrap();
    let [a, b, c] = SHAPE;
    let all: ArrayView4<f64> = ArrayView4::from_shape((a, b, c, 3), &data).unwrap();
    let inside: Array4<f64> = all.slice(s![1..a - 1, 2.., ..c - 3, ..]).to_owned();
    for (component, got) in got.components.iter().enumerate() {
        let values = inside.index_axis(Axis(3), component);
        let mean = values.mean().unwrap();
        assert_eq!(got.count, values.len() as u64);
        assert!((got.mean.unwrap().to_f64() - mean).abs() < 1e-9);
        assert!((got.variance.unwrap() / values.var(0.0) - 1.0).abs() < 1e-11);
        assert_eq!(
            got.max.unwrap().to_f64(),
            values.fold(f64::MIN, |m, v| m.max(*v))
        );
    }
    let longest = inside
        .lanes(Axis(3))
        .into_iter()
        .map(|v| v.dot(&v).sqrt())
        .fold(0.0, f64::max);
    let magnitude = got.magnitude.unwrap();
    assert!((magnitude.max.unwrap().to_f64() / longest - 1.0).abs() < 1e-15);
}

#[test]
fn number_of_threads_does_not_change_the_result() {
    for order in [Order::C, Order::F] {
        let (desc, data) = velocity(order);
        let bytes = bytemuck::cast_slice(&data);
        let run = || {
            let moments = dynamic::moments(&desc, bytes).unwrap();
            (
                moments,
                dynamic::histogram(&desc, bytes, 50, Range::Auto).unwrap(),
            )
        };
        let one = on_threads(1, run);
        for threads in [2, 3, 8] {
            assert_eq!(one, on_threads(threads, run));
        }
    }
}

#[test]
fn histogram_of_a_large_field_counts_every_point() {
    let (desc, data) = velocity(Order::F);
    let points = dynamic::points::<f64>(&desc, bytemuck::cast_slice(&data)).unwrap();
    let got = histogram::histogram_of_points(points.view(), 100_000, Range::Auto).unwrap();
    for (component, h) in got.components.iter().enumerate() {
        let values = points.index_axis(Axis(3), component);
        let limits = moments::moments(values.view());
        assert_eq!(h.counts.iter().sum::<u64>(), values.len() as u64);
        assert_eq!(h.edges[0], limits.min.unwrap().to_f64());
        assert_eq!(h.edges[100_000], limits.max.unwrap().to_f64());
    }
}
