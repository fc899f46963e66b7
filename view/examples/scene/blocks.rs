//! The field `rho` on three blocks of `amr`, of 4 x 4 cells each. In each block its values are
//! those in the table and 0.25 more in each further column.
//!
//! | version | `b0`: 1, size 1 | `b1`: 5, size 0.5 | `b2`: 9, size 0.25 |
//! |---|---|---|---|
//! | 1 | at (0, 0) | at (2, 0) | unused |
//! | 2 | at (0, 0) | at (0, 2) | at (3, 3) |
//! | 3 | at (0, 0) | unused | unused |
//! | 4 | unused | unused | unused |
//! | 5 | as version 1 | | |

use ndarray::Ix2;
use std::error::Error;
use tcasm_producer::{Block, Field, MeshHandle, Producer};

/// The place of a block; `None` if it is unused.
type Place = Option<[f64; 2]>;

/// Number of points along x, y and z.
const POINTS: [usize; 3] = [5, 5, 1];
/// The sizes of cells, and the values.
const BLOCKS: [(f64, f64); 3] = [(1.0, 1.0), (0.5, 5.0), (0.25, 9.0)];
/// The places of the blocks in each version, one after the other.
const PLACES: [[Place; 3]; 4] = [
    [Some([0.0, 0.0]), Some([2.0, 0.0]), None],
    [Some([0.0, 0.0]), Some([0.0, 2.0]), Some([3.0, 3.0])],
    [Some([0.0, 0.0]), None, None],
    [None, None, None],
];

pub struct Blocks(Vec<MeshHandle>);

impl Blocks {
    pub fn new(p: &mut Producer) -> Result<Self, Box<dyn Error>> {
        let mut meshes = Vec::new();
        for (number, (size, value)) in BLOCKS.into_iter().enumerate() {
            let spacing = [size, size, 1.0];
            let mesh = p.uniform_mesh(&format!("b{number}"), POINTS, [0.0; 3], spacing);
            let mesh = mesh.block(Block {
                of: "amr".to_owned(),
                level: number as u32,
                refinement: [2, 2, 1],
                offset: [0; 3],
            });
            let mesh = mesh.add()?;
            let rho = p.field::<f64, _>(&format!("rho{number}"), [4, 4]);
            let rho = rho.cell_centred().variable().unit("kg").on(&mesh);
            let rho: Field<f64, Ix2> = rho.quantity("rho").add()?;
            for ((_, x), out) in p.view_mut(rho)?.indexed_iter_mut() {
                *out = value + 0.25 * x as f64;
            }
            meshes.push(mesh);
        }
        Ok(Blocks(meshes))
    }

    pub fn place(&self, p: &mut Producer, step: u64) -> Result<(), Box<dyn Error>> {
        let places = PLACES[(step as usize - 1) % PLACES.len()];
        for (number, mesh) in self.0.iter().enumerate() {
            let size = BLOCKS[number].0;
            match places[number] {
                Some([x, y]) => {
                    p.set_uniform_mesh(mesh, POINTS, [x, y, 0.0], [size, size, 1.0])?;
                }
                None => p.set_unused(mesh)?,
            }
        }
        Ok(())
    }
}
