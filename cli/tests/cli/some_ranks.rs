//! Commands on groups of which only some ranks are on this host.

use crate::common::{bad, good, json, name, tcasm};
use crate::tmux::Tmux;
use crate::view::Served;
use ndarray::Array2;
use nix::sys::signal::Signal;
use serde_json::json;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Group, Producer};

/// Creates the regions of ranks 1 and 2 of four, whose others are on other hosts. Each value of an
/// array is ten times its row, plus its column. Of `u` and `n` each rank has two rows, and of `g`
/// and `c` a square, so that these have gaps here.
fn some_ranks(stem: &str) -> (String, Vec<Producer>) {
    let group = name(stem);
    let producers = [1, 2].map(|rank| one_of_four(&group, rank));
    (group, producers.into())
}

fn one_of_four(group: &str, rank: u32) -> Producer {
    let place = Group::new(rank, 4).local_ranks(2).run("one");
    let builder = Producer::builder(group).group(place);
    let mut p = builder.capacity(1 << 20).create().unwrap();
    let r = rank as usize;
    let (rows, square) = ([2 * r, 0], [2 * r - 1, 2 * r - 2]);
    let u = p.field::<f64, _>("u", [2, 5]).global([8, 5]).at(rows);
    let mesh = ([7.0, 3.0 + f64::from(rank), 0.0], [1.0, 0.5, 1.0]);
    let u = u.mesh(mesh.0, mesh.1).add().unwrap();
    let n = p.field::<i32, _>("n", [2, 5]).global([8, 5]).at(rows);
    let n = n.add().unwrap();
    let g = p.field::<f64, _>("g", [2, 2]).global([6, 6]).at(square);
    let g = g.add().unwrap();
    let c = p.field::<i32, _>("c", [2, 2]).global([6, 6]).at(square);
    let c = c.add().unwrap();
    let list = p.field::<u32, _>("list", [r]).add().unwrap();
    for (field, at) in [(u, rows), (g, square)] {
        for ((i, j), value) in p.view_mut(field).unwrap().indexed_iter_mut() {
            *value = (10 * (at[0] + i) + at[1] + j) as f64;
        }
    }
    for (field, at) in [(n, rows), (c, square)] {
        for ((i, j), value) in p.view_mut(field).unwrap().indexed_iter_mut() {
            *value = (10 * (at[0] + i) + at[1] + j) as i32;
        }
    }
    p.view_mut(list).unwrap().fill(rank);
    p.publish(1, 0.5).unwrap();
    p
}

/// The rows of `u` and `n` that are here.
fn rows_here() -> Array2<f64> {
    Array2::from_shape_fn([4, 5], |(i, j)| (10 * (i + 2) + j) as f64)
}

/// The part of `g` that is here, between whose blocks are NaNs.
fn squares_here() -> Array2<f64> {
    Array2::from_shape_fn([4, 4], |(i, j)| match i / 2 == j / 2 {
        true => (10 * (i + 1) + j) as f64,
        false => f64::NAN,
    })
}

/// Replaces NaN, which is not equal to itself.
fn without_nan(values: &Array2<f64>) -> Array2<f64> {
    values.mapv(|value| if value.is_nan() { -1.0 } else { value })
}

const ROWS: &str = "only the values of 2 of 4 ranks, which are on this host: the part 2:6,0:5 of \
                    8 x 5";
const ELSEWHERE: &str = "of 4 ranks, 2 have no block of it on this host: 0, 3";

