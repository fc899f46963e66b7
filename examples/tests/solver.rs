//! Compares the solver with a naive one, and checks that runs have the same bits however they are
//! computed.

use ndarray::{Array3, s};
use proptest::prelude::*;
use tcasm_examples::{GrayScott, Noise, Params, Planes, Summary, checksum};

type Pair = [Array3<f64>; 2];

fn start(solver: &GrayScott, shape: [usize; 3]) -> Pair {
    let mut pair = [Array3::zeros(shape), Array3::zeros(shape)];
    let [u, v] = &mut pair;
    solver.initialise(u.view_mut(), v.view_mut());
    pair
}

fn step(solver: &GrayScott, [u, v]: &Pair, number: u64) -> Pair {
    let mut next = [Array3::zeros(u.dim()), Array3::zeros(u.dim())];
    let [u_next, v_next] = &mut next;
    let (u_next, v_next) = (u_next.view_mut(), v_next.view_mut());
    solver.step(u.view(), v.view(), u_next, v_next, number);
    next
}

fn run(solver: &GrayScott, from: Pair, steps: impl IntoIterator<Item = u64>) -> Pair {
    let advance = |pair: Pair, number| step(solver, &pair, number);
    steps.into_iter().fold(from, advance)
}

/// Computes a step of some planes, with the planes beside them in the ghosts.
fn step_planes(solver: &GrayScott, grid: &Pair, planes: Planes, number: u64) -> Pair {
    let total = planes.grid[0];
    let shape = planes.shape_with_ghosts();
    let with_ghosts = |whole: &Array3<f64>| {
        Array3::from_shape_fn(shape, |(z, y, x)| {
            whole[[(planes.first + z + total - 1) % total, y, x]]
        })
    };
    let [u, v] = grid.each_ref().map(with_ghosts);
    let mut next = [Array3::zeros(shape), Array3::zeros(shape)];
    let [u_next, v_next] = &mut next;
    let (u_next, v_next) = (u_next.view_mut(), v_next.view_mut());
    solver.step_planes(u.view(), v.view(), u_next, v_next, number, planes.first);
    next.map(|a| a.slice(s![1..=planes.count, .., ..]).to_owned())
}

fn bits([u, v]: &Pair) -> Vec<u64> {
    u.iter().chain(v).map(|x| x.to_bits()).collect()
}

/// Computes a step cell by cell, with the equations as in a textbook.
fn naive_step(p: &Params, [u, v]: &Pair, number: u64) -> Pair {
    let (nz, ny, nx) = u.dim();
    let laplacian = |a: &Array3<f64>, z: usize, y: usize, x: usize| {
        let at = |dz: isize, dy: isize, dx: isize| {
            let wrap =
                |i: usize, d: isize, n: usize| (i as isize + d).rem_euclid(n as isize) as usize;
            a[[wrap(z, dz, nz), wrap(y, dy, ny), wrap(x, dx, nx)]]
        };
        (at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1)) / 6.0
            - at(0, 0, 0)
    };
    let next_u = Array3::from_shape_fn((nz, ny, nx), |(z, y, x)| {
        let (a, b) = (u[[z, y, x]], v[[z, y, x]]);
        let random = Noise::new(p.seed, number).at(((z * ny + y) * nx + x) as u64);
        let rate = p.diffusion_u * laplacian(u, z, y, x) - a * b * b + p.feed * (1.0 - a);
        a + (rate + p.noise * random) * p.dt
    });
    let next_v = Array3::from_shape_fn((nz, ny, nx), |(z, y, x)| {
        let (a, b) = (u[[z, y, x]], v[[z, y, x]]);
        let rate = p.diffusion_v * laplacian(v, z, y, x) + a * b * b - (p.feed + p.kill) * b;
        b + rate * p.dt
    });
    [next_u, next_v]
}

