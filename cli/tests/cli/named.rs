//! Checkpoints of several regions in one folder: `restore`, `verify` and `checkpoints` take those
//! of the region that `--name` gives.

use crate::checkpoint::attached;
use crate::common::{Background, bad, good, json, line, name, publish};
use std::fs;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;

/// Two regions whose checkpoints are in one folder: of steps 20 and 40, and of steps 30 and 60.
struct Shared {
    dir: tempfile::TempDir,
    names: [String; 2],
}

impl Shared {
    /// Runs both simulations, and one command that writes their checkpoints. The second checkpoint
    /// of each is an increment.
    fn new(layout: &str) -> Shared {
        let (dir, names) = (tempfile::tempdir().unwrap(), ["ra", "rb"].map(name));
        let mut regions = names.each_ref().map(|name| line(name, 2000));
        let args = [
            "checkpoint",
            &names[0],
            &names[1],
            "--fast",
            text(dir.path()),
        ];
        let how = ["--every", "1", "--increments", "2", "--layout", layout];
        let run = Background::start(&[&args[..], &how].concat());
        names.iter().for_each(|name| attached(name, run.pid()));
        for version in 1..=2 {
            for ((p, t), step) in regions.iter_mut().zip([20, 30]) {
                publish(p, *t, step * version);
            }
        }
        drop(regions);
        let run = run.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        Shared { dir, names }
    }

    fn path(&self) -> &str {
        text(self.dir.path())
    }

    /// Returns the path of the file that ParaView opens, which some layouts have.
    fn list(&self, name: &str) -> String {
        format!("{}/{name}.vtkhdf.series", self.path())
    }