#[test]
fn statistics_of_a_part_of_a_job_are_those_of_its_ranks() {
    let (group, _ranks) = some_ranks("stats-here");
    let stats =
        |field: &str, args: &[&str]| json(&[&["stats", &group, field, "--json"], args].concat());
    let is = |stats: &serde_json::Value, expected: serde_json::Value| {
        let keys = ["count", "nans", "min", "max", "mean", "shape"];
        let found: Vec<_> = keys.iter().map(|key| stats[key].clone()).collect();
        assert_eq!(serde_json::Value::from(found), expected, "{stats}");
    };
    let ranks = |shape: [usize; 2], part: Option<&str>| {
        let mut ranks = json!({"here": 2, "all": 4, "complete": false});
        ranks["shape"] = json!(shape);
        ranks["part"] = json!(part);
        ranks
    };
    let u = stats("u", &[]);
    is(&u, json!([20, 0, 20.0, 54.0, 37.0, [4, 5]]));
    assert_eq!(u["ranks"], ranks([8, 5], Some("2:6,0:5")));
    is(&stats("n", &[]), json!([20, 0, 20, 54, 37.0, [4, 5]]));
    let g = stats("g", &[]);
    is(&g, json!([8, 0, 10.0, 43.0, 26.5, [4, 4]]));
    assert_eq!(g["ranks"], ranks([6, 6], Some("1:5,0:4")));
    assert_eq!(g["histogram"]["nans"], 0);
    is(&stats("c", &[]), json!([8, 0, 10, 43, 26.5, [4, 4]]));
    let slice = stats("n", &["--slice", "4:,1"]);
    is(&slice, json!([2, 0, 41, 51, 46.0, [4]]));
    assert_eq!(slice["ranks"], ranks([8, 5], None));
    let slice = stats("u", &["--slice", "2:4,0"]);
    is(&slice, json!([2, 0, 20.0, 30.0, 25.0, [2]]));
    assert_eq!(slice["ranks"]["complete"], true);
    let list = stats("list", &[]);
    is(&list, json!([3, 0, 1, 2, 5.0 / 3.0, [3]]));
    assert_eq!(list["ranks"]["complete"], false);
    let error = bad(&["stats", &group, "u", "--slice", "0:2"], 8);
    assert!(error.contains(ELSEWHERE), "{error}");
    let text = good(&["analyze", &group, "u"]).out;
    assert!(text.contains(&format!("\n{ROWS}\n")), "{text}");
}

