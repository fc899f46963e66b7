use super::sample::samples;
use crate::dynamic;
use crate::{Extract, Selection, SliceError, Taken};
use proptest::prelude::*;
use tcasm_core::field::{self, Centering, DType, FieldDesc, Mesh, Order};

const MESH: Mesh = Mesh {
    origin: [1.0, 2.0, 3.0],
    spacing: [0.5, 0.25, 2.0],
};

/// Returns the axis of a 3-d field that has the coordinate x (0), y or z.
fn axis_of(order: Order, coordinate: usize) -> usize {
    match order {
        Order::C => 2 - coordinate,
        Order::F => coordinate,
    }
}

/// Returns the value at a place of the mesh. No two places have the same.
fn value(mesh: &Mesh, desc: &FieldDesc, index: [isize; 3]) -> f64 {
    let middle = f64::from(u8::from(desc.centering == Centering::Cell)) / 2.0;
    let index = |c: usize| index[axis_of(desc.order, c)] as f64 + middle;
    let at = |c: usize| mesh.origin[c] + index(c) * mesh.spacing[c];
    at(0) + 100.0 * at(1) + 10_000.0 * at(2)
}

/// Returns a field with ghost layers whose values are those of their places.
fn field_of_places(order: Order, centering: Centering) -> (FieldDesc, Vec<f64>) {
    let mut desc = FieldDesc::new("f", DType::F64, &[5, 8, 9]);
    desc.ghosts = vec![[1, 0], [2, 1], [0, 3]];
    (desc.order, desc.centering, desc.mesh) = (order, centering, Some(MESH));
    let mut values = vec![0.0; 5 * 8 * 9];
    let bytes = bytemuck::cast_slice_mut(&mut values);
    let array = field::view_mut::<f64>(&desc, bytes).unwrap();
    let mut array = array.into_dimensionality::<ndarray::Ix3>().unwrap();
    for ((i, j, k), v) in array.indexed_iter_mut() {
        *v = value(&MESH, &desc, [i as isize - 1, j as isize - 2, k as isize]);
    }
    (desc, values)
}

fn numbers<T, const N: usize>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|b| number(*b))
        .collect()
}

fn extract(selection: &str, stride: usize) -> Extract {
    Extract {
        selection: selection.parse().unwrap(),
        stride,
        single: false,
    }
}

#[test]
fn values_of_a_part_lie_where_its_mesh_says() {
    for (order, centering) in [
        (Order::C, Centering::Point),
        (Order::F, Centering::Point),
        (Order::C, Centering::Cell),
        (Order::F, Centering::Cell),
    ] {
        let (desc, values) = field_of_places(order, centering);
        for (selection, stride, shape) in [
            ("1:3", 1, [2_usize, 5, 6]),
            (":,2,:", 1, [4, 1, 6]),
            ("::2,1::3,-3:", 1, [2, 2, 3]),
            ("-1,...,1", 1, [1, 5, 1]),
            ("...", 2, [2, 3, 3]),
            ("1:,:4:2,3", 3, [1, 1, 1]),
        ] {
            let extract = extract(selection, stride);
            assert!(!extract.is_whole(&desc));
            let part = extract.describe([&desc]).unwrap().remove(0);
            assert_eq!(part.shape, shape, "{selection}");
            assert!(!part.has_ghosts() && part.order == order);
            let bytes = extract
                .values(&desc, bytemuck::cast_slice(&values))
                .unwrap();
            let read = numbers(&bytes, f64::from_le_bytes);
            let array = field::view::<f64>(&part, bytemuck::cast_slice(&read)).unwrap();
            let array = array.into_dimensionality::<ndarray::Ix3>().unwrap();
            let mesh = part.mesh.unwrap();
            for ((i, j, k), v) in array.indexed_iter() {
                let index = [i as isize, j as isize, k as isize];
                assert_eq!(*v, value(&mesh, &part, index), "{selection} {index:?}");
            }
        }
    }
}