fn grids() -> impl Strategy<Value = Pair> {
    let cells = |n: usize| prop::collection::vec(0.0..1.0f64, n);
    [1..7usize, 1..7, 1..7].prop_flat_map(move |shape| {
        let n = shape.iter().product();
        (cells(n), cells(n)).prop_map(move |(u, v)| {
            [u, v].map(|cells| Array3::from_shape_vec(shape, cells).expect("n cells"))
        })
    })
}

fn params() -> impl Strategy<Value = Params> {
    let amounts = (
        0.0..0.1f64,
        0.0..0.1f64,
        0.0..0.5f64,
        0.0..0.5f64,
        0.1..2.0f64,
        0.0..1.0f64,
    );
    (amounts, any::<u64>()).prop_map(
        |((feed, kill, diffusion_u, diffusion_v, dt, noise), seed)| Params {
            feed,
            kill,
            diffusion_u,
            diffusion_v,
            dt,
            noise,
            seed,
        },
    )
}

proptest! {
    #[test]
    fn step_equals_the_naive_step(grid in grids(), params in params(), number: u64) {
        let fast = step(&GrayScott::new(params), &grid, number);
        let naive = naive_step(&params, &grid, number);
        for (a, b) in fast.iter().flatten().zip(naive.iter().flatten()) {
            prop_assert!((a - b).abs() < 1e-13, "{a} is not {b}");
        }
    }

    #[test]
    fn number_of_threads_does_not_change_a_bit(
        grid in grids(), params in params(), threads in 2..8usize
    ) {
        let solver = GrayScott::new(params);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&solver, grid.clone(), 1..=3))
        };
        prop_assert_eq!(bits(&on(1)), bits(&on(threads)));
    }

    #[test]
    fn continued_run_equals_the_uninterrupted_run(
        params in params(), before in 0..6u64, after in 1..6u64
    ) {
        let solver = GrayScott::new(params);
        let shape = [6, 5, 8];
        let whole = run(&solver, start(&solver, shape), 1..=before + after);
        let stopped = run(&solver, start(&solver, shape), 1..=before);
        let continued = run(&GrayScott::new(params), stopped, before + 1..=before + after);
        prop_assert_eq!(bits(&whole), bits(&continued));
    }

    #[test]
    fn ranks_compute_the_bits_of_one_process(
        grid in grids(), params in params(), number: u64, ranks in 1..7usize
    ) {
        let solver = GrayScott::new(params);
        let whole = step(&solver, &grid, number);
        let shape = grid[0].dim().into();
        for rank in 0..ranks {
            let Some(planes) = Planes::of_rank(shape, rank, ranks) else {
                prop_assert!(ranks > shape[0]);
                continue;
            };
            let part = step_planes(&solver, &grid, planes, number);
            let expected = whole.each_ref().map(|a| a.slice(s![planes.range(), .., ..]).to_owned());
            prop_assert_eq!(bits(&part), bits(&expected));
        }
    }

    #[test]
    fn checksums_of_ranks_add_up(grid in grids(), ranks in 1..7usize) {
        let [u, v] = &grid;
        let parts = (0..ranks).filter_map(|rank| Planes::of_rank(u.dim().into(), rank, ranks));
        let mut sums = [0u64; 2];
        for planes in parts {
            let part = [u, v].map(|a| a.slice(s![planes.range(), .., ..]));
            let summary = Summary::of_planes(part[0], part[1], planes.first);
            sums = [0, 1].map(|i| sums[i].wrapping_add(summary.sums[i]));
        }
        if ranks <= u.dim().0 {
            prop_assert_eq!(sums, [checksum(u.view()), checksum(v.view())]);
        }
    }

    #[test]
    fn sum_is_conserved_without_feed_kill_and_noise(grid in grids(), seed: u64) {
        let params = Params { feed: 0.0, kill: 0.0, noise: 0.0, seed, ..Params::default() };
        let sum = |pair: &Pair| pair.iter().flatten().sum::<f64>();
        let after = run(&GrayScott::new(params), grid.clone(), 1..=5);
        prop_assert!((sum(&grid) - sum(&after)).abs() < 1e-10);
    }

    #[test]
    fn checksum_changes_with_any_bit(
        grid in grids(), place: prop::sample::Index, bit in 0..64
    ) {
        let [mut cells, _] = grid;
        let (before, count) = (checksum(cells.view()), cells.len());
        let cell = cells.iter_mut().nth(place.index(count)).unwrap();
        *cell = f64::from_bits(cell.to_bits() ^ (1u64 << bit));
        prop_assert_ne!(before, checksum(cells.view()));
    }
}

