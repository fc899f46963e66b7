//! Tests of the parts of meshes.

use super::*;
use tcasm_core::field::{Block, DType, Order};

fn field(name: &str, shape: &[usize], on: &str) -> FieldDesc {
    FieldDesc {
        on: Some(on.to_owned()),
        ..FieldDesc::new(name, DType::F64, shape)
    }
}

/// Returns a table with `fields` and the meshes `r`, of 5 points along x and 4 along y, and
/// `line`, with the same along x.
fn table(fields: Vec<FieldDesc>) -> FieldTable {
    let axes = [("x", 5), ("y", 4)].map(|(name, n)| FieldDesc::new(name, DType::F64, &[n]));
    let mesh = |name: &str, axes: &[&str]| MeshDesc {
        name: name.to_owned(),
        kind: MeshKind::Rectilinear {
            coordinates: axes.iter().map(|axis| (*axis).to_owned()).collect(),
        },
        block: Some(Block {
            of: "amr".to_owned(),
            level: 1,
            refinement: [2; 3],
            offset: [4, -2, 0],
        }),
        attrs: BTreeMap::new(),
    };
    let table = FieldTable {
        fields: fields.into_iter().chain(axes).collect(),
        meshes: vec![mesh("r", &["x", "y"]), mesh("line", &["x"])],
        ..FieldTable::default()
    };
    table.check_meshes().unwrap();
    table
}

fn cut<'t>(table: &'t FieldTable, selection: &str, stride: usize) -> Cut<'t> {
    let extract = Extract {
        selection: selection.parse().unwrap(),
        stride,
        single: false,
    };
    let chosen: Vec<&FieldDesc> = table.fields.iter().collect();
    Cut::of(table, &chosen, &extract).unwrap()
}

/// Returns what is taken of the coordinates `name`: the first, how many, and the step.
fn taken(cut: &Cut<'_>, name: &str) -> (usize, usize, usize) {
    let taken = cut.geometry[name][0];
    (taken.start, taken.count, taken.step)
}

#[test]
fn axes_of_a_field_are_cut_whatever_its_order_is_and_others_leave_the_mesh() {
    let mut first = field("first", &[5, 4], "r");
    first.order = Order::F;
    let other = field("other", &[4, 5], "r");
    let table = table(vec![first, other]);
    let part = cut(&table, "1:3,2", 1);
    assert_eq!(taken(&part, "x"), (1, 2, 1));
    assert_eq!(taken(&part, "y"), (2, 1, 1));
    let on = |cut: &Cut<'_>| [0, 1].map(|i| cut.is_on_mesh(&table.fields[i]));
    assert_eq!(on(&part), [true, false]);
    assert_eq!(on(&cut(&table, "...", 3)), [true, true]);
}

#[test]
fn cells_need_the_points_around_them_and_cannot_have_steps() {
    let mut cells = field("cells", &[3, 4], "r");
    cells.centering = Centering::Cell;
    let table = table(vec![cells, field("points", &[4, 5], "r")]);
    let part = cut(&table, "1:3,:2", 1);
    assert_eq!(taken(&part, "x"), (0, 3, 1));
    assert_eq!(taken(&part, "y"), (1, 3, 1));
    assert!(part.is_on_mesh(&table.fields[0]) && !part.is_on_mesh(&table.fields[1]));
    let part = cut(&table, "...", 2);
    assert_eq!(taken(&part, "x"), (0, 3, 2));
    assert!(!part.is_on_mesh(&table.fields[0]) && part.is_on_mesh(&table.fields[1]));
}

#[test]
fn no_coordinates_are_cut_in_two_ways() {
    let table = table(vec![field("t", &[4, 5], "r"), field("e", &[5], "line")]);
    let [r, line] = [&table.meshes[0], &table.meshes[1]];
    let part = cut(&table, "1:3", 1);
    assert_eq!(taken(&part, "x"), (0, 5, 1));
    assert!(part.has(r) && !part.has(line) && !part.is_on_mesh(&table.fields[1]));
    let part = cut(&table, "...", 2);
    assert!(part.has(r) && part.has(line) && part.is_on_mesh(&table.fields[1]));
}