    /// Restores with these arguments, and checks that all values are `step`.
    fn restores(&self, args: &[&str], step: u64) {
        let out = self.dir.path().join("out.vtkhdf");
        let run = good(&[&["restore", "--force", "--out", text(&out)], args].concat());
        assert!(run.out.contains(&format!("step {step} ")), "{run:?}");
        let mut bytes = vec![0; 16_000];
        let restored = Checkpoint::open(&out).unwrap();
        restored.read_bytes("t", &mut bytes).unwrap();
        let value = (step as f64).to_le_bytes();
        assert!(bytes.chunks(8).all(|v| v == value), "{args:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn checkpoints_of_each_region_in_a_folder_are_restored_by_its_name() {
    for layout in ["vtkhdf", "openpmd"] {
        let shared = Shared::new(layout);
        let (dir, [ra, rb]) = (shared.path(), &shared.names);
        shared.restores(&[dir, "--name", ra], 40);
        shared.restores(&[dir, "--name", rb], 60);
        shared.restores(&[dir, "--name", rb, "--step", "30"], 30);
        let out = shared.dir.path().join("none.vtkhdf");
        let args = ["restore", dir, "--out", text(&out)];
        let why = bad(&args, 2);
        let told = |what: &str| assert!(why.contains(what), "{what:?} in {why:?}");
        [ra.as_str(), rb, "--name"].into_iter().for_each(told);
        let why = bad(&[&args[..], &["--name", "rc"]].concat(), 8);
        assert!(why.contains(&format!("\"rc\" in {dir:?}; there are those of {ra}, {rb}")));
        let kept = ["restore", "--kept", ra, "--name", ra, "--out", text(&out)];
        bad(&kept, 2);
        assert!(!out.exists());
    }
}

#[test]
fn list_of_a_region_stands_for_all_its_checkpoints() {
    let shared = Shared::new("vtkhdf");
    let [ra, rb] = &shared.names;
    // The newest is an increment, which the list does not contain.
    shared.restores(&[&shared.list(ra)], 40);
    shared.restores(&[&shared.list(rb), "--step", "30"], 30);
    shared.restores(&[&shared.list(rb), "--name", rb], 60);
    let out = shared.dir.path().join("none.vtkhdf");
    let list = shared.list(ra);
    bad(&["restore", &list, "--name", rb, "--out", text(&out)], 8);
    let run = good(&["verify", &list]);
    assert!(run.out.ends_with("2 checkpoints are whole\n"), "{run:?}");
    assert!(!run.out.contains(rb.as_str()), "{run:?}");
    let runs = json(&["checkpoints", &list, "--json"]);
    assert_eq!(runs.as_array().unwrap().len(), 1);
    assert_eq!(runs[0]["region"], ra.as_str());
}

#[test]
fn pattern_of_openpmd_files_stands_for_all_checkpoints_of_a_region() {
    let shared = Shared::new("openpmd");
    let [ra, rb] = &shared.names;
    for step in ["%T", "%08T"] {
        let pattern = |name: &str| format!("{}/{name}_{step}.h5", shared.path());
        // The newest is an increment.
        shared.restores(&[&pattern(ra)], 40);
        shared.restores(&[&pattern(rb), "--step", "30"], 30);
        let run = good(&["verify", &pattern(ra)]);
        assert!(run.out.ends_with("2 checkpoints are whole\n"), "{run:?}");
        assert!(!run.out.contains(rb.as_str()), "{run:?}");
        let runs = json(&["checkpoints", &pattern(rb), "--json"]);
        assert_eq!(runs.as_array().unwrap().len(), 1);
        assert_eq!(runs[0]["region"], rb.as_str());
        for command in ["verify", "checkpoints"] {
            let error = bad(&[command, &pattern("rc")], 8);
            assert!(error.contains("rc_%"), "{error}");
        }
    }
}

#[test]
fn restore_replaces_a_file_only_with_force() {
    let shared = Shared::new("vtkhdf");
    let out = shared.dir.path().join("out.vtkhdf");
    fs::write(&out, "the only copy").unwrap();
    let list = shared.list(&shared.names[0]);
    let refused = bad(&["restore", &list, "--out", text(&out)], 9);
    assert!(
        refused.contains("exists already") && refused.contains("--force"),
        "{refused}"
    );
    assert_eq!(fs::read(&out).unwrap(), b"the only copy");
    shared.restores(&[&list], 40);
}

#[test]
fn verify_and_checkpoints_take_one_region_or_all() {
    for layout in ["vtkhdf", "openpmd"] {
        let shared = Shared::new(layout);
        let (dir, [ra, rb]) = (shared.path(), &shared.names);
        let all = good(&["verify", dir]);
        assert!(all.out.ends_with("4 checkpoints are whole\n"), "{all:?}");
        let one = good(&["verify", dir, "--name", rb]);
        assert!(one.out.ends_with("2 checkpoints are whole\n"), "{one:?}");
        assert!(!one.out.contains(ra.as_str()), "{one:?}");
        let regions = |args: &[&str]| {
            let runs = json(&[&["checkpoints", dir, "--json"], args].concat());
            let runs = runs.as_array().unwrap().clone();
            let region = |run: serde_json::Value| run["region"].as_str().unwrap().to_owned();
            runs.into_iter().map(region).collect::<Vec<_>>()
        };
        assert_eq!(regions(&[]), [ra.as_str(), rb]);
        assert_eq!(regions(&["--name", rb]), [rb.as_str()]);
        for command in ["verify", "checkpoints"] {
            let why = bad(&[command, dir, "--name", "rc"], 8);
            assert!(why.contains(&format!("{ra}, {rb}")), "{command}: {why}");
        }
    }
}

#[test]
fn single_file_of_another_region_is_refused() {
    let shared = Shared::new("vtkhdf");
    let [ra, rb] = &shared.names;
    let file = format!("{}/{ra}_00000020.vtkhdf", shared.path());
    shared.restores(&[&file, "--name", ra], 20);
    let out = shared.dir.path().join("none.vtkhdf");
    let why = bad(&["restore", &file, "--name", rb, "--out", text(&out)], 8);
    assert!(why.contains(&format!("those of {ra}")), "{why}");
}
