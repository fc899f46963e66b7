//! Restarts on other numbers of ranks.

use crate::node::run_steps;
use crate::state::v_value;
use crate::world::{COLUMNS, World};
use tcasm_checkpoint::job::{JobError, Redundancy};

#[test]
fn any_part_of_a_global_array_has_the_values_of_its_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    world.lose(1);
    let found = world.find().unwrap();
    for ranks in 1..=7 {
        // Each new rank reads its own rows of `u` and its own columns of `v`.
        let (rows, columns) = (world.rows(), 4 * world.ranks() as usize);
        for rank in 0..ranks {
            let part = |n: usize| n * rank / ranks..n * (rank + 1) / ranks;
            let u = found
                .read::<f64>("u", &[part(rows), 3..COLUMNS - 1])
                .unwrap();
            for ((i, j), value) in u
                .into_dimensionality::<ndarray::Ix2>()
                .unwrap()
                .indexed_iter()
            {
                assert_eq!(*value, (world.u)(10, part(rows).start + i, 3 + j));
            }
            let v = found.read::<f32>("v", &[1..5, part(columns)]).unwrap();
            for ((i, j, c), value) in v
                .into_dimensionality::<ndarray::Ix3>()
                .unwrap()
                .indexed_iter()
            {
                assert_eq!(*value, v_value(10, c, 1 + i, part(columns).start + j));
            }
        }
    }
    assert!(found.read::<f64>("u", &[3..3, 0..4]).unwrap().is_empty());
    let backwards = std::ops::Range { start: 5, end: 4 };
    for wrong in [vec![0..1; 1], vec![0..49, 0..1], vec![0..1, backwards]] {
        assert!(matches!(
            found.read::<f64>("u", &wrong),
            Err(JobError::Range { .. })
        ));
    }
    assert!(matches!(
        found.read::<f32>("u", &[0..1, 0..1]),
        Err(JobError::Array(_))
    ));
}

#[test]
fn local_fields_need_the_same_number_of_ranks_and_the_error_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    run_steps(&world, &[10]);
    let found = world.find().unwrap();
    for field in ["u", "v"] {
        found.check_ranks(field, 7).unwrap();
    }
    found.check_ranks("list", 4).unwrap();
    let text = found.check_ranks("list", 5).unwrap_err().to_string();
    assert!(
        text.contains("\"list\" is local") && text.contains("on the 4 ranks"),
        "{text}"
    );
    assert!(text.contains("not on 5"), "{text}");
    assert!(matches!(
        found.read::<i64>("list", std::slice::from_ref(&(0..1))),
        Err(JobError::Local(_))
    ));
    let text = found.check_ranks("w", 4).unwrap_err().to_string();
    assert!(text.contains("list, u, v"), "{text}");
    assert!(matches!(found.rank(4), Err(JobError::NoRank { .. })));
}
