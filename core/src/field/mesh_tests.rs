//! Tests of tables with named meshes: sound ones pass as they are, and each damage is refused with
//! an error of its own.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The most points and cells of a mesh in these tests.
const MOST: usize = 9;

/// What a random mesh is made of. Each kind takes of it what it needs.
#[derive(Clone, Debug)]
struct Plan {
    kind: usize,
    /// Points along x, y, z.
    points: [usize; 3],
    /// The number of axes of a rectilinear or curvilinear mesh.
    axes: usize,
    /// Points and cells of a mesh without structure.
    counts: [usize; 2],
    variable: bool,
    order: Order,
}

fn plan() -> impl Strategy<Value = Plan> {
    let order = prop_oneof![Just(Order::C), Just(Order::F)];
    let counts = [0..=MOST, 0..=MOST];
    let points = [1usize..5, 1..5, 1..5];
    (0usize..6, points, 1usize..4, counts, any::<bool>(), order).prop_map(
        |(kind, points, axes, counts, variable, order)| Plan {
            kind,
            points,
            axes,
            counts,
            // Fields of a fixed length have at least one value.
            variable: variable || counts.contains(&0),
            order,
        },
    )
}

/// Returns a field of one dimension.
fn list(name: &str, dtype: DType, components: usize, len: usize) -> FieldDesc {
    let mut field = FieldDesc::new(name, dtype, &[len]);
    field.components = components;
    field
}

/// Returns a field with `shape`, whose slowest axis comes first.
fn grid(name: &str, order: Order, shape: &[usize]) -> FieldDesc {
    let mut shape = shape.to_vec();
    if order == Order::F {
        shape.reverse();
    }
    let mut field = FieldDesc::new(name, DType::F64, &shape);
    field.order = order;
    field
}

impl Plan {
    /// Returns a mesh called `name` and its geometry.
    fn mesh(&self, name: &str) -> (MeshDesc, Vec<FieldDesc>) {
        let field = |part: &str| format!("{name}_{part}");
        let ([x, y, z], [points, cells]) = (self.points, self.counts);
        let axes: Vec<usize> = [z, y, x][3 - self.axes..].to_vec();
        let vertices = || list(&field("points"), DType::F64, 3, points);
        let (kind, fields) = match self.kind {
            0 => (uniform(self.points), Vec::new()),
            1 => {
                let names: Vec<String> = (0..self.axes).map(|i| field(&format!("x{i}"))).collect();
                let lens = axes.iter().rev();
                let fields = names.iter().zip(lens);
                let fields = fields
                    .map(|(name, n)| list(name, DType::F32, 1, *n))
                    .collect();
                (MeshKind::Rectilinear { coordinates: names }, fields)
            }
            2 => {
                let mut at = grid(&field("at"), self.order, &axes);
                at.components = 3;
                let coordinates = at.name.clone();
                (MeshKind::Curvilinear { coordinates }, vec![at])
            }
            3 => {
                let connectivity = list(&field("cells"), DType::I64, 4, cells);
                let kind = same(&field("points"), CellType::TETRA, &connectivity.name);
                (kind, vec![vertices(), connectivity])
            }
            4 => {
                let fields = vec![
                    vertices(),
                    list(&field("cells"), DType::U32, 1, 2 * cells),
                    list(&field("offsets"), DType::U64, 1, cells + 1),
                    list(&field("types"), DType::U8, 1, cells),
                ];
                (mixed(&fields), fields)
            }
            _ => {
                let positions = field("points");
                (MeshKind::Particles { positions }, vec![vertices()])
            }
        };
        (mesh(name, kind), fields)
    }

    /// Returns a field on the points of `mesh`, one in its cells and one of its own size.
    fn fields(&self, mesh: &MeshDesc, size: &MeshSize) -> Vec<FieldDesc> {
        let field = |part: &str, shape: &[usize], centering| {
            let mut field = grid(&format!("{}_{part}", mesh.name), self.order, shape);
            field.on = Some(mesh.name.clone());
            field.quantity = Some(part.to_owned());
            field.centering = centering;
            field
        };
        vec![
            field("p", &size.points, Centering::Point),
            field("c", &size.cells, Centering::Cell),
            field("t", &[3], Centering::None),
        ]
    }

