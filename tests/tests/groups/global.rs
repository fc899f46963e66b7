//! Global arrays of which each rank has a block.

use super::*;
use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::ops::Range;
use std::sync::Mutex;
use tcasm_observer::{GlobalArrayError, GlobalField};
use tcasm_producer::{Complex, Group, Producer};
use tcasm_tests::name;
use tcasm_tests::ranks::{GHOST, block_value};

const BLOCK: &str = env!("CARGO_BIN_EXE_block");

type Box = Vec<Range<usize>>;

/// A global array that is cut into blocks, one of each rank.
#[derive(Clone, Debug)]
struct Cut {
    shape: Vec<usize>,
    components: usize,
    order: char,
    /// The interior of each block, in the order of ranks.
    blocks: Vec<Box>,
    ghosts: Vec<Vec<[usize; 2]>>,
    /// A part to read.
    part: Box,
}

/// Cuts boxes in two, at random places, until there are enough or none can be cut.
fn cut(all: Box, seeds: &[(prop::sample::Index, prop::sample::Index, usize)]) -> Vec<Box> {
    let mut boxes = vec![all];
    for (which, at, axis) in seeds {
        let own = which.index(boxes.len());
        let axis = axis % boxes[own].len();
        let range = boxes[own][axis].clone();
        if range.len() > 1 {
            let middle = range.start + 1 + at.index(range.len() - 1);
            let mut other = boxes[own].clone();
            (boxes[own][axis].end, other[axis].start) = (middle, middle);
            boxes.push(other);
        }
    }
    boxes
}

fn cuts() -> impl Strategy<Value = Cut> {
    let index = any::<prop::sample::Index>;
    let seeds = prop::collection::vec((index(), index(), 0usize..3), 0..RANKS as usize);
    let rest = (
        prop::sample::select(vec![1usize, 3]),
        prop::sample::select(vec!['C', 'F']),
        prop::collection::vec(
            prop::collection::vec([0usize..2, 0usize..3], 3),
            RANKS as usize,
        ),
        prop::collection::vec((index(), index()), 3),
        prop::collection::vec(0usize..3, 12),
    );
    let shape = prop::collection::vec(1usize..8, 1..4);
    (shape, seeds, rest).prop_map(|(shape, seeds, rest)| {
        let (components, order, ghosts, ends, growth) = rest;
        let mut blocks = cut(shape.iter().map(|n| 0..*n).collect(), &seeds[..]);
        blocks.truncate(RANKS as usize);
        // Some blocks grow into their neighbours.
        for (block, grown) in blocks.iter_mut().zip(growth.chunks(3)) {
            for ((range, n), more) in block.iter_mut().zip(&shape).zip(grown) {
                range.end = n.min(&(range.end + more / 2)).to_owned();
            }
        }
        let ghosts = ghosts.into_iter().take(blocks.len());
        let part = shape.iter().zip(ends).map(|(n, (a, b))| {
            let (a, b) = (a.index(n + 1), b.index(n + 1));
            a.min(b)..a.max(b)
        });
        Cut {
            part: part.collect(),
            ghosts: ghosts.map(|g| g[..shape.len()].to_vec()).collect(),
            shape,
            components,
            order,
            blocks,
        }
    })
}

impl Cut {
    /// Returns the command that adds the block of a rank.
    fn command(&self, rank: usize) -> String {
        let list = |numbers: Vec<usize>| {
            let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
            texts.join(",")
        };
        let (block, ghosts) = (&self.blocks[rank], &self.ghosts[rank]);
        let shape = block.iter().zip(ghosts).map(|(r, g)| r.len() + g[0] + g[1]);
        format!(
            "field u {} {} {} {} {} {}",
            self.order,
            self.components,
            list(ghosts.concat()),
            list(shape.collect()),
            list(self.shape.clone()),
            list(block.iter().map(|r| r.start).collect()),
        )
    }