#[test]
fn dump_of_a_part_of_a_job_has_nan_for_floats_and_refuses_gaps_of_integers() {
    let (group, _ranks) = some_ranks("dump-here");
    let raw = |field: &str| {
        let run = tcasm(&["dump", &group, field, "--raw", "-"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.err.contains("only the values of 2 of 4 ranks"),
            "{run:?}"
        );
        run.bytes
    };
    let floats = |bytes: Vec<u8>, shape: [usize; 2]| {
        let values = bytes
            .chunks(8)
            .map(|b| f64::from_ne_bytes(b.try_into().unwrap()));
        Array2::from_shape_vec(shape, values.collect()).unwrap()
    };
    assert_eq!(floats(raw("u"), [4, 5]), rows_here());
    let squares = floats(raw("g"), [4, 4]);
    assert_eq!(without_nan(&squares), without_nan(&squares_here()));
    let numbers = raw("n");
    let numbers = numbers
        .chunks(4)
        .map(|b| i32::from_ne_bytes(b.try_into().unwrap()));
    assert!(numbers.map(f64::from).eq(rows_here()));
    for args in [&["c"][..], &["c", "--raw", "-"], &["n", "--slice", "1:3,0"]] {
        let error = bad(&[&["dump", &group], args].concat(), 8);
        assert!(error.contains(ELSEWHERE), "{args:?}: {error}");
    }
    let lines = |args: &[&str]| {
        let out = good(&[&["dump", &group], args].concat()).out;
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let words = |line: &String| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let all = lines(&["u"]);
    assert!(all[0].contains("8 x 5") && all[1] == ROWS, "{all:?}");
    assert_eq!(
        (all.len(), words(&all[2])),
        (6, words(&"20 21 22 23 24".to_owned()))
    );
    let part = lines(&["u", "--slice", "1:3,0"]);
    assert!(part[1].starts_with("only the values of 2 of 4"), "{part:?}");
    assert_eq!(words(&part[2]), ["NaN", "20"]);
    // All of this part is here.
    assert_eq!(words(&lines(&["n", "--slice", "2:4,0"])[1]), ["20", "30"]);
}

#[test]
fn export_of_a_part_of_a_job_has_its_place_in_the_whole() {
    let (group, _ranks) = some_ranks("export-here");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.vtkhdf");
    let path = path.to_str().unwrap();
    let out = good(&["export", &group, path]).out;
    assert!(out.contains(ROWS) && out.contains("u, n "), "{out}");
    assert!(out.contains("left out") && out.contains(ELSEWHERE), "{out}");
    good(&["verify", path]);
    let read = Checkpoint::open(path).unwrap();
    let table = read.table();
    let u = table.get("u").unwrap();
    let place = u.global.as_ref().unwrap();
    assert_eq!(
        (place.shape.as_slice(), place.offset.as_slice()),
        (&[8, 5][..], &[2, 0][..])
    );
    assert_eq!(u.usable_mesh().unwrap().origin, [7.0, 4.0, 0.0]);
    let lacking: Vec<_> = table
        .lacking
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(lacking, ["c", "list"]);
    let mut values = Array2::<f64>::zeros([4, 5]).into_dyn();
    read.read_array("u", values.view_mut()).unwrap();
    assert_eq!(values, rows_here().into_dyn());
    let mut numbers = Array2::<i32>::zeros([4, 5]).into_dyn();
    read.read_array("n", numbers.view_mut()).unwrap();
    assert_eq!(numbers.mapv(f64::from), rows_here().into_dyn());
    let mut squares = Array2::<f64>::zeros([4, 4]);
    read.read_array("g", squares.view_mut().into_dyn()).unwrap();
    assert_eq!(without_nan(&squares), without_nan(&squares_here()));
    let error = bad(&["export", &group, path, "--force", "--fields", "c"], 8);
    assert!(error.contains(ELSEWHERE), "{error}");
}

#[test]
fn exported_slices_have_the_indices_of_the_whole_array() {
    let (group, _ranks) = some_ranks("slice-here");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slice.vtkhdf");
    let path = path.to_str().unwrap();
    let slice = ["--fields", "u", "--slice", "1:4,::2"];
    good(&[&["export", &group, path], &slice[..]].concat());
    let read = Checkpoint::open(path).unwrap();
    let u = read.table().get("u").unwrap();
    assert_eq!(
        (&u.global, u.usable_mesh().unwrap().origin),
        (&None, [7.0, 3.5, 0.0])
    );
    let mut values = Array2::<f64>::zeros([3, 3]);
    read.read_array("u", values.view_mut().into_dyn()).unwrap();
    let nan = f64::NAN;
    let expected = ndarray::array![[nan, nan, nan], [20.0, 22.0, 24.0], [30.0, 32.0, 34.0]];
    assert_eq!(without_nan(&values), without_nan(&expected));
}

#[test]
fn view_shows_the_part_of_a_job_that_is_here() {
    let (group, _ranks) = some_ranks("view-here");
    let view = Served::start(&[&group, "--port", "0"]);
    let mirror = format!("{group}.mirror-{}", view.program.pid());
    let stats = |field: &str| {
        let stats = json(&["stats", &mirror, field, "--json"]);
        json!([
            stats["shape"],
            stats["count"],
            stats["nans"],
            stats["min"],
            stats["max"]
        ])
    };
    assert_eq!(stats("u"), json!([[4, 5], 20, 0, 20.0, 54.0]));
    assert_eq!(stats("n"), json!([[4, 5], 20, 0, 20, 54]));
    assert_eq!(stats("g"), json!([[4, 4], 16, 8, 10.0, 43.0]));
    bad(&["stats", &mirror, "c"], 7);
    view.program.signal(Signal::SIGTERM);
    let run = view.program.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains(&format!("u, n: {ROWS}")), "{run:?}");
    assert!(
        run.err.contains("c: left out: ") && run.err.contains(ELSEWHERE),
        "{run:?}"
    );
}

#[test]
fn watch_shows_the_part_of_a_job_that_is_here() {
    let (group, _ranks) = some_ranks("watch-here");
    let tmux = Tmux::watch(&[&group]);
    let screen = tmux.until_it_says("values of u");
    for word in [&group, "step 1", "4 x 5", "float64"] {
        assert!(screen.contains(word), "{word} in\n{screen}");
    }
    tmux.press("q");
    tmux.assert_left(0);
}
