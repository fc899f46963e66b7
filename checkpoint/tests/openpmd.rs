//! The contents of an openPMD file, read with HDF5 alone, and the meshes that reach files of both
//! layouts. `read_back.rs` has openPMD-api read a file where that is installed.

mod common;

use common::{PLAIN, STAMP, Version, field};
use hdf5::types::VarLenUnicode;
use hdf5::{Location, Result};
use tcasm_checkpoint::{Layout, Options};
use tcasm_core::field::{Centering, DType, Mesh};

fn text(at: &Location, name: &str) -> Result<String> {
    Ok(at.attr(name)?.read_scalar::<VarLenUnicode>()?.to_string())
}

fn numbers(at: &Location, name: &str) -> Result<Vec<f64>> {
    at.attr(name)?.read_raw()
}

#[test]
fn mesh_attributes_are_ordered_from_slowest_to_fastest_axis() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run_00000042.h5");
    let mesh = Mesh {
        origin: [1.0, 2.0, 3.0],
        spacing: [0.1, 0.2, 0.3],
    };
    let mut scalar = field("scalar", DType::F64, &[4, 5, 6]);
    (scalar.mesh, scalar.centering) = (Some(mesh), Centering::Cell);
    let mut vector = field("vector", DType::F32, &[4, 5, 6]);
    vector.components = 3;
    let version = Version::of([scalar, vector]);
    let options = Options {
        layout: Layout::OpenPmd,
        ..PLAIN
    };
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
    let file = hdf5::File::open(&path)?;
    assert_eq!(text(&file, "openPMD")?, "1.1.0");
    assert_eq!(text(&file, "iterationFormat")?, "run_%08T.h5");
    let meshes = file.group("data/42/meshes")?;

    let scalar = meshes.dataset("scalar")?;
    assert_eq!(scalar.shape(), [4, 5, 6]);
    assert_eq!(text(&scalar, "dataOrder")?, "C");
    assert_eq!(numbers(&scalar, "gridSpacing")?, [0.3, 0.2, 0.1]);
    assert_eq!(numbers(&scalar, "gridGlobalOffset")?, [3.0, 2.0, 1.0]);
    assert_eq!(numbers(&scalar, "position")?, [0.5; 3]);
    let labels: Vec<VarLenUnicode> = scalar.attr("axisLabels")?.read_raw()?;
    assert_eq!(labels.iter().map(|l| l.as_str()).collect::<String>(), "zyx");

    let all: &[f32] = bytemuck::cast_slice(&version.bytes["vector"]);
    for (component, name) in ["x", "y", "z"].into_iter().enumerate() {
        let values: Vec<f32> = meshes.dataset(&format!("vector/{name}"))?.read_raw()?;
        let expected: Vec<f32> = all.iter().skip(component).step_by(3).copied().collect();
        assert_eq!(values, expected, "{name}");
    }
    Ok(())
}

#[test]
fn units_become_factors_and_dimensions_and_fields_without_values_constants() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run_00000042.h5");
    let mut density = field("density", DType::F64, &[4]);
    density.unit = "g cm^-3".to_owned();
    let mut odd = field("odd", DType::F64, &[4]);
    odd.unit = "furlong".to_owned();
    let mut empty = field("empty", DType::F32, &[0]);
    (empty.capacity, empty.components, empty.unit) = (Some(9), 3, "eV".to_owned());
    let version = Version::of([density, odd, empty]);
    let options = Options {
        layout: Layout::OpenPmd,
        ..PLAIN
    };
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
    let file = hdf5::File::open(&path)?;
    assert!(file.attr("particlesPath").is_err());
    let meshes = file.group("data/42/meshes")?;
    let unit = |at: &Location, factor: f64| {
        assert_eq!(numbers(at, "unitSI").unwrap(), [factor]);
    };

    let density = meshes.dataset("density")?;
    unit(&density, 1000.0);
    let dimension = [-3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(numbers(&density, "unitDimension")?, dimension);
    let odd = meshes.dataset("odd")?;
    unit(&odd, 1.0);
    assert_eq!(numbers(&odd, "unitDimension")?, [0.0; 7]);
    assert_eq!(text(&odd, "unit")?, "furlong");

    let empty = meshes.group("empty")?;
    let dimension = [2.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(numbers(&empty, "unitDimension")?, dimension);
    for component in ["x", "y", "z"] {
        let component = empty.group(component)?;
        unit(&component, 1.602_176_634e-19);
        assert_eq!(component.attr("shape")?.read_raw::<u64>()?, [0]);
        assert_eq!(component.attr("value")?.read_scalar::<f32>()?, 0.0);
    }
    let own = file.dataset("tcasm/fields/empty")?;
    assert_eq!(own.shape(), [0, 3]);
    Ok(())
}

#[test]
fn mesh_that_cannot_be_used_reaches_no_file() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let mut old = field("old", DType::F64, &[4, 5]);
    old.mesh = Some(Mesh {
        origin: [f64::NAN; 3],
        spacing: [-0.5, 0.0, 1.0],
    });
    let version = Version::of([old]);
    for layout in common::LAYOUTS {
        let path = dir.path().join(format!("{layout:?}_00000042.h5"));
        let options = Options { layout, ..PLAIN };
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
        let file = hdf5::File::open(&path)?;
        match layout {
            Layout::OpenPmd => {
                let record = file.dataset("data/42/meshes/old")?;
                assert_eq!(numbers(&record, "gridSpacing")?, [1.0; 2]);
                assert_eq!(numbers(&record, "gridGlobalOffset")?, [0.0; 2]);
                assert!(record.attr("spacing").is_err());
            }
            Layout::VtkHdf => {
                let image = file.group("VTKHDF")?;
                assert_eq!(numbers(&image, "Spacing")?, [1.0; 3]);
                assert_eq!(numbers(&image, "Origin")?, [0.0; 3]);
                assert!(image.dataset("PointData/old")?.attr("spacing").is_err());
            }
        }
    }
    Ok(())
}
