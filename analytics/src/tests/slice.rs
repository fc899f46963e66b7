use super::sample::samples;
use crate::dynamic;
use crate::slice::{Pick, Selection, SelectionError, SliceError};
use ndarray::{Array1, Array3, ArrayD, Axis, IxDyn, SliceInfoElem};
use proptest::prelude::*;

fn ends() -> impl Strategy<Value = Option<isize>> {
    proptest::option::of(prop_oneof![-8..8isize, any::<isize>()])
}

fn picks() -> impl Strategy<Value = Pick> {
    let step = prop_oneof![4 => -3..=3isize, 1 => any::<isize>()];
    let range = (ends(), ends(), step.prop_filter("not 0", |s| *s != 0))
        .prop_map(|(start, stop, step)| Pick::Range { start, stop, step });
    prop_oneof![(-6..6isize).prop_map(Pick::Index), range, Just(Pick::ALL)]
}

/// Returns the indices that a pick takes of an axis, found by trying each index. Returns `None` if
/// the pick is an index outside the axis.
fn indices(pick: Pick, len: usize) -> Option<Vec<usize>> {
    let len = len as i128;
    let wrap = |i: isize| if i < 0 { i as i128 + len } else { i as i128 };
    match pick {
        Pick::Index(i) => (0..len).contains(&wrap(i)).then(|| vec![wrap(i) as usize]),
        Pick::Range { start, stop, step } if step > 0 => {
            let first = start.map_or(0, wrap).max(0);
            let taken = |i: &i128| {
                *i >= first && stop.is_none_or(|s| *i < wrap(s)) && (i - first) % step as i128 == 0
            };
            Some((0..len).filter(taken).map(|i| i as usize).collect())
        }
        Pick::Range { start, stop, step } => {
            let first = start.map_or(len - 1, wrap).min(len - 1);
            let taken = |i: &i128| {
                *i <= first && stop.is_none_or(|s| *i > wrap(s)) && (first - i) % step as i128 == 0
            };
            Some((0..len).rev().filter(taken).map(|i| i as usize).collect())
        }
        Pick::Rest => unreachable!(),
    }
}

proptest! {
    #[test]
    fn selection_takes_the_same_of_the_smallest_sub_array_that_has_it(
        shape in proptest::collection::vec(1usize..7, 1..4),
        picks in proptest::collection::vec(picks(), 0..4),
    ) {
        let count: usize = shape.iter().product();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), (0..count).collect()).unwrap();
        let selection = Selection::new(picks.clone());
        let expected = selection.of(array.view());
        let Ok((ranges, rest)) = selection.within(&shape) else {
            prop_assert!(expected.is_err());
            return Ok(());
        };
        let whole = picks.into_iter().chain(std::iter::repeat(Pick::ALL));
        for ((range, len), pick) in ranges.iter().zip(&shape).zip(whole) {
            let taken = indices(pick, *len).unwrap();
            let ends = (taken.iter().min().copied(), taken.iter().max().copied());
            prop_assert_eq!(ends, (Some(range.start), Some(range.end - 1)));
        }
        let part: Vec<SliceInfoElem> = ranges.into_iter().map(SliceInfoElem::from).collect();
        let part = array.view().slice_move(part.as_slice());
        prop_assert_eq!(rest.of(part).unwrap(), expected.unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn slice_holds_the_points_that_each_pick_takes(
        sample in samples(),
        picks in proptest::collection::vec(picks(), 0..5),
    ) {
        let mut shape = sample.desc.interior_shape();
        if sample.desc.components > 1 {
            shape.push(sample.desc.components);
        }
        prop_assume!(picks.len() <= shape.len());
        let whole = picks.iter().copied().chain(std::iter::repeat(Pick::ALL));
        let taken: Option<Vec<Vec<usize>>> = shape
            .iter()
            .zip(whole)
            .map(|(&len, pick)| indices(pick, len))
            .collect();
        let got = dynamic::slice(&sample.desc, sample.bytes(), &Selection::new(picks.clone()));
        let Some(taken) = taken.filter(|t| t.iter().all(|axis| !axis.is_empty())) else {
            let refused = matches!(got, Err(dynamic::AnalyticsError::Slice { .. }));
            prop_assert!(refused);
            return Ok(());
        };
        let is_index = |axis: usize| matches!(picks.get(axis), Some(Pick::Index(_)));
        let kept: Vec<usize> = (0..shape.len())
            .filter(|axis| !is_index(*axis))
            .map(|axis| taken[axis].len())
            .collect();
        let flat: Vec<_> = sample.points().into_iter().flatten().collect();
        // The numbers of the points that are taken, found axis by axis.
        let mut numbers = vec![0];
        for (axis, len) in taken.iter().zip(&shape) {
            numbers = numbers
                .iter()
                .flat_map(|n| axis.iter().map(move |i| n * len + i))
                .collect();
        }
        let got = got.unwrap();
        prop_assert_eq!(got.dtype(), sample.desc.dtype);
        prop_assert_eq!(got.shape(), kept);
        let right: Vec<String> = numbers.iter().map(|n| format!("{:?}", flat[*n])).collect();
        let got: Vec<String> = got.scalars().map(|v| format!("{v:?}")).collect();
        prop_assert_eq!(got, right); // compared as text, because NaN differs from itself
    }

    #[test]
    fn selection_survives_formatting_and_parsing(
        picks in proptest::collection::vec(picks(), 1..5),
        rest in proptest::option::of(0usize..5),
    ) {
        let mut picks = picks;
        if let Some(at) = rest {
            picks.insert(at.min(picks.len()), Pick::Rest);
        }
        let selection = Selection::new(picks);
        prop_assert_eq!(selection.to_string().parse(), Ok(selection));
    }

    #[test]
    fn parser_and_selection_do_not_panic_for_any_text(text in "[-0-9:,. x]{0,20}") {
        if let Ok(selection) = text.parse::<Selection>() {
            let _ = selection.of(Array3::<u8>::zeros((4, 1, 3)).into_dyn().view());
        }
    }
}