    /// Adds the mesh, its geometry and fields on it to `table`.
    fn add_to(&self, table: &mut FieldTable, name: &str) {
        let (mesh, geometry) = self.mesh(name);
        table.fields.extend(geometry);
        let size = table.size_of(&mesh).unwrap();
        let mut fields = self.fields(&mesh, &size);
        if self.kind == 5 {
            fields.remove(1); // particles have no cells
        }
        table.fields.extend(fields);
        table.meshes.push(mesh);
        let own = format!("{name}_");
        for field in table.fields.iter_mut().filter(|f| f.name.starts_with(&own)) {
            if self.variable && field.slowest_axis().is_some() {
                field.capacity = Some(2 * MOST + 1);
            }
        }
    }
}

fn mesh(name: &str, kind: MeshKind) -> MeshDesc {
    MeshDesc {
        name: name.to_owned(),
        kind,
        block: None,
        attrs: BTreeMap::new(),
    }
}

fn uniform(points: [usize; 3]) -> MeshKind {
    MeshKind::Uniform {
        points,
        origin: [0.0, 1.0, -1.0],
        spacing: [0.5; 3],
    }
}

fn same(points: &str, cell_type: CellType, connectivity: &str) -> MeshKind {
    MeshKind::Unstructured {
        points: points.to_owned(),
        cells: Cells::Same {
            cell_type,
            connectivity: connectivity.to_owned(),
        },
    }
}

/// Returns a mesh of points, connectivity, offsets and types, in this order.
fn mixed(fields: &[FieldDesc]) -> MeshKind {
    let name = |i: usize| fields[i].name.clone();
    MeshKind::Unstructured {
        points: name(0),
        cells: Cells::Mixed {
            connectivity: name(1),
            offsets: name(2),
            types: name(3),
        },
    }
}

/// Returns a table with a mesh of each kind, whose points and cells are `counts` where they may be
/// any.
fn every_kind(counts: [usize; 2]) -> FieldTable {
    let mut table = FieldTable::default();
    for kind in 0..6 {
        let plan = Plan {
            kind,
            points: [4, 3, 2],
            axes: 3,
            counts,
            variable: true,
            order: Order::C,
        };
        plan.add_to(&mut table, &format!("m{kind}"));
    }
    table
}

fn decoded(table: &FieldTable) -> Result<FieldTable, TableError> {
    FieldTable::decode(&table.encode().unwrap(), 1 << 20, 4096)
}

proptest! {
    #[test]
    fn sound_tables_are_decoded_as_they_were(plans in proptest::collection::vec(plan(), 0..5)) {
        let mut table = FieldTable::default();
        for (i, plan) in plans.iter().enumerate() {
            plan.add_to(&mut table, &format!("m{i}"));
        }
        let read = decoded(&table).unwrap();
        prop_assert_eq!(&read, &table);
        for mesh in &read.meshes {
            let size = read.size_of(mesh).unwrap();
            for field in read.fields_on(&mesh.name) {
                prop_assert_eq!(read.mesh_of(field), Some(mesh));
                prop_assert!(field.capacity.is_none_or(|most| field.length() <= most));
            }
            for name in mesh.geometry() {
                prop_assert_eq!(read.geometry_of(name), Some(mesh));
            }
            prop_assert_eq!(size.points.len(), size.cells.len());
        }
    }
}

/// Returns the error of a table with a mesh of each kind after `damage`.
fn refused(damage: impl FnOnce(&mut FieldTable)) -> TableError {
    let mut table = every_kind([5, 2]);
    assert!(decoded(&table).is_ok());
    damage(&mut table);
    decoded(&table).unwrap_err()
}

fn field<'a>(table: &'a mut FieldTable, name: &str) -> &'a mut FieldDesc {
    let field = table.fields.iter_mut().find(|f| f.name == name);
    field.unwrap_or_else(|| panic!("no field {name}"))
}