#[test]
fn ranks_begin_with_the_state_of_one_process() {
    let solver = GrayScott::new(Params::default());
    let [whole_u, whole_v] = start(&solver, [17, 9, 8]);
    for ranks in 1..=17 {
        for rank in 0..ranks {
            let planes = Planes::of_rank([17, 9, 8], rank, ranks).unwrap();
            let mut part = [(); 2].map(|()| Array3::zeros([planes.count, 9, 8]));
            let [u, v] = &mut part;
            solver.initialise_planes(u.view_mut(), v.view_mut(), planes.first, 17);
            let expected = [&whole_u, &whole_v].map(|a| a.slice(s![planes.range(), .., ..]));
            assert_eq!(part.each_ref().map(|a| a.view()), expected, "{planes:?}");
        }
    }
}

#[test]
fn state_without_noise_and_v_does_not_change() {
    let params = Params {
        noise: 0.0,
        ..Params::default()
    };
    let before = [Array3::ones((5, 6, 7)), Array3::zeros((5, 6, 7))];
    let after = run(&GrayScott::new(params), before.clone(), 1..=10);
    assert_eq!(bits(&before), bits(&after));
}

#[test]
fn cube_in_the_middle_keeps_reacting() {
    let solver = GrayScott::new(Params::default());
    let [u, v] = run(&solver, start(&solver, [32; 3]), 1..=200);
    let max = v.iter().copied().fold(0.0, f64::max);
    assert!((0.2..0.8).contains(&max), "v reaches {max}");
    assert!(u.iter().chain(&v).all(|x| (-1e-3..=1.0 + 1e-3).contains(x)));
}

#[test]
fn checksum_equals_its_documented_formula() {
    let cells = Array3::from_shape_fn((3, 4, 5), |(z, y, x)| (z * 100 + y * 10 + x) as f64);
    let term = |(i, x): (usize, &f64)| x.to_bits().wrapping_mul(2 * i as u64 + 1);
    let sum = cells
        .iter()
        .enumerate()
        .map(term)
        .fold(0, u64::wrapping_add);
    assert_eq!(sum, checksum(cells.view()));
}

#[test]
fn noise_is_uniform_and_differs_by_seed_step_and_cell() {
    let n = 100_000;
    let draw = |seed, step| (0..n).map(move |cell| Noise::new(seed, step).at(cell));
    let (mut sum, mut squares) = (0.0, 0.0);
    for x in draw(7, 1) {
        assert!((-1.0..1.0).contains(&x));
        (sum, squares) = (sum + x, squares + x * x);
    }
    assert!(
        (sum / n as f64).abs() < 0.01,
        "the mean is {}",
        sum / n as f64
    );
    assert!(
        (squares / n as f64 - 1.0 / 3.0).abs() < 0.01,
        "the variance is {}",
        squares / n as f64
    );

    for other in [draw(8, 1), draw(7, 2)] {
        let product: f64 = draw(7, 1).zip(other).map(|(a, b)| a * b).sum();
        assert!(
            (product / n as f64).abs() < 0.01,
            "seed or step changes too little"
        );
    }
    let neighbours: f64 = draw(7, 1).zip(draw(7, 1).skip(1)).map(|(a, b)| a * b).sum();
    assert!(
        (neighbours / n as f64).abs() < 0.01,
        "neighbouring cells look alike"
    );
}
