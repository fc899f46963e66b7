//! Declarations that are refused.

use super::{create, latest};
use ndarray::{Ix1, Ix2};
use tcasm_producer::{Block, CellType, DefineError, Field, MeshDescError, MeshHandle, Producer};
use tcasm_tests::{PublishVisible, name};

/// A region with particles, a grid and a field of a fixed length.
struct Region {
    p: Producer,
    x: Field<f64, Ix2>,
    ids: Field<u64, Ix1>,
    atoms: MeshHandle,
    grid: MeshHandle,
}

impl Region {
    fn new() -> Region {
        let mut p = create(&name("refused"));
        let x = p.field::<f64, _>("x", [10, 3]).vector().variable();
        let x = x.add().unwrap();
        let ids = p.field::<u64, _>("ids", [10]).add().unwrap();
        let atoms = p.particles("atoms", &x).add().unwrap();
        let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0; 3], [1.0; 3]);
        let grid = grid.add().unwrap();
        p.set_len(atoms, 4).unwrap();
        Region {
            p,
            x,
            ids,
            atoms,
            grid,
        }
    }

    /// Returns the errors of meshes that cannot be.
    fn wrong_meshes(&mut self) -> Vec<Option<DefineError>> {
        let Region { p, x, ids, .. } = self;
        let tetra = p.unstructured_mesh("wrong", x, CellType::TETRA, ids);
        let mut errors = vec![tetra.add().err()];
        let unknown = p.unstructured_mesh("wrong", x, CellType(42), ids);
        errors.push(unknown.add().err());
        for name in ["ids", "atoms", "a b"] {
            errors.push(p.particles(name, x).add().err());
        }
        errors.push(p.particles("wrong", ids).add().err());
        for (points, spacing) in [([0, 4, 1], 1.0), ([4, 4, 1], 0.0)] {
            let uniform = p.uniform_mesh("wrong", points, [0.0; 3], [spacing; 3]);
            errors.push(uniform.add().err());
        }
        errors
    }

    /// Returns the errors of fields that cannot be on a mesh.
    fn wrong_fields_on_meshes(&mut self) -> Vec<Option<DefineError>> {
        let Region { p, atoms, grid, .. } = self;
        let mut errors = vec![p.field::<u8, _>("atoms", [4]).add().err()];
        let five = p.field::<u8, _>("wrong", [5]).on(atoms);
        errors.push(five.add().err());
        let turned = p.field::<u8, _>("wrong", [4, 3]).on(grid);
        errors.push(turned.add().err());
        let cells = p.field::<u8, _>("wrong", [3, 4]).cell_centred().on(grid);
        errors.push(cells.add().err());
        let quantity = p.field::<u8, _>("wrong", [4]).on(atoms).quantity("a/b");
        errors.push(quantity.add().err());
        let two = p.field::<u8, _>("wrong", [4]).on(atoms);
        errors.push(two.mesh([0.0; 3], [1.0; 3]).add().err());
        errors
    }

    /// Returns the errors of fields and meshes that cannot have a length, or not this one.
    fn wrong_lengths(&mut self) -> Vec<Option<DefineError>> {
        let p = &mut self.p;
        let scalar = p.field::<u8, _>("wrong", [0usize; 0]).variable();
        let mut errors = vec![scalar.add().err()];
        let no_room = p.field::<u8, _>("wrong", [0]).variable();
        errors.push(no_room.add().err());
        let ghosts = p.field::<u8, _>("wrong", [2]).variable();
        errors.push(ghosts.ghosts(&[[1, 1]]).add().err());
        errors.extend([
            p.set_len(self.atoms, 11).err(),
            p.set_len(self.ids, 3).err(),
            p.set_len(self.grid, 3).err(),
            p.set_len("nothing", 3).err(),
            p.mesh_handle("nothing").err(),
        ]);
        errors
    }
}

