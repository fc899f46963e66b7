//! Meshes and quantities with the names that VTKHDF has for its groups.

use crate::Files;
use crate::build::{Kind, Spec};
use crate::common::Version;
use crate::files::add;
use crate::series::{grow, versions};
use tcasm_checkpoint::SeriesOptions;
use tcasm_core::field::{CellType, DType};

const NAMES: [&str; 5] = ["Steps", "FieldData", "PointData", "CellData", "Assembly"];

/// Gives these names to the meshes m0, m1, ... and to the quantities q0, q1, ...
fn rename(version: &mut Version) {
    for (number, name) in NAMES.iter().enumerate() {
        let (mesh, quantity) = (format!("m{number}"), format!("q{number}"));
        for field in &mut version.table.fields {
            if field.on.as_ref() == Some(&mesh) {
                field.on = Some((*name).to_owned());
            }
            if field.quantity.as_ref() == Some(&quantity) {
                field.quantity = Some((*name).to_owned());
            }
        }
        if let Some(mesh) = version.table.meshes.get_mut(number) {
            mesh.name = (*name).to_owned();
        }
    }
    version.table.check_meshes().unwrap();
}

#[test]
fn other_programs_read_meshes_and_quantities_named_as_groups_of_vtkhdf() {
    let kinds = [
        Kind::Uniform([3, 2, 1]),
        Kind::Particles(3, 3, DType::F64),
        Kind::Same(CellType::TETRA, 2, 5, DType::I64),
        Kind::Rectilinear(vec![2, 3]),
        Kind::Uniform([2, 2, 2]),
    ];
    let mut files = Files::new();
    for kinds in [&kinds[..], &kinds[..1], &kinds[1..2]] {
        let mut all = versions(3, |_| kinds.iter().cloned().map(Spec::new).collect());
        all.iter_mut().for_each(rename);
        add(&mut files, &all[0]);
        grow(&mut files, &all, &SeriesOptions::default());
    }
    files.check();
}
