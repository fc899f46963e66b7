//! Views of parts of a version: the right bytes, mappings for the part only, and errors outside.

use proptest::prelude::*;
use std::ops::Range;
use std::slice::from_ref;
use tcasm_observer::{Observer, Version, View, ViewError};
use tcasm_producer::Producer;
use tcasm_tests::procfs::{access, plane_bytes_of};
use tcasm_tests::views::{CHUNK, PAGE, Pair, assert_right, compacting, mapped_in, pages_of, read};
use tcasm_tests::{PublishVisible, name};

/// Returns the bytes of a part of the field `bytes`.
fn part<'v>(view: &'v View, range: &Range<usize>) -> Result<&'v [u8], ViewError> {
    let array = view.part::<u8>("bytes", from_ref(range))?;
    Ok(array.to_slice().expect("one row"))
}

fn view_part(version: &Version, range: &Range<usize>) -> View {
    version.view_part("bytes", from_ref(range)).unwrap()
}

/// Checks a part without printing it if it is wrong.
fn assert_shows(view: &View, range: &Range<usize>, expected: &[u8]) {
    let shown = part(view, range).unwrap();
    assert!(shown == expected, "wrong bytes in {range:?}");
}

fn is_not_shown<T>(result: Result<T, ViewError>) -> bool {
    matches!(result, Err(ViewError::NotShown { .. }))
}

/// One operation of a random test.
#[derive(Clone, Debug)]
enum Op {
    /// Writes every `stride`th page of some chunks and publishes.
    Publish {
        first: usize,
        chunks: usize,
        stride: usize,
    },
    /// Maps the newest version whole.
    Whole,
    /// Maps this part of the newest version.
    Part(Range<usize>),
    /// Maps this part of the version of a held view.
    PartOf(usize, Range<usize>),
    /// Drops one of the held views.
    Drop(usize),
}

const CHUNKS: usize = 6;
/// The last chunk is a partial one.
const PAGES: usize = (CHUNKS - 1) * 512 + 100;

/// Few different parts, so that windows are shared and taken over.
fn range() -> impl Strategy<Value = Range<usize>> {
    let limits = prop_oneof![
        (0..CHUNKS, 1..3usize).prop_map(|(first, chunks)| (first * CHUNK, chunks * CHUNK)),
        (0..PAGES * PAGE, 1..3 * CHUNK),
    ];
    limits.prop_map(|(at, len)| at..(at + len).min(PAGES * PAGE))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..CHUNKS, 1..=CHUNKS, prop_oneof![Just(1), 2..90usize])
            .prop_map(|(first, chunks, stride)| Op::Publish { first, chunks, stride }),
        2 => Just(Op::Whole),
        6 => range().prop_map(Op::Part),
        3 => (any::<usize>(), range()).prop_map(|(i, range)| Op::PartOf(i, range)),
        4 => any::<usize>().prop_map(Op::Drop),
    ]
}

/// A view, the part that it was made for, and the bytes of its version.
struct Held {
    view: View,
    range: Range<usize>,
    bytes: Vec<u8>,
}

impl Held {
    fn new(version: &Version, range: Range<usize>) -> Held {
        Held {
            view: view_part(version, &range),
            range,
            bytes: read(version),
        }
    }

