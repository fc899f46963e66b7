//! Named meshes of ranks: different numbers of points and cells, and in some ranks none at all.

use crate::state::State;
use tcasm_core::field::{Block, CellType, Cells, Centering, DType, FieldDesc, MeshDesc, MeshKind};

/// The rank whose cells of `shell` have points that it does not have.
const WITH_DEFECT: u32 = 1;

/// Adds the meshes of a rank, and the fields on them. `paraview.py` knows their values.
pub fn add(state: &mut State, step: u64, rank: u32) {
    let n = rank as usize;
    add_solid(state, step, n);
    add_shell(state, step, n, rank == WITH_DEFECT);
    add_gas(state, step, n);
    add_box(state, step, n);
}

/// Triangles, one more in each rank. Rank 2 has their points as numbers of 64 bits.
fn add_solid(state: &mut State, step: u64, n: usize) {
    let (points, cells) = (n + 3, n + 1);
    let coordinates = |i: usize| [n as f64, i as f64, 0.5];
    state.add(
        field("solid_points", DType::F64, points, 3),
        &Vec::from_iter((0..points).flat_map(coordinates)),
    );
    let ids = (0..cells).flat_map(|c| [c, c + 1, c + 2]);
    match n {
        2 => state.add(
            field("solid_cells", DType::I64, cells, 3),
            &Vec::from_iter(ids.map(|id| id as i64)),
        ),
        _ => state.add(
            field("solid_cells", DType::I32, cells, 3),
            &Vec::from_iter(ids.map(|id| id as i32)),
        ),
    }
    let heat = on("solid", "heat", field("solid_heat", DType::F64, points, 1));
    state.add(
        heat,
        &Vec::from_iter((0..points).map(|i| value(step, n, i))),
    );
    let mut stress = on("solid", "stress", field("stress", DType::F32, cells, 2));
    stress.centering = Centering::Cell;
    let values = (0..2 * cells).map(|i| value(step, n, i) as f32);
    state.add(stress, &Vec::from_iter(values));
    add_mesh(
        state,
        "solid",
        MeshKind::Unstructured {
            points: "solid_points".to_owned(),
            cells: Cells::Same {
                cell_type: CellType::TRIANGLE,
                connectivity: "solid_cells".to_owned(),
            },
        },
    );
}

/// A square and a triangle.
fn add_shell(state: &mut State, step: u64, n: usize, has_defect: bool) {
    let coordinates = |i: usize| [n as f32, i as f32, 1.0];
    state.add(
        field("shell_points", DType::F32, 5, 3),
        &Vec::from_iter((0..5).flat_map(coordinates)),
    );
    let last = if has_defect { 5 } else { 4 };
    state.add(
        field("shell_ids", DType::I32, 7, 1),
        &[0, 1, 2, 3, 2, 3, last],
    );
    state.add(field("shell_offsets", DType::I32, 3, 1), &[0, 4, 7]);
    let types = [CellType::QUAD, CellType::TRIANGLE].map(|cell| cell.0);
    state.add(field("shell_types", DType::U8, 2, 1), &types);
    let heat = on("shell", "heat", field("shell_heat", DType::F64, 5, 1));
    state.add(heat, &Vec::from_iter((0..5).map(|i| value(step, n, i))));
    add_mesh(
        state,
        "shell",
        MeshKind::Unstructured {
            points: "shell_points".to_owned(),
            cells: Cells::Mixed {
                connectivity: "shell_ids".to_owned(),
                offsets: "shell_offsets".to_owned(),
                types: "shell_types".to_owned(),
            },
        },
    );
}

/// Particles in a plane, none in rank 0. Only odd ranks have charges.
fn add_gas(state: &mut State, step: u64, n: usize) {
    let count = 2 * n;
    let positions = |i: usize| [n as f32, i as f32];
    let mut field_of_positions = field("gas_positions", DType::F32, count, 2);
    field_of_positions.capacity = Some(20);
    state.add(
        field_of_positions,
        &Vec::from_iter((0..count).flat_map(positions)),
    );
    let mut mass = on("gas", "mass", field("mass", DType::F64, count, 1));
    mass.capacity = Some(20);
    state.add(mass, &Vec::from_iter((0..count).map(|i| value(step, n, i))));
    if n % 2 == 1 {
        let mut charge = on("gas", "charge", field("charge", DType::F32, count, 1));
        charge.capacity = Some(20);
        let values = (0..count).map(|i| value(step, n, i) as f32);
        state.add(charge, &Vec::from_iter(values));
    }
    add_mesh(
        state,
        "gas",
        MeshKind::Particles {
            positions: "gas_positions".to_owned(),
        },
    );
}

/// A uniform block, beside those of other ranks.
fn add_box(state: &mut State, step: u64, n: usize) {
    let mut density = on("box", "density", field("density", DType::F64, 6, 1));
    density.shape = vec![3, 2];
    density.ghosts = vec![[0, 0]; 2];
    state.add(density, &Vec::from_iter((0..6).map(|i| value(step, n, i))));
    add_mesh(
        state,
        "box",
        MeshKind::Uniform {
            points: [2, 3, 1],
            origin: [n as f64, 0.0, 0.0],
            spacing: [1.0; 3],
        },
    );
    state.table.meshes[3].block = Some(Block {
        of: "amr".to_owned(),
        level: 0,
        refinement: [1; 3],
        offset: [n as i64, 0, 0],
    });
}

fn value(step: u64, n: usize, i: usize) -> f64 {
    (step as usize * 10_000 + n * 100 + i) as f64
}

fn field(name: &str, dtype: DType, count: usize, components: usize) -> FieldDesc {
    let mut field = FieldDesc::new(name, dtype, &[count]);
    field.components = components;
    field
}

fn on(mesh: &str, quantity: &str, mut field: FieldDesc) -> FieldDesc {
    field.on = Some(mesh.to_owned());
    field.quantity = Some(quantity.to_owned());
    field
}

fn add_mesh(state: &mut State, name: &str, kind: MeshKind) {
    state.table.meshes.push(MeshDesc {
        name: name.to_owned(),
        kind,
        block: None,
        attrs: Default::default(),
    });
}