macro_rules! refuses {
    ($damage:expr, $error:pat, $($text:expr),+) => {
        let error = refused($damage);
        assert!(matches!(error, $error), "{error:?}");
        let text = error.to_string();
        $(assert!(text.contains($text), "{text}");)+
    };
}

#[test]
fn wrong_extents_are_refused_with_both() {
    use TableError::Mesh;
    refuses!(
        |t| field(t, "m0_p").shape[0] = 3,
        Mesh(MeshDescError::Shape { .. }),
        "[3, 3, 4]",
        "[2, 3, 4]",
        "points"
    );
    refuses!(
        |t| field(t, "m1_c").shape[2] = 4,
        Mesh(MeshDescError::Shape { .. }),
        "[1, 2, 4]",
        "[1, 2, 3]",
        "cells"
    );
    refuses!(
        |t| field(t, "m2_at").shape[0] = 1,
        Mesh(MeshDescError::Shape { .. }),
        "m2_p"
    );
    refuses!(
        |t| field(t, "m5_points").shape[0] = 6,
        Mesh(MeshDescError::Shape { .. }),
        "m5_p"
    );
    refuses!(
        |t| field(t, "m4_offsets").shape[0] = 2,
        Mesh(MeshDescError::Geometry { .. }),
        "2 values",
        "2 cells"
    );
    refuses!(
        |t| field(t, "m3_c").centering = Centering::Point,
        Mesh(MeshDescError::Shape { .. }),
        "[2]",
        "[5]"
    );
}

#[test]
fn geometry_that_does_not_fit_is_refused() {
    use TableError::Mesh;
    let renamed =
        |from: &'static str| move |t: &mut FieldTable| field(t, from).name = "other".to_owned();
    for name in [
        "m1_x1",
        "m2_at",
        "m3_points",
        "m3_cells",
        "m4_offsets",
        "m5_points",
    ] {
        refuses!(renamed(name), Mesh(MeshDescError::NoField { .. }), name);
    }
    for name in [
        "m1_x1",
        "m2_at",
        "m3_points",
        "m3_cells",
        "m4_types",
        "m4_cells",
        "m5_points",
    ] {
        refuses!(
            |t| field(t, name).dtype = DType::C64,
            Mesh(MeshDescError::Geometry { .. }),
            name
        );
    }
    for name in [
        "m1_x1",
        "m2_at",
        "m3_points",
        "m3_cells",
        "m4_types",
        "m4_offsets",
        "m5_points",
    ] {
        refuses!(
            |t| field(t, name).components = 5,
            Mesh(MeshDescError::Geometry { .. }),
            name
        );
    }
    for name in ["m1_x1", "m3_cells", "m4_types", "m5_points"] {
        let ghosts = |t: &mut FieldTable| {
            let field = field(t, name);
            (field.capacity, field.ghosts) = (None, vec![[0, 1]]);
        };
        refuses!(ghosts, Mesh(MeshDescError::Geometry { .. }), name, "ghost");
    }
    refuses!(
        |t| field(t, "m3_points").on = Some("m3".to_owned()),
        Mesh(MeshDescError::Geometry { .. }),
        "on no mesh"
    );
}

#[test]
fn names_are_checked() {
    use TableError::{Field, Mesh};
    refuses!(
        |t| t.meshes[1].name = "m0".to_owned(),
        Mesh(MeshDescError::Twice(_)),
        "m0"
    );
    refuses!(
        |t| t.meshes[1].name = "m0_p".to_owned(),
        Mesh(MeshDescError::Twice(_)),
        "m0_p"
    );
    refuses!(
        |t| t.meshes[1].name = "a/b".to_owned(),
        Mesh(MeshDescError::Name(_)),
        "a/b"
    );
    refuses!(
        |t| field(t, "m0_p").on = Some("n".to_owned()),
        Mesh(MeshDescError::NoMesh { .. }),
        "m0_p",
        "\"n\""
    );
    refuses!(
        |t| field(t, "m0_p").quantity = Some("a b".to_owned()),
        Field(FieldError::Quantity { .. }),
        "m0_p",
        "a b"
    );
    let twice = |t: &mut FieldTable| {
        let mut field = field(t, "m0_p").clone();
        field.name = "other".to_owned();
        t.fields.push(field);
    };
    refuses!(
        twice,
        Mesh(MeshDescError::Quantity { .. }),
        "other",
        "m0_p",
        "\"p\""
    );
}