    /// Returns the value of the model: that of the lowest rank which has the index, or a ghost if
    /// none has.
    fn model(&self, step: u64) -> ArrayD<u64> {
        let mut shape = self.shape.clone();
        shape.extend((self.components > 1).then_some(self.components));
        ArrayD::from_shape_fn(shape, |at| {
            let has = |block: &Box| block.iter().enumerate().all(|(a, r)| r.contains(&at[a]));
            let axes = self.shape.iter().enumerate();
            let number = axes.fold(0, |number, (axis, n)| number * n + at[axis]);
            let c = if self.components > 1 {
                at[self.shape.len()]
            } else {
                0
            };
            let rank = self.blocks.iter().position(has);
            rank.map_or(GHOST, |rank| block_value(rank as u32, step, number, c))
        })
    }
}

fn start_blocks() -> Vec<Puppet> {
    (0..RANKS)
        .map(|_| Puppet::start(BLOCK, runtime_dir()))
        .collect()
}

/// Gives each process the region of a rank, with its block, and publishes steps 1 and 2.
fn create_blocks(processes: &mut [Puppet], group: &str, cut: &Cut) {
    let ranks = cut.blocks.len();
    for (rank, process) in processes[..ranks].iter_mut().enumerate() {
        process.ok(&format!("create {group} {rank} {ranks} {ranks} one"));
        process.ok(&cut.command(rank));
        (1..=2).for_each(|step| drop(process.ok(&format!("publish {step}"))));
    }
}

fn part_of(whole: &ArrayD<u64>, part: &[Range<usize>]) -> ArrayD<u64> {
    let mut view = whole.view();
    for (axis, range) in part.iter().enumerate() {
        view.slice_axis_inplace(ndarray::Axis(axis), ndarray::Slice::from(range.clone()));
    }
    view.to_owned()
}