#[test]
fn part_of_a_block_lies_at_its_first_cell_and_is_no_block_with_steps() {
    let table = table(vec![field("t", &[4, 5], "r")]);
    let block = |selection: &str| cut(&table, selection, 1).meshes(&table)[0].block.clone();
    assert_eq!(block("1:3,2:").unwrap().offset, [6, -1, 0]);
    assert_eq!(block("1:3,::2"), None);
}

/// Returns a block of 9 points along each axis, which are none if it is unused, with the cells q
/// and the points t on it.
fn uniform(is_used: bool) -> FieldTable {
    let cells = |n: usize| if is_used { n } else { 0 };
    let mut fields = [("q", 8), ("t", 9)].map(|(name, n)| FieldDesc {
        capacity: Some(n),
        ..field(name, &[cells(n), n, n], "b")
    });
    fields[0].centering = Centering::Cell;
    let mut table = table(Vec::new());
    table.fields = fields.into_iter().chain(table.fields).collect();
    table.meshes.push(MeshDesc {
        name: "b".to_owned(),
        kind: MeshKind::Uniform {
            points: [9, 9, cells(9)],
            origin: [1.0; 3],
            spacing: [0.5; 3],
        },
        block: table.meshes[0].block.clone(),
        attrs: BTreeMap::new(),
    });
    table.check_meshes().unwrap();
    table
}

/// Returns the part of the last mesh of `table`.
fn last(table: &FieldTable, selection: &str, stride: usize) -> MeshDesc {
    let mut meshes = cut(table, selection, stride).meshes(table);
    meshes.pop().unwrap()
}

#[test]
fn part_of_a_uniform_mesh_has_an_origin_and_a_spacing() {
    let table = uniform(true);
    let part = last(&table, "2:5,3", 1);
    let kind = MeshKind::Uniform {
        points: [9, 2, 4],
        origin: [1.0, 2.5, 2.0],
        spacing: [0.5; 3],
    };
    assert_eq!((part.name.as_str(), part.kind), ("b", kind));
    assert_eq!(part.block.unwrap().offset, [4, 1, 2]);
    // The middle of every other cell, beginning with that of the first one.
    let part = last(&table, "...", 2);
    let kind = MeshKind::Uniform {
        points: [5; 3],
        origin: [0.75; 3],
        spacing: [1.0; 3],
    };
    assert_eq!((part.kind, part.block), (kind, None));
    let cut = cut(&table, "...", 2);
    assert_eq!(
        [0, 1].map(|i| cut.is_on_mesh(&table.fields[i])),
        [true, false]
    );
}

#[test]
fn nothing_is_taken_of_an_unused_mesh_and_its_part_stays_one() {
    let (used, unused) = (uniform(true), uniform(false));
    for (selection, stride) in [("4", 1), ("2:5,3", 1), ("...", 2), ("::2", 1)] {
        let part = last(&unused, selection, stride);
        let MeshKind::Uniform { points, .. } = part.kind else {
            panic!("{part:?}");
        };
        let extract = Extract {
            selection: selection.parse().unwrap(),
            stride,
            single: false,
        };
        let cut = cut(&unused, selection, stride);
        let q = &unused.fields[0];
        let stored = cut.extract(q, &extract).part(q, None).unwrap();
        assert_eq!((stored.shape[0], points[2]), (0, 0), "{selection}");
        assert_eq!(stored.shape[2] + 1, points[0], "{selection}");
        // The series goes on: the part is a block in both versions or in none.
        let there = last(&used, selection, stride);
        assert_eq!(there.block.is_some(), part.block.is_some(), "{selection}");
    }
}