#[test]
fn refused_declarations_leave_the_producer_usable() {
    let mut region = Region::new();
    region.p.publish_visible(1, 0.0).unwrap();
    let before = latest(&region.p);
    let mut errors = region.wrong_meshes();
    errors.extend(region.wrong_fields_on_meshes());
    errors.extend(region.wrong_lengths());
    for error in &errors {
        let text = error.as_ref().map(DefineError::to_string);
        assert!(text.is_some_and(|text| text.len() > 20), "{errors:?}");
    }
    // Nothing has changed: the next version has the same table.
    let Region { mut p, atoms, .. } = region;
    p.publish_visible(2, 0.0).unwrap();
    assert_eq!(latest(&p).table(), before.table());
    let v = p.field::<f64, _>("wrong", [10]).variable().on(&atoms);
    let v = v.add().unwrap();
    p.view_mut(v).unwrap().fill(2.0);
    p.publish_visible(3, 0.0).unwrap();
    let view = latest(&p).view().unwrap();
    assert_eq!(view.array::<f64>("wrong").unwrap().sum(), 8.0);
}

impl Region {
    /// Returns the errors of changes that a mesh cannot have.
    fn wrong_places(&mut self) -> Vec<Option<DefineError>> {
        let Region { p, atoms, grid, .. } = self;
        let block = Block {
            of: "amr".to_owned(),
            level: 0,
            refinement: [2; 3],
            offset: [0; 3],
        };
        let mut place = |points, origin, spacing| {
            let placed = p.set_uniform_mesh(grid, points, [origin; 3], [spacing; 3]);
            placed.err()
        };
        let mut errors = vec![
            place([4, 3, 2], 0.0, 1.0),
            place([4, 0, 1], 0.0, 1.0),
            place([4, 3, 1], f64::NAN, 1.0),
            place([4, 3, 1], 0.0, -1.0),
        ];
        errors.extend([
            p.set_unused(grid).err(),
            p.set_unused(atoms).err(),
            p.set_uniform_mesh(atoms, [4, 3, 1], [0.0; 3], [1.0; 3])
                .err(),
            p.set_block(grid, block).err(),
        ]);
        errors
    }
}

#[test]
fn refused_places_leave_meshes_as_they_were() {
    let mut region = Region::new();
    let grid = region.grid;
    let fixed = region.p.field::<f64, _>("fixed", [3, 4]).on(&grid);
    fixed.add().unwrap();
    region.p.publish_visible(1, 0.0).unwrap();
    let before = latest(&region.p);
    let errors = region.wrong_places();
    for error in &errors {
        let text = error.as_ref().map(DefineError::to_string);
        assert!(text.is_some_and(|text| text.len() > 20), "{errors:?}");
    }
    let mut other = create(&name("other-grid"));
    assert!(matches!(other.set_unused(&grid), Err(DefineError::Foreign)));
    region.p.publish_visible(2, 0.0).unwrap();
    assert_eq!(latest(&region.p).table(), before.table());
}