/// Checks everything that can be read of a global array against the model.
fn check_array(u: &GlobalField<'_>, cut: &Cut, model: &ArrayD<u64>) {
    assert_eq!(u.shape(), cut.shape);
    let blocks: Vec<Box> = u.blocks().iter().map(|b| b.ranges.clone()).collect();
    assert_eq!(blocks, cut.blocks);
    assert_eq!(u.array::<u64>().unwrap(), model);
    let part = part_of(model, &cut.part);
    assert_eq!(u.read::<u64>(&cut.part).unwrap(), part);
    let view = u.view::<u64>().unwrap();
    let values: Vec<u64> = view.rows().unwrap().values().copied().collect();
    assert_eq!(values, Vec::from_iter(model.iter().copied()));
    let mut rest = part.iter();
    for row in view.rows_of(&cut.part).unwrap() {
        assert!(
            cut.blocks[row.rank as usize]
                .iter()
                .zip(&row.index)
                .all(|(r, i)| r.contains(i))
        );
        let first = [row.index.as_slice(), &[0]].concat();
        let first = &first[..model.ndim()];
        assert_eq!(row.values.first(), Some(&model[IxDyn(first)]));
        assert!(row.values.iter().eq(rest.by_ref().take(row.values.len())));
    }
    assert_eq!(rest.next(), None);
    let (n, from) = (model.len(), cut.part[0].start.min(model.len() - 1));
    let mut bytes = vec![0; (n - from) * 8];
    view.read_bytes(from as u64 * 8, &mut bytes).unwrap();
    let read: Vec<u64> = bytes
        .chunks(8)
        .map(|b| u64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(read, values[from..]);
}

/// Checks that an array without the block of `rank` has everything that another block has, and that
/// the error for the rest names the rank.
fn check_missing(group: &str, cut: &Cut, rank: usize) {
    // Ranks that are on another host are not waited for.
    let mut fewer = cut.clone();
    fewer.blocks[rank] = vec![0..0; cut.shape.len()];
    let model = fewer.model(1);
    let mut observer = GroupObserver::attach(group).unwrap();
    let version = observer.latest().unwrap();
    let u = version.global("u").unwrap();
    let holes: usize = model.iter().filter(|value| **value == GHOST).count() / cut.components;
    let parts = u.missing();
    let size = |part: &Box| part.iter().map(ExactSizeIterator::len).product::<usize>();
    assert_eq!(parts.iter().map(size).sum::<usize>(), holes);
    match u.array::<u64>() {
        Ok(array) => assert!(holes == 0 && array == model),
        Err(GlobalArrayError::Missing {
            absent, parts: p, ..
        }) => {
            assert!(holes > 0);
            assert_eq!((absent, p), (vec![rank as u32], parts));
        }
        Err(error) => panic!("{error}"),
    }
    assert_eq!(u.view::<u64>().unwrap().rows().is_err(), holes > 0);
    let here = part_of(&model, &cut.part);
    match u.read::<u64>(&cut.part) {
        Ok(part) => assert_eq!(part, here),
        Err(GlobalArrayError::Missing { .. }) => assert!(here.iter().any(|v| *v == GHOST)),
        Err(error) => panic!("{error}"),
    }
    check_filled(&u, &cut.part, &model);
    check_here(&u, &model);
}

/// Checks that the rest of an array has the value that was given.
fn check_filled(u: &GlobalField<'_>, part: &[Range<usize>], model: &ArrayD<u64>) {
    assert!(u.clone().or_fill(1.0).is_err());
    let filled = u.clone().or_fill(GHOST).unwrap();
    filled.check_complete().unwrap();
    assert_eq!(filled.missing(), u.missing());
    assert_eq!(filled.array::<u64>().unwrap(), model);
    assert_eq!(filled.read::<u64>(part).unwrap(), part_of(model, part));
    let view = filled.view::<u64>().unwrap();
    let rows = view.rows().unwrap().values().copied();
    assert!(rows.eq(model.iter().copied().filter(|value| *value != GHOST)));
    let middle = model.len() / 2;
    let mut bytes = vec![0; (model.len() - middle) * 8];
    view.read_bytes(middle as u64 * 8, &mut bytes).unwrap();
    let all: Vec<u64> = model.iter().copied().collect();
    assert_eq!(
        bytes,
        all[middle..]
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect::<Vec<u8>>()
    );
}

/// Checks that the part that is here has all blocks and is no larger than that, that its error has
/// the indices of the whole array, and that its description has its place.
fn check_here(u: &GlobalField<'_>, model: &ArrayD<u64>) {
    let bounds = u.bounds();
    let here = u.here();
    assert_eq!(
        here.bounds(),
        here.shape().iter().map(|n| 0..*n).collect::<Box>()
    );
    let expected = part_of(model, &bounds);
    let filled = here.clone().or_fill(GHOST).unwrap();
    assert_eq!(filled.array::<u64>().unwrap(), expected);
    let values = |array: &ArrayD<u64>| array.iter().filter(|value| **value != GHOST).count();
    assert_eq!(values(&expected), values(model));
    match &here.desc().global {
        Some(place) => {
            assert_eq!(
                (place.shape.as_slice(), here.desc().block()),
                (u.shape(), Some(bounds.clone()))
            );
        }
        None => assert_eq!(here.shape(), u.shape()),
    }
    match here.array::<u64>() {
        Ok(array) => assert_eq!(array, expected),
        Err(GlobalArrayError::Missing { parts, .. }) => {
            assert!(parts == u.missing_in(&bounds) && !parts.is_empty());
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn floats_that_no_block_has_are_nan_and_integers_remain_errors() {
    let group = name("nan");
    let group_of = |rank| Group::new(rank, 3).local_ranks(2).run("one");
    let ranks: Vec<Producer> = [0, 2]
        .into_iter()
        .map(|rank| {
            let builder = Producer::builder(&group).group(group_of(rank));
            let mut producer = builder.capacity(1 << 20).create().unwrap();
            let at = [rank as usize];
            let t = producer
                .field::<Complex<f32>, _>("t", [1])
                .global([3])
                .at(at);
            let t = t.add().unwrap();
            let n = producer
                .field::<i64, _>("n", [1])
                .global([3])
                .at(at)
                .add()
                .unwrap();
            producer.view_mut(t).unwrap().fill(Complex::new(1.0, 2.0));
            producer.view_mut(n).unwrap().fill(3);
            producer.publish(1, 0.0).unwrap();
            producer
        })
        .collect();
    let mut observer = GroupObserver::attach(&group).unwrap();
    let version = observer.latest().unwrap();
    let t = version.global("t").unwrap().or_nan();
    let t = t.array::<Complex<f32>>().unwrap();
    assert_eq!([t[[0]], t[[2]]], [Complex::new(1.0, 2.0); 2]);
    assert!(t[[1]].re.is_nan() && t[[1]].im.is_nan());
    let n = version.global("n").unwrap().or_nan();
    let error = n.array::<i64>().unwrap_err().to_string();
    assert!(
        error.contains("[1..2]; of 3 ranks, 1 have no block"),
        "{error}"
    );
    assert_eq!(
        n.or_fill(-1_i64)
            .unwrap()
            .array::<i64>()
            .unwrap()
            .into_raw_vec_and_offset()
            .0,
        [3, -1, 3]
    );
    drop(ranks);
}

#[test]
fn gathered_arrays_are_those_of_the_model_for_any_blocks() {
    let processes = Mutex::new(start_blocks());
    let mut runner = TestRunner::new(Config::with_cases(60));
    let result = runner.run(&cuts(), |cut| {
        let group = name("cut");
        let mut processes = processes.lock().unwrap();
        create_blocks(&mut processes, &group, &cut);
        let mut observer = GroupObserver::attach(&group).unwrap();
        let version = observer.latest().unwrap();
        check_array(&version.global("u").unwrap(), &cut, &cut.model(2));
        let ranks = cut.blocks.len();
        if ranks > 1 {
            let gone = cut.part[0].end % ranks;
            // The same array, but one rank is elsewhere.
            let group = format!("{group}-fewer");
            for (rank, process) in processes[..ranks].iter_mut().enumerate() {
                process.ok("close");
                if rank != gone {
                    process.ok(&format!("create {group} {rank} {ranks} {} one", ranks - 1));
                    process.ok(&cut.command(rank));
                    process.ok("publish 1");
                }
            }
            check_missing(&group, &cut, gone);
        }
        Ok::<(), TestCaseError>(())
    });
    result.unwrap();
}

/// Returns a global array of 4 rows, of which each rank has one.
fn rows() -> Cut {
    Cut {
        shape: vec![4, 6],
        components: 1,
        order: 'C',
        blocks: (0..4).map(|row| vec![row..row + 1, 0..6]).collect(),
        ghosts: vec![vec![[1, 1], [0, 0]]; 4],
        part: vec![1..3, 2..5],
    }
}

#[test]
fn global_array_survives_the_death_of_a_rank_and_follows_the_next_run() {
    let (group, cut) = (name("restart"), rows());
    let mut processes = start_blocks();
    create_blocks(&mut processes, &group, &cut);
    let mut observer = GroupObserver::attach(&group).unwrap();
    let before = observer.wait_newer(NOW).unwrap();
    processes[2].child.kill();
    check_array(&before.global("u").unwrap(), &cut, &cut.model(2));
    assert!(matches!(
        observer.wait_newer(NOW),
        Err(tcasm_observer::GroupError::Lost { .. })
    ));
    let latest = observer.latest().unwrap();
    check_array(&latest.global("u").unwrap(), &cut, &cut.model(2));
    // The job starts again, as another run, with its rows the other way round.
    let mut turned = cut.clone();
    turned.blocks.reverse();
    processes = start_blocks();
    for (rank, process) in processes.iter_mut().enumerate() {
        process.ok(&format!("create {group} {rank} 4 4 two"));
        process.ok(&turned.command(rank));
        process.ok("publish 1");
    }
    let after = observer.wait_newer(tcasm_tests::child::DEADLINE).unwrap();
    assert_eq!((after.run(), after.step()), ("two", 1));
    check_array(&after.global("u").unwrap(), &turned, &turned.model(1));
    check_array(&before.global("u").unwrap(), &cut, &cut.model(2));
}