#[test]
fn taken_indices_are_those_of_the_part() {
    let desc = FieldDesc::new("f", DType::F64, &[5, 9, 1]);
    let taken = |selection: &str, stride| {
        let taken = extract(selection, stride).taken(&desc).unwrap();
        let of = |t: &Taken| (t.start, t.count, t.step);
        taken.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(taken("1:4,::2", 2), [(1, 2, 2), (0, 3, 4), (0, 1, 1)]);
    // A step that leads to no other index is none.
    assert_eq!(taken("-1,3:8:7", 1), [(4, 1, 1), (3, 1, 1), (0, 1, 1)]);
    let mut desc = FieldDesc::new("f", DType::F64, &[0]);
    desc.capacity = Some(3);
    let nothing = extract("...", 2).taken(&desc).unwrap();
    assert_eq!((nothing[0].start, nothing[0].count), (0, 0));
    let same = extract("...", 2).with_indices(&nothing);
    assert!(same.values(&desc, &[]).unwrap().is_empty());
}

#[test]
fn parts_of_fields_without_a_mesh_get_that_of_their_indices() {
    let plain = FieldDesc::new("a", DType::F32, &[10, 20]);
    let mut placed = FieldDesc::new("b", DType::F32, &[10, 20]);
    placed.mesh = Some(MESH);
    let extract = extract("2:,4:", 2);
    let own = extract.describe([&plain]).unwrap()[0].mesh.unwrap();
    assert_eq!(own.origin, [4.0, 2.0, 0.0]);
    assert_eq!(own.spacing, [2.0, 2.0, 1.0]);
    // Beside a field with a mesh it lies on that mesh, as before.
    let both = extract.describe([&plain, &placed]).unwrap();
    assert_eq!(both[0].mesh, None);
    let mesh = both[1].mesh.unwrap();
    assert_eq!((mesh.origin[0], mesh.spacing[0]), (3.0, 1.0));
}

#[test]
fn only_numbers_of_64_bits_with_a_fraction_become_single() {
    let single = Extract {
        single: true,
        ..Extract::default()
    };
    let dtypes = DType::ALL.map(|dtype| {
        let desc = FieldDesc::new("f", dtype, &[3]);
        assert_eq!(
            single.is_whole(&desc),
            single.describe([&desc]).unwrap()[0] == desc
        );
        single.describe([&desc]).unwrap()[0].dtype
    });
    let expected = DType::ALL.map(|dtype| match dtype {
        DType::F64 => DType::F32,
        DType::C64 => DType::C32,
        other => other,
    });
    assert_eq!(dtypes, expected);
    let (desc, values) = field_of_places(Order::F, Centering::Point);
    let part = single.describe([&desc]).unwrap().remove(0);
    assert_eq!((&part.ghosts, part.mesh), (&desc.ghosts, desc.mesh));
    let bytes = single.values(&desc, bytemuck::cast_slice(&values)).unwrap();
    let right: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    assert_eq!(numbers(&bytes, f32::from_le_bytes), right);
    let pair = FieldDesc::new("z", DType::C64, &[1]);
    let bytes = single
        .values(&pair, bytemuck::cast_slice(&[1.5_f64, -1e300]))
        .unwrap();
    let right = [1.5, f32::NEG_INFINITY];
    assert_eq!(numbers(&bytes, f32::from_le_bytes), right);
}

#[test]
fn parts_that_no_file_can_hold_are_refused_with_the_reason() {
    let (desc, _) = field_of_places(Order::C, Centering::Point);
    let message = |selection: &str| {
        let error = extract(selection, 1).describe([&desc]).unwrap_err();
        error.to_string()
    };
    let backwards = SliceError::Backwards { axis: 1, step: -2 };
    assert_eq!(message(":,::-2"), format!("field \"f\": {backwards}"));
    assert!(message("4").contains("outside axis 0 of length 4"));
    assert!(message("0,0,0,0").contains("4 axes"));
    let mut raw = FieldDesc::new("r", DType::U8, &[3]);
    raw.kind = tcasm_core::field::Kind::Raw {
        type_name: "Node".to_owned(),
        align: 1,
    };
    assert!(extract("...", 1).describe([&raw]).is_ok());
    assert!(extract("...", 2).describe([&raw]).is_err());
}

proptest! {
    #[test]
    fn part_has_the_same_numbers_as_a_slice(sample in samples(), step in 1..4_isize) {
        let desc = &sample.desc;
        let range = crate::Pick::Range { start: None, stop: None, step };
        let selection = Selection::new(desc.shape.iter().map(|_| range));
        let expected = dynamic::slice(desc, sample.bytes(), &selection).unwrap();
        for extract in [
            Extract { selection: selection.clone(), ..Extract::default() },
            Extract { stride: step as usize, ..Extract::default() },
        ] {
            let part = extract.describe([desc]).unwrap().remove(0);
            let bytes = extract.values(desc, sample.bytes()).unwrap();
            prop_assert_eq!(bytes.len() as u64, part.bytes());
            // A whole field has its ghost layers, which no indices name.
            if !extract.is_whole(desc) {
                let same = extract.with_indices(&extract.taken(desc).unwrap());
                prop_assert_eq!(&same.values(desc, sample.bytes()).unwrap(), &bytes);
            }
            let mut words = vec![0_u64; bytes.len().div_ceil(8)];
            bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(&bytes);
            let bytes = &bytemuck::cast_slice::<u64, u8>(&words)[..part.bytes() as usize];
            let got = dynamic::slice(&part, bytes, &Selection::all()).unwrap();
            prop_assert_eq!(format!("{got:?}"), format!("{expected:?}"));
        }
    }
}