#[test]
fn sizes_and_blocks_are_checked() {
    use TableError::{Field, Mesh};
    let kind = |kind| move |t: &mut FieldTable| t.meshes[0].kind = kind;
    let no_spacing = MeshKind::Uniform {
        points: [4, 3, 2],
        origin: [0.0; 3],
        spacing: [1.0, 0.0, 1.0],
    };
    refuses!(
        kind(no_spacing),
        Mesh(MeshDescError::Uniform { .. }),
        "spacing",
        "0.0"
    );
    refuses!(
        kind(uniform([4, 0, 2])),
        Mesh(MeshDescError::Points { .. }),
        "[4, 0, 2]"
    );
    refuses!(
        kind(uniform([1 << 40, 1 << 40, 2])),
        Mesh(MeshDescError::Points { .. }),
        "no field"
    );
    refuses!(
        kind(MeshKind::Rectilinear {
            coordinates: Vec::new()
        }),
        Mesh(MeshDescError::Points { .. }),
        "0 axes"
    );
    refuses!(
        kind(same("m3_points", CellType(42), "m3_cells")),
        Mesh(MeshDescError::Points { .. }),
        "42"
    );
    refuses!(
        kind(same("m3_points", CellType::HEXAHEDRON, "m3_cells")),
        Mesh(MeshDescError::Geometry { .. }),
        "8 components"
    );
    refuses!(
        |t| field(t, "m5_p").capacity = Some(4),
        Field(FieldError::Capacity { .. }),
        "m5_p",
        "longer"
    );
    let block = |of: &str, refinement| Block {
        of: of.to_owned(),
        level: 1,
        refinement,
        offset: [-2, 0, 4],
    };
    let placed = |block| move |t: &mut FieldTable| t.meshes[0].block = Some(block);
    refuses!(
        placed(block("a.b", [2; 3])),
        Mesh(MeshDescError::Block { .. }),
        "a.b"
    );
    refuses!(
        placed(block("amr", [2, 0, 2])),
        Mesh(MeshDescError::Block { .. }),
        "[2, 0, 2]"
    );
    let mut table = every_kind([5, 2]);
    table.meshes[0].block = Some(block("amr", [2; 3]));
    assert_eq!(decoded(&table).unwrap(), table);
}

#[test]
fn mesh_without_points_has_no_cells() {
    let table = every_kind([0, 0]);
    assert!(decoded(&table).is_ok());
    let size = |name: &str| table.size_of(table.mesh(name).unwrap()).unwrap();
    assert_eq!((size("m4").points, size("m4").cells), (vec![0], vec![0]));
    let cells = [0, 1, 2, 5].map(cells_between);
    assert_eq!(cells, [0, 1, 1, 4]);
}

#[test]
fn table_without_meshes_has_the_bytes_of_earlier_releases() {
    let table = FieldTable {
        fields: vec![FieldDesc::new("t", DType::F64, &[4])],
        ..FieldTable::default()
    };
    let bytes = table.encode().unwrap();
    let has = |word: &str| bytes.windows(word.len()).any(|w| w == word.as_bytes());
    for word in ["meshes", "quantity", "capacity", "block"] {
        assert!(!has(word), "{word}");
    }
    // A map of two members, `fields` (the field is a map of 12) and `attrs`.
    assert_eq!(bytes[..8], *b"\x82\xa6fields");
    assert_eq!(bytes[8..10], [0x91, 0x8c]);
    assert_eq!(bytes[bytes.len() - 7..], *b"\xa5attrs\x80");
    assert_eq!(decoded(&table).unwrap(), table);
}
