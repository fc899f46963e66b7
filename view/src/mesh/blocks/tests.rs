//! Blocks of two levels: the cells over all of them, and the parts that a slice cuts.

use super::*;
use tcasm_core::field::DType;

/// Returns the table of a coarse block of 4 x 4 cells of size 1 at the origin, a fine one of the
/// same number of cells of size 0.5 at (2, 0), and a fine one that is unused.
fn table() -> FieldTable {
    let mut table = FieldTable::default();
    for (name, level, count, x, size) in [
        ("fine", 1, 4, 2.0, 0.5),
        ("coarse", 0, 4, 0.0, 1.0),
        ("unused", 1, 0, 9.0, 0.25),
    ] {
        let mut field = FieldDesc::new(&format!("rho-{name}"), DType::F64, &[count, 4]);
        field.on = Some(name.to_owned());
        field.quantity = Some("rho".to_owned());
        field.centering = Centering::Cell;
        field.capacity = Some(4);
        table.fields.push(field);
        let points = if count == 0 { 0 } else { count + 1 };
        table.meshes.push(MeshDesc {
            name: name.to_owned(),
            kind: MeshKind::Uniform {
                points: [5, points, 1],
                origin: [x, 0.0, 0.0],
                spacing: [size, size, 1.0],
            },
            block: Some(Block {
                of: "amr".to_owned(),
                level,
                refinement: [2, 2, 1],
                offset: [0; 3],
            }),
            attrs: Default::default(),
        });
    }
    table.check_meshes().unwrap();
    table
}

fn slice(pixels: [usize; 2]) -> Slice {
    Slice {
        axes: [0, 1],
        at: vec![0, 0],
        pixels,
        ..Slice::default()
    }
}

#[test]
fn whole_has_its_blocks_in_order_of_level_and_cells_of_the_finest() {
    let table = table();
    let whole = whole(&table, "amr/rho").unwrap();
    let names = whole.members.iter().map(|m| m.mesh.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["coarse", "fine", "unused"]);
    assert_eq!(wholes(&table).len(), 1);
    assert_eq!(wholes(&table)[0].name(), "amr/rho");
    let members = members_of(&table, "amr/rho");
    assert_eq!(members, ["rho-coarse", "rho-fine", "rho-unused"]);
    assert!(super::whole(&table, "amr/u").is_none() && super::whole(&table, "rho").is_none());
    let used = whole.used();
    assert_eq!(used.len(), 2);
    let cells = whole.cells(&used);
    assert_eq!(cells.shape, [8, 8]);
    let axes = cells.axes.unwrap();
    assert_eq!(axes.origin, [0.0, 0.0]);
    assert_eq!(axes.spacing, [0.5, 0.5]);
    assert_eq!(whole.cells(&[]).shape, [0, 0]);
}

#[test]
fn fields_that_differ_or_are_alone_are_no_part_of_a_whole() {
    let mut other = table();
    other.fields[2].unit = "kg".to_owned();
    assert_eq!(members_of(&other, "amr/rho"), ["rho-coarse", "rho-fine"]);
    let mut alone = table();
    alone.fields.truncate(1);
    assert!(wholes(&alone).is_empty());
}

#[test]
fn slice_cuts_each_block_in_its_own_indices() {
    let table = table();
    let whole = whole(&table, "amr/rho").unwrap();
    let used = whole.used();
    let axes = whole.cells(&used).axes.unwrap();
    let all = cut(&used, &axes, &slice([80, 80])).unwrap();
    let windows: Vec<_> = all.iter().map(|(n, s)| (*n, s.rows, s.cols)).collect();
    let every = Some([0, 4]);
    assert_eq!(windows, [(0, every, every), (1, every, every)]);
    // From x = 1 to x = 3.5, and the lower row of the coarse block.
    let window = Slice {
        rows: Some([0, 2]),
        cols: Some([2, 7]),
        ..slice([80, 80])
    };
    let part = cut(&used, &axes, &window).unwrap();
    assert_eq!(part[0].1.cols, Some([1, 4]));
    assert_eq!(part[0].1.rows, Some([0, 1]));
    assert_eq!(part[1].1.cols, Some([0, 3]));
    assert_eq!(part[1].1.rows, Some([0, 2]));
    let left = Slice {
        cols: Some([0, 3]),
        ..slice([80, 80])
    };
    let part = cut(&used, &axes, &left).unwrap();
    assert_eq!(part.len(), 1, "the fine block is not in this window");
    assert!(
        cut(
            &used,
            &axes,
            &Slice {
                axes: [1, 1],
                ..slice([8, 8])
            }
        )
        .is_err()
    );
    assert!(
        cut(
            &used,
            &axes,
            &Slice {
                at: vec![0],
                ..slice([8, 8])
            }
        )
        .is_err()
    );
}