    fn check(&self, when: &str) {
        let (view, range) = (&self.view, &self.range);
        let shown = part(view, range).unwrap();
        let wrong = (0..shown.len()).find(|i| shown[*i] != self.bytes[range.start + i]);
        assert_eq!(
            wrong,
            None,
            "version {}, part {range:?}, {when}",
            view.number()
        );
        let chunks = range.start / CHUNK..range.end.div_ceil(CHUNK);
        for chunk in 0..CHUNKS {
            let one = chunk * CHUNK + 5..chunk * CHUNK + 6;
            let inside = chunks.contains(&chunk) || chunks.len() == CHUNKS;
            assert_eq!(
                part(view, &one).is_ok(),
                inside,
                "chunk {chunk}, part {range:?}, {when}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_view_of_a_part_shows_the_bytes_of_its_version_and_no_others(
        ops in proptest::collection::vec(op(), 1..40),
        history in 0usize..4,
        deferred: bool,
        budget in prop_oneof![Just(0u64), Just(3 << 20), Just(u64::MAX)],
    ) {
        let mut p = Pair::with("parts", PAGES * PAGE, history, compacting(deferred));
        p.observer.set_copy_budget(budget);
        p.publish(0..3);
        let mut views: Vec<Held> = Vec::new();
        for op in ops {
            if views.len() > 8 {
                views.remove(0);
            }
            match op.clone() {
                Op::Publish { first, chunks, stride } => {
                    p.publish(pages_of(first, chunks, PAGES).step_by(stride));
                }
                Op::Whole => views.push(Held::new(&p.latest(), 0..PAGES * PAGE)),
                Op::Part(range) => views.push(Held::new(&p.latest(), range)),
                Op::PartOf(i, range) if !views.is_empty() => {
                    let version = views[i % views.len()].view.version().clone();
                    views.push(Held::new(&version, range));
                }
                Op::Drop(i) if !views.is_empty() => drop(views.remove(i % views.len())),
                Op::PartOf(..) | Op::Drop(_) => {}
            }
            views.iter().for_each(|held| held.check(&format!("after {op:?}")));
        }
        p.assert_mappings_counted(views.iter().map(|held| &held.view));
    }
}

#[test]
fn part_of_a_large_sparse_field_takes_mappings_for_its_own_runs_only() {
    const REGION: usize = 1 << 30;
    let mut p = Pair::new("corner", REGION, 1);
    p.observer.set_copy_budget(0);
    p.publish((0..REGION / PAGE).step_by(100));
    let version = p.latest();
    let range = 256 * CHUNK..258 * CHUNK;
    let pages = (range.start / PAGE..range.end / PAGE).filter(|page| page % 100 == 0);
    let pages = pages.count();
    let corner = view_part(&version, &range);
    let mut expected = vec![0; range.len()];
    version
        .read_bytes("bytes", range.start as u64, &mut expected)
        .unwrap();
    assert_shows(&corner, &range, &expected);
    // A run for each page and the zeros after it, and what is around.
    let mapped = mapped_in(&corner);
    assert!(
        (2 * pages..2 * pages + 4).contains(&mapped),
        "{mapped} for {pages} pages"
    );
    let counted = p.observer.stats().unwrap().mappings;
    assert!(
        (mapped..mapped + 4).contains(&counted),
        "{mapped}, counted as {counted}"
    );

    for at in [0, range.start - 1, range.end, REGION - 1] {
        assert!(is_not_shown(part(&corner, &(at..at + 1))), "byte {at}");
        assert_eq!(access(corner.address() + at), "---p", "byte {at}");
    }
    assert!(is_not_shown(part(&corner, &(range.start - 1..range.end))));
    assert!(is_not_shown(corner.bytes("bytes")));
    assert!(is_not_shown(corner.array::<u8>("bytes")));
    let whole = version.view().unwrap();
    assert!(mapped_in(&whole) > 100 * mapped, "a whole view needs more");
}

#[test]
fn window_is_shared_only_with_views_of_which_it_has_all() {
    let mut p = Pair::new("shared-parts", 8 * CHUNK, 1);
    p.publish(0..8 * 512);
    let (version, expected) = (p.latest(), read(&p.latest()));
    let [small, large] = [3 * CHUNK..4 * CHUNK, 2 * CHUNK..6 * CHUNK];
    let first = view_part(&version, &small);
    let wider = view_part(&version, &large);
    let again = view_part(&version, &small);
    let whole = version.view().unwrap();
    let corner = view_part(&version, &(7 * CHUNK..8 * CHUNK));
    let addresses = [&first, &wider, &whole].map(View::address);
    assert!(addresses[0] != addresses[1] && addresses[1] != addresses[2]);
    assert!(addresses[..2].contains(&again.address()));
    assert_eq!(corner.address(), whole.address());
    assert!(
        is_not_shown(part(&corner, &large)),
        "although the window has it"
    );
    assert_eq!(p.observer.stats().unwrap().windows, 3);
    drop((first, whole, wider));
    assert_right(&version.view().unwrap(), &expected, "after views of parts");
    assert_shows(&again, &small, &expected[small.clone()]);
    assert_shows(&corner, &(7 * CHUNK..8 * CHUNK), &expected[7 * CHUNK..]);
}

#[test]
fn views_of_parts_leave_the_window_of_whole_views_parked() {
    let mut p = Pair::new("parked", 16 * CHUNK, 1);
    p.publish(0..16 * 512);
    let address = p.latest().view().unwrap().address();
    for chunk in 0..16 {
        drop(view_part(
            &p.latest(),
            &(chunk * CHUNK..(chunk + 1) * CHUNK),
        ));
    }
    let stats = p.observer.stats().unwrap();
    assert_eq!(stats.windows, 5, "four of parts are kept: {stats:?}");
    p.publish((0..16 * 512).step_by(3));
    let view = p.latest().view().unwrap();
    assert_eq!(view.address(), address);
    assert_right(&view, &read(&p.latest()), "in the same window");
}

/// The shape of the field `a` below. Each row is 3 chunks long.
const SHAPE: [usize; 2] = [6, 3 * CHUNK / 4];

/// Returns a producer of an array `a` and of the fields `b` and `c` after it, and an observer of
/// its first version.
fn fields() -> (Producer, Observer) {
    let name = name("sub-array");
    let mut p = Producer::builder(&name)
        .capacity(64 << 20)
        .create()
        .unwrap();
    let a = p.field::<u32, _>("a", SHAPE).add().unwrap();
    let b = p.field::<f64, _>("b", [CHUNK / 4]).add().unwrap();
    p.field::<f64, _>("c", [CHUNK / 4]).add().unwrap();
    let mut view = p.view_mut(a).unwrap();
    view.indexed_iter_mut()
        .for_each(|((i, j), v)| *v = (i * 1000 + j) as u32);
    p.view_mut(b).unwrap().fill(4.0);
    p.publish_visible(1, 0.0).unwrap();
    let observer = Observer::attach(&name).unwrap();
    (p, observer)
}

#[test]
fn sub_array_has_the_values_of_its_indices_and_maps_only_their_chunks() {
    let (_producer, mut observer) = fields();
    let version = observer.latest().unwrap();
    let ranges = [1..4, 10..20];
    let view = version.view_part("a", &ranges).unwrap();
    let part = view.part::<u32>("a", &ranges).unwrap();
    assert_eq!(part.shape(), [3, 10]);
    for ((i, j), value) in part
        .into_dimensionality::<ndarray::Ix2>()
        .unwrap()
        .indexed_iter()
    {
        assert_eq!(*value as usize, (i + 1) * 1000 + j + 10);
    }
    let at = version.field("a").unwrap().offset as usize;
    let open = |chunk: usize| access(view.address() + at / CHUNK * CHUNK + chunk * CHUNK);
    let shown: Vec<usize> = (0..18).filter(|chunk| open(*chunk) != "---p").collect();
    assert!(shown.len() <= 6 && !shown.is_empty(), "chunks {shown:?}");

    assert_eq!(
        view.part::<u32>("a", &[2..3, 15..16]).unwrap()[[0, 0]],
        2015
    );
    assert!(is_not_shown(view.part::<u32>("a", &[4..5, 10..20])));
    assert!(is_not_shown(view.array::<u32>("a")));
    assert!(is_not_shown(view.array::<f64>("c")));
    for wrong in [[0..7, 0..1], [2..2, 0..1]] {
        let error = view.part::<u32>("a", &wrong).unwrap_err();
        assert!(matches!(error, ViewError::SubArray { .. }), "{error}");
        assert!(version.view_part("a", &wrong).is_err());
    }
    let error = view.part::<f32>("a", &ranges).unwrap_err();
    assert!(matches!(error, ViewError::Array(_)), "{error}");
    let whole = version.view().unwrap();
    assert_eq!(whole.part::<u32>("a", &[5..6, 0..2]).unwrap()[[0, 1]], 5001);
}

#[test]
fn view_of_fields_shows_these_fields() {
    let (_producer, mut observer) = fields();
    let version = observer.latest().unwrap();
    let view = version.view_of(&["b"]).unwrap();
    assert_eq!(
        view.array::<f64>("b").unwrap().sum(),
        (CHUNK / 4 * 4) as f64
    );
    assert!(is_not_shown(view.array::<u32>("a")));
    let both = version.view_of(&["c", "a"]).unwrap();
    assert_eq!(both.array::<f64>("c").unwrap().sum(), 0.0);
    assert_eq!(both.array::<u32>("a").unwrap()[[3, 7]], 3007);
    let none = version.view_of(&[]).unwrap();
    assert!(is_not_shown(none.bytes("a")) && is_not_shown(none.bytes("b")));
    let error = version.view_of(&["b", "d"]).unwrap_err();
    assert!(matches!(error, ViewError::NoField { .. }), "{error}");
}

#[test]
fn holes_of_planes_get_no_memory_when_a_part_is_viewed_or_read() {
    let mut p = Pair::new("holes", 32 * CHUNK, 1);
    p.publish((0..32 * 512).step_by(64));
    let (region, version) = (p.observer.info().unwrap().name, p.latest());
    let own = std::process::id() as i32;
    let before = plane_bytes_of(own, &region);
    assert!(before > 0);
    let range = 3 * CHUNK..20 * CHUNK;
    for budget in [0, u64::MAX] {
        p.observer.set_copy_budget(budget);
        let view = view_part(&version, &range);
        let sum = |bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>();
        let shown = sum(part(&view, &range).unwrap());
        assert_eq!(shown, sum(&read(&version)[range.clone()]));
    }
    assert!(plane_bytes_of(own, &region) <= before, "stray memory");
}
