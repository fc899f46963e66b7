//! Regions with named meshes, and fields whose length changes from version to version.

mod counts;
mod kept;
mod placing;
mod processes;
mod refused;
mod sequences;
mod versions;

use ndarray::Ix1;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Field, MeshHandle, Producer};

fn create(name: &str) -> Producer {
    let builder = Producer::builder(name).capacity(4 << 20);
    builder.versions(16).history(8).create().unwrap()
}

fn latest(p: &Producer) -> Version {
    Observer::attach(p.name()).unwrap().latest().unwrap()
}

/// Returns the lengths of fields in a version.
fn lengths<const N: usize>(version: &Version, fields: [&str; N]) -> [usize; N] {
    fields.map(|name| version.field(name).unwrap().length())
}

/// A mesh of cells of several types, with a field on its points and one in its cells.
struct Mixed {
    mesh: MeshHandle,
    connectivity: Field<i64, Ix1>,
    types: Field<u8, Ix1>,
    pressure: Field<f32, Ix1>,
}

impl Mixed {
    fn add(p: &mut Producer) -> Mixed {
        let points = p.field::<f64, _>("points", [50, 3]).vector().variable();
        let points = points.add().unwrap();
        let connectivity = p.field("connectivity", [400]).variable().add().unwrap();
        let offsets = p.field::<i64, _>("offsets", [41]).variable().add().unwrap();
        let types = p.field("types", [40]).variable().add().unwrap();
        let mesh = p.mixed_mesh("m", &points, &connectivity, &offsets, &types);
        let mesh = mesh.add().unwrap();
        let t = p.field::<f64, _>("t", [50]).variable().on(&mesh);
        t.add().unwrap();
        let pressure = p.field("p", [40]).variable().cell_centred().on(&mesh);
        Mixed {
            mesh,
            connectivity,
            types,
            pressure: pressure.add().unwrap(),
        }
    }
}