/// The results of `list(range(n))[text]` in Python.
#[rustfmt::skip]
const PYTHON: [(&str, usize, &[usize]); 18] = [
    ("-2::-1", 2, &[0]), ("9:9:9", 1, &[]), ("1::9", 7, &[1]), ("2:-9:3", 7, &[]),
    ("-5:1:-3", 7, &[2]), ("-1:1:9", 1, &[0]), ("-1:1:-2", 7, &[6, 4, 2]), ("-5:1:9", 2, &[0]),
    ("0:-5:-1", 1, &[0]), ("-9:5:-9", 1, &[]), ("2:-2:9", 5, &[2]), ("-2::9", 7, &[5]),
    ("9:-5:-9", 1, &[0]), (":2:-3", 7, &[6, 3]), ("9:2:-9", 5, &[4]), ("7:-9:-9", 1, &[0]),
    ("9::-1", 1, &[0]), ("2::2", 5, &[2, 4]),
];

#[test]
fn ranges_equal_those_of_python() {
    for (text, len, right) in PYTHON {
        let line = Array1::from_iter(0..len).into_dyn();
        match text.parse::<Selection>().unwrap().of(line.view()) {
            Ok(got) => assert_eq!(
                got.iter().copied().collect::<Vec<_>>(),
                right,
                "{text} of {len}"
            ),
            Err(error) => {
                assert!(
                    matches!(error, SliceError::Empty { .. }),
                    "{text} of {len}: {error}"
                );
                assert!(right.is_empty(), "{text} of {len}: {error}");
            }
        }
    }
}

#[test]
fn fixing_an_axis_gives_the_plane_at_that_index() {
    let cube = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| 100 * i + 10 * j + k).into_dyn();
    let plane = Selection::fix(1, -1).of(cube.view()).unwrap();
    assert_eq!(plane, cube.index_axis(Axis(1), 2));
    let last: Selection = "..., 0".parse().unwrap();
    assert_eq!(last.of(cube.view()).unwrap(), cube.index_axis(Axis(2), 0));
    assert_eq!(Selection::all().of(cube.view()).unwrap(), cube);
}

#[test]
fn malformed_text_is_refused_with_the_reason() {
    let message = |text: &str| text.parse::<Selection>().unwrap_err().to_string();
    assert_eq!(
        message(""),
        r#"slice "": item 1 is empty; write `:` to take the whole axis"#
    );
    assert!(message("3,,4").contains("item 2 is empty"));
    assert!(message("1,a:3").contains(r#""a" in item 2 is not an integer"#));
    assert!(message("1:2:3:4").contains("item 1 has more than two colons"));
    assert!(message("1,2::0").contains("step of item 2 is 0"));
    assert!(message("..., 1, ...").contains("more than one `...`"));
    let huge = "99999999999999999999".parse::<Selection>();
    assert!(matches!(
        huge,
        Err(SelectionError::NotAnInteger { item: 1, .. })
    ));
}

#[test]
fn selection_that_does_not_fit_the_array_is_refused_with_the_reason() {
    let plane = ndarray::Array2::<f32>::zeros((4, 5)).into_dyn();
    let message = |text: &str| {
        let selection: Selection = text.parse().unwrap();
        selection.of(plane.view()).unwrap_err().to_string()
    };
    assert_eq!(
        message("1,2,3"),
        "the slice names 3 axes, but the array of shape [4, 5] has 2"
    );
    assert_eq!(
        message("0,5"),
        "index 5 is outside axis 1 of length 5; use -5 to 4"
    );
    assert_eq!(
        message("-5"),
        "index -5 is outside axis 0 of length 4; use -4 to 3"
    );
    assert_eq!(
        message("4:9"),
        "the range 4:9 takes nothing of axis 0, which has length 4"
    );
    let zero = Selection::new([Pick::Range {
        start: None,
        stop: None,
        step: 0,
    }]);
    assert_eq!(zero.of(plane.view()), Err(SliceError::ZeroStep { axis: 0 }));
}