#[test]
fn all_blocks_together_have_as_many_samples_as_there_are_pixels() {
    let table = table();
    let whole = whole(&table, "amr/rho").unwrap();
    let used = whole.used();
    let axes = whole.cells(&used).axes.unwrap();
    for most in [1, 2, 3, 4, 5] {
        let parts = cut(&used, &axes, &slice([most, most])).unwrap();
        assert_eq!(parts.len(), 2);
        assert!(samples(&parts) <= (most * most).max(2), "{most}: {parts:?}");
    }
    let parts = cut(&used, &axes, &slice([8, 8])).unwrap();
    assert_eq!(
        samples(&parts),
        32,
        "each value, as there are pixels for all"
    );
}

#[test]
fn point_has_the_finest_block_that_is_there() {
    let table = table();
    let whole = whole(&table, "amr/rho").unwrap();
    let used = whole.used();
    let axes = whole.cells(&used).axes.unwrap();
    let at = |index: [usize; 2]| {
        let found = block_at(&used, &axes, &index).unwrap();
        found.map(|(block, index)| (block.member.mesh.name.clone(), index))
    };
    assert_eq!(at([1, 5]), Some(("fine".to_owned(), vec![1, 1])));
    assert_eq!(at([1, 3]), Some(("coarse".to_owned(), vec![0, 1])));
    assert_eq!(at([5, 5]), Some(("coarse".to_owned(), vec![2, 2])));
    assert_eq!(at([1, 8]), None);
    assert!(block_at(&used, &axes, &[1]).is_err());
}

#[test]
fn cells_without_a_size_are_refused() {
    let axes = |origin: &[f64], spacing: &[f64]| Axes {
        origin: origin.to_vec(),
        spacing: spacing.to_vec(),
    };
    assert!(check_cells(&axes(&[0.0, 1.0], &[0.5, 0.5]), 2).is_ok());
    for bad in [
        axes(&[0.0], &[0.5]),
        axes(&[0.0, 1.0], &[0.5, 0.0]),
        axes(&[0.0, 1.0], &[-0.5, 0.5]),
        axes(&[0.0, f64::NAN], &[0.5, 0.5]),
    ] {
        assert!(check_cells(&bad, 2).is_err(), "{bad:?}");
    }
}

#[test]
fn slice_through_values_on_points_cuts_the_blocks_at_its_height() {
    let mut table = FieldTable::default();
    // Two cubes of 3 points along each axis, one above the other: z from 0 to 2 and from 3 to 5.
    for (name, z) in [("below", 0.0), ("above", 3.0)] {
        let mut field = FieldDesc::new(&format!("t-{name}"), DType::F64, &[3, 3, 3]);
        field.on = Some(name.to_owned());
        field.quantity = Some("t".to_owned());
        table.fields.push(field);
        table.meshes.push(MeshDesc {
            name: name.to_owned(),
            kind: MeshKind::Uniform {
                points: [3; 3],
                origin: [0.0, 0.0, z],
                spacing: [1.0; 3],
            },
            block: Some(Block {
                of: "tower".to_owned(),
                level: 0,
                refinement: [2; 3],
                offset: [0; 3],
            }),
            attrs: Default::default(),
        });
    }
    table.check_meshes().unwrap();
    let whole = whole(&table, "tower/t").unwrap();
    let used = whole.used();
    let cells = whole.cells(&used);
    assert_eq!(cells.shape, [6, 3, 3]);
    let axes = cells.axes.unwrap();
    assert_eq!(axes.origin, [-0.5; 3], "half a cell below the first points");
    for (height, name, index) in [(2, "below", 2), (3, "above", 0), (5, "above", 2)] {
        let slice = Slice {
            axes: [1, 2],
            at: vec![height, 0, 0],
            pixels: [9, 9],
            ..Slice::default()
        };
        let parts = cut(&used, &axes, &slice).unwrap();
        assert_eq!(parts.len(), 1, "at {height}");
        assert_eq!(used[parts[0].0].member.mesh.name, name);
        assert_eq!(parts[0].1.at[0], index);
        assert_eq!(parts[0].1.cols, Some([0, 3]));
    }
}