#[test]
fn errors_of_sizes_on_uniform_meshes_say_what_can_change_them() {
    let Region { mut p, grid, .. } = Region::new();
    let varying = p.field::<f64, _>("varying", [3, 4]).variable().on(&grid);
    let varying = varying.add().unwrap();
    for error in [
        p.set_len(varying, 0).unwrap_err(),
        p.set_len(grid, 0).unwrap_err(),
        p.len(grid).unwrap_err(),
    ] {
        let is_uniform = matches!(error, DefineError::FixedMesh { .. });
        let text = error.to_string();
        let functions = ["mesh_description()", "set_uniform_mesh()", "set_unused()"];
        let has_all = functions.iter().all(|name| text.contains(name));
        assert!(is_uniform && has_all, "{text}");
    }
    let fixed = p.field::<f64, _>("fixed", [3, 4]).on(&grid);
    fixed.add().unwrap();
    let error = p.set_unused(&grid).unwrap_err();
    let DefineError::OtherSize {
        field, have, need, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((field.as_str(), have), ("fixed", &vec![3, 4]));
    assert_eq!(need, &[0, 4]);
    assert!(error.to_string().contains("variable()"), "{error}");
    assert_eq!(p.len(varying).unwrap(), 3, "nothing has changed");
}

#[test]
fn fields_of_two_axes_in_the_one_layer_of_cells_can_be_unused() {
    let mut p = create(&name("layer"));
    let flat = p.uniform_mesh("flat", [9, 9, 2], [0.0; 3], [1.0; 3]);
    let flat = flat.add().unwrap();
    let c = p.field::<f64, _>("c", [8, 8]).cell_centred().variable();
    let c = c.on(&flat).add().unwrap();
    p.view_mut(c).unwrap().fill(1.0);
    p.set_unused(&flat).unwrap();
    p.publish_visible(1, 0.0).unwrap();
    assert_eq!(latest(&p).field("c").unwrap().shape, [0, 8]);
    p.set_uniform_mesh(&flat, [9, 9, 2], [0.0; 3], [1.0; 3])
        .unwrap();
    p.publish_visible(2, 0.0).unwrap();
    let view = latest(&p).view().unwrap();
    assert_eq!(view.array::<f64>("c").unwrap().sum(), 64.0);
}

#[test]
fn uniform_mesh_needs_a_finite_origin_and_positive_spacings() {
    let mut p = create(&name("uniform"));
    let (origin, spacing) = ([0.0; 3], [1.0; 3]);
    let wrong = [
        (origin, [1.0, -0.5, 1.0]),
        (origin, [f64::NAN, 1.0, 1.0]),
        (origin, [1.0, 1.0, f64::INFINITY]),
        ([0.0, f64::NAN, 0.0], spacing),
        ([0.0, 0.0, f64::NEG_INFINITY], spacing),
    ];
    for (origin, spacing) in wrong {
        let grid = p.uniform_mesh("grid", [4, 3, 1], origin, spacing);
        let error = grid.add().unwrap_err();
        let is_uniform = matches!(error, DefineError::Mesh(MeshDescError::Uniform { .. }));
        let is_finite = origin.iter().all(|x| x.is_finite());
        let value = format!("{:?}", if is_finite { spacing } else { origin });
        let text = error.to_string();
        assert!(is_uniform && text.contains(&value), "{text}");
    }
    let grid = p.uniform_mesh("grid", [4, 3, 1], origin, [0.5; 3]);
    grid.add().unwrap();
    p.publish_visible(1, 0.0).unwrap();
    assert_eq!(latest(&p).table().meshes.len(), 1);
}

#[test]
fn handles_of_another_producer_are_refused() {
    let Region { x, atoms, .. } = &Region::new();
    let mut other = create(&name("other"));
    let on = other.field::<u8, _>("wrong", [4]).on(atoms);
    let errors = [
        on.add().err(),
        other.particles("wrong", x).add().err(),
        other.set_len(x, 3).err(),
        other.set_len(atoms, 3).err(),
        other.len(x).err(),
    ];
    let is_foreign = |error: &Option<_>| matches!(error, Some(DefineError::Foreign));
    assert!(errors.iter().all(is_foreign), "{errors:?}");
}

#[test]
fn refused_declarations_take_no_memory() {
    let mut p = Producer::builder(&name("full"))
        .capacity(1 << 20)
        .create()
        .unwrap();
    let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0; 3], [1.0; 3]);
    let grid = grid.add().unwrap();
    for _ in 0..5 {
        let large = p.field::<u8, _>("large", [1 << 19]).on(&grid);
        let error = large.add().unwrap_err();
        let is_shape = matches!(error, DefineError::Mesh(MeshDescError::Shape { .. }));
        assert!(is_shape, "{error}");
    }
    p.field::<u8, _>("large", [1 << 20]).add().unwrap();
}
