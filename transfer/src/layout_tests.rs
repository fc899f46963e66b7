//! Layouts against lists of single bytes.

use super::*;
use proptest::prelude::*;

fn at(addr: usize, len: usize) -> Segment {
    Segment { addr, len }
}

/// Returns the address of each byte.
fn bytes(segments: &[Segment]) -> Vec<usize> {
    let range = |segment: &Segment| segment.addr..segment.addr + segment.len;
    segments.iter().flat_map(range).collect()
}

#[test]
fn what_cannot_be_declared_is_refused_with_its_reason() {
    assert_eq!(Layout::new([]), Err(LayoutError::Empty));
    let none = Layout::new([at(8, 1), at(16, 0)]);
    assert_eq!(none, Err(LayoutError::NoBytes { index: 1 }));
    let wraps = Layout::new([at(usize::MAX - 3, 8)]);
    assert!(matches!(wraps, Err(LayoutError::Wraps { index: 0, .. })));
    let overlap = Layout::new([at(100, 10), at(8, 4), at(109, 1)]);
    let (first, second) = (at(100, 10), at(109, 1));
    assert_eq!(overlap, Err(LayoutError::Overlap { first, second }));
    let many = Layout::new((0..=MOST_SEGMENTS).map(|i| at(8 + 2 * i, 1)));
    assert!(matches!(many, Err(LayoutError::TooMany { .. })));
    let many = Layout::strided(8, 1, &[usize::MAX, 2], &[2, 1 << 40]);
    assert!(matches!(many, Err(LayoutError::TooMany { .. })));
    let refused = [
        Layout::strided(1000, 8, &[2], &[]),
        Layout::strided(1000, 8, &[2], &[isize::MIN]),
        Layout::vector(1000, usize::MAX, 2, 2, 2),
        Layout::blocks(1000, 8, &[(isize::MIN, 1)]),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(LayoutError::Shape(_))), "{refused:?}");
    }
    let stays = Layout::strided(1000, 8, &[4], &[0]);
    assert!(matches!(stays, Err(LayoutError::Overlap { .. })));
    let none = Layout::strided(8, 8, &[0, 4], &[64, 8]);
    assert_eq!(none, Err(LayoutError::Empty));
}

#[test]
fn contiguous_arrays_are_one_segment_however_large() {
    let whole = Layout::strided(4096, 8, &[1 << 20, 1 << 10], &[1 << 13, 8]).unwrap();
    assert_eq!(whole.segments(), [at(4096, 1 << 33)]);
}

#[test]
fn blocks_and_vectors_have_the_order_that_they_are_given_in() {
    let blocks = Layout::blocks(1000, 4, &[(5, 2), (-3, 1)]).unwrap();
    assert_eq!(blocks.segments(), [at(1020, 8), at(988, 4)]);
    let vector = Layout::vector(1000, 8, 3, 2, -4).unwrap();
    assert_eq!(vector.segments(), [at(1000, 16), at(968, 16), at(936, 16)]);
}

proptest! {
    #[test]
    fn strided_arrays_have_the_bytes_of_their_elements(
        shape in proptest::collection::vec(1usize..5, 1..4),
        order in any::<bool>(),
        backwards in any::<bool>(),
        gap in 0usize..3,
    ) {
        // The strides of a larger array, so that no elements overlap.
        let mut strides = vec![0isize; shape.len()];
        let mut step = 8 * (1 + gap as isize);
        let mut dims: Vec<usize> = (0..shape.len()).collect();
        if order {
            dims.reverse();
        }
        for dim in dims {
            strides[dim] = if backwards { -step } else { step };
            step *= (shape[dim] + gap) as isize;
        }
        let base = 1usize << 30;
        let mut wanted = vec![base];
        for (len, stride) in shape.iter().zip(&strides) {
            let along = |addr: &usize| {
                let addr = *addr;
                (0..*len as isize).map(move |i| addr.wrapping_add_signed(i * stride))
            };
            wanted = wanted.iter().flat_map(along).collect();
        }
        let wanted: Vec<usize> = wanted.into_iter().flat_map(|addr| addr..addr + 8).collect();
        let layout = Layout::strided(base, 8, &shape, &strides).unwrap();
        prop_assert_eq!(bytes(layout.segments()), wanted);
    }

    #[test]
    fn windows_have_the_bytes_of_the_layout_from_their_offset_on(
        lens in proptest::collection::vec(1usize..20, 1..30),
        (offset, len, most) in (0u64..400, 0u64..400, 1usize..40),
    ) {
        let segments = lens.iter().enumerate().map(|(i, len)| at((100 - i) * 64, *len));
        let layout = Layout::new(segments).unwrap();
        let window = layout.window(offset, len, most);
        prop_assert!(window.len() <= most);
        let (all, some) = (bytes(layout.segments()), bytes(&window));
        let start = all.len().min(offset as usize);
        let wanted = &all[start..all.len().min(start + len as usize)];
        prop_assert!(wanted.starts_with(&some));
        prop_assert!(some.len() == wanted.len() || window.len() == most);
    }
}
