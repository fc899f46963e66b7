//! Each damage of a table is refused with an error of its own.

use super::tables::{decoded, every_kind, same, uniform};
use crate::field::*;

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
        "at most"
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
