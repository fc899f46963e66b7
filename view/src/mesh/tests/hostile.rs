//! Geometry with values that no mesh has.

use super::grids::{curvilinear, grid_of};
use super::surfaces::mixed;
use super::*;
use crate::image::image;
use crate::request::Slice;
use proptest::prelude::*;

/// Numbers that geometry should not have, among others.
fn hostile() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::NEG_INFINITY),
        Just(1e300),
        Just(-1e30),
        -10.0..10.0,
    ]
}

proptest! {
    #[test]
    fn hostile_particles_are_drawn_or_counted(
        places in proptest::collection::vec(hostile(), 0..200),
        most in 1_usize..50,
    ) {
        let scene = particles(&places, &places).scene("v", most).unwrap();
        prop_assert!(scene.positions.len() <= most);
        prop_assert!(scene.invalid_points + scene.positions.len() <= places.len());
        prop_assert!(scene.positions.as_flattened().iter().all(|x| x.is_finite()));
        prop_assert_eq!(scene.positions.is_empty(), scene.bounds.is_none());
        Raster::of_points(&scene, [1, 0], [7, 9]);
    }

    #[test]
    fn hostile_cells_are_a_surface_or_an_error(
        connectivity in proptest::collection::vec(
            prop_oneof![4 => 0..12_u32, 1 => any::<u32>()], 16,
        ),
        offsets in proptest::collection::vec(prop_oneof![4 => 0..17_u32, 1 => any::<u32>()], 5),
        types in proptest::collection::vec(
            prop_oneof![4 => Just(10_u8), 1 => Just(14), 1 => any::<u8>()], 4,
        ),
        points in proptest::collection::vec(hostile(), 36),
    ) {
        let types = [types[0], types[1], types[2], types[3]];
        let mut made = mixed(types, [0, 4, 8, 12, 16]);
        let aligned = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks(8).map(|word| {
                let mut all = [0; 8];
                all[..word.len()].copy_from_slice(word);
                u64::from_le_bytes(all)
            }).collect()
        };
        made.bytes[0] = points.iter().map(|x| x.to_bits()).collect();
        made.bytes[1] = aligned(bytemuck::cast_slice(&connectivity));
        if offsets[0] % 2 == 0 {
            made.bytes[2] = aligned(bytemuck::cast_slice(&offsets));
        }
        for field in ["t", "q"] {
            let scene = made.scene(field, 5).unwrap();
            match &scene.surface {
                Some(surface) => {
                    let count = surface.points.len() as u32;
                    prop_assert!(surface.corners.as_flattened().iter().all(|c| *c < count));
                    prop_assert_eq!(scene.positions.len() as u32, count);
                    prop_assert!(surface.cells.iter().all(|cell| *cell < 4));
                }
                None => prop_assert!(scene.why.is_some() && scene.positions.len() <= 5),
            }
        }
    }

    #[test]
    fn hostile_grids_have_a_corner_for_each_sample(
        points in proptest::collection::vec(hostile(), 36),
        pixels in [1_usize..4, 1_usize..4],
        at in 0_usize..3,
    ) {
        let made = curvilinear(|[z, y, x]| {
            let first = 3 * (4 * z + 2 * y + x);
            [points[first], points[first + 1], points[first + 2]]
        });
        let slice = Slice { axes: [1, 2], at: vec![at, 0, 0], pixels, ..Slice::default() };
        let grid = grid_of(&made, &slice);
        prop_assert_eq!(grid.corners.len(), grid.size[0] * grid.size[1]);
        let (desc, bytes) = made.get("v").unwrap();
        let image = image(desc, bytes, None, &slice).unwrap();
        let raster = Raster::of_grid(&image, &grid, [5, 6]);
        prop_assert_eq!(raster.values.len(), 30);
    }
}
