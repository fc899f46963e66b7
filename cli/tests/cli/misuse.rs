//! Wrong or impossible arguments of `checkpoint`, `checkpoints`, `verify` and `restore`: each has a
//! message and an exit status of its own.

use crate::checkpoint::start;
use crate::common::{bad, line, name, publish, tcasm};
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpointer, Options, Snapshot};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

fn tiers() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let [fast, slow] = ["fast", "slow"].map(|tier| dir.path().join(tier));
    [&fast, &slow]
        .into_iter()
        .for_each(|d| fs::create_dir(d).unwrap());
    (dir, fast, slow)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes checkpoints of these steps, as a run of its own.
fn run_of(dir: &Path, name: &str, steps: &[u64]) {
    let table = FieldTable {
        fields: vec![FieldDesc::new("t", DType::F64, &[4])],
        ..FieldTable::default()
    };
    let mut to = Checkpointer::new(dir, name, Options::default()).unwrap();
    for step in steps {
        let stamp = Stamp {
            version: *step,
            step: *step,
            time: 0.0,
        };
        to.write(&Snapshot::new(name, stamp, &table, |_| &[7; 32]))
            .unwrap();
    }
}

/// Checks that the message contains all `words`.
fn told(complaint: &str, words: &[&str]) {
    for word in words {
        assert!(complaint.contains(word), "{word:?} in {complaint:?}");
    }
}

#[test]
fn impossible_schedules_and_numbers_are_refused() {
    let (_dir, fast, slow) = tiers();
    let all = ["checkpoint", "any", "--fast", text(&fast)];
    let schedules: [&[&str]; 14] = [
        &[],
        &["--every", "0"],
        &["--every=-3"],
        &["--every", "1.5"],
        &["--every-steps", "0"],
        &["--every-steps=-10"],
        &["--every-seconds", "0"],
        &["--every-seconds=-1"],
        &["--every-seconds", "nan"],
        &["--every-seconds", "inf"],
        &["--mtbf", "0"],
        &["--mtbf=-5"],
        &["--every", "1", "--every-steps", "1"],
        &["--last", "--mtbf", "3600"],
    ];
    for schedule in schedules {
        bad(&[&all[..], schedule].concat(), 2);
    }
    let numbers: [&[&str]; 12] = [
        &["--max-overhead", "0"],
        &["--max-overhead", "101"],
        &["--increments", "0"],
        &["--increments", "1001"],
        &["--compact"],
        &["--keep", "0"],
        &["--keep-slow", "2"],
        &["--keep-every", "0"],
        &["--limit", "5"],
        &["--limit", "0", "--slow", text(&slow)],
        &["--grace=-1"],
        &["--layout", "netcdf"],
    ];
    for number in numbers {
        bad(&[&all[..], &["--every", "1"], number].concat(), 2);
    }
}

#[test]
fn same_folder_twice_is_refused_in_any_spelling() {
    let (dir, fast, _) = tiers();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&fast, &link).unwrap();
    for same in [&fast, &dir.path().join("slow/../fast"), &link] {
        let args = ["--fast", text(&fast), "--slow", text(same), "--last"];
        let complaint = bad(&[&["checkpoint", "any"], &args[..]].concat(), 2);
        told(&complaint, &["the same folder", "choose another folder"]);
    }
}

#[test]
fn tiers_of_different_runs_are_refused() {
    let (_dir, fast, slow) = tiers();
    let name = name("two-runs");
    run_of(&fast, &name, &[1]);
    run_of(&slow, &name, &[2]);
    let before = fs::read(slow.join(format!("{name}.manifest"))).unwrap();
    let args = ["--fast", text(&fast), "--slow", text(&slow), "--last"];
    let complaint = bad(&[&["checkpoint", &name], &args[..]].concat(), 11);
    told(
        &complaint,
        &["manifest of another run", "choose another folder"],
    );
    assert_eq!(
        fs::read(slow.join(format!("{name}.manifest"))).unwrap(),
        before
    );
}

#[test]
fn file_that_is_no_manifest_is_reported_and_not_touched() {
    let (_dir, fast, _) = tiers();
    let name = name("notes");
    let file = fast.join(format!("{name}.manifest"));
    fs::write(&file, "a list of passengers\n").unwrap();
    let args = ["checkpoint", &name, "--fast", text(&fast), "--last"];
    told(&bad(&args, 9), &["is not a manifest", "move it away"]);
    told(
        &bad(&["checkpoints", text(&fast)], 9),
        &["is not a manifest"],
    );
    assert_eq!(fs::read(&file).unwrap(), b"a list of passengers\n");
}

#[test]
fn missing_or_unwritable_slow_tier_is_reported_and_loses_no_checkpoint() {
    let (dir, fast, _) = tiers();
    let missing = dir.path().join("missing");
    for (slow, why) in [
        (missing.as_path(), "does not exist"),
        (Path::new("/sys/kernel"), "not permitted"),
    ] {
        let name = name("noslow");
        let (mut p, t) = line(&name, 8);
        let args = ["--every", "1", "--grace", "0.1", "--slow", text(slow)];
        let run = start(&name, &fast, &args);
        publish(&mut p, t, 10);
        drop(p);
        let run = run.end();
        assert_eq!(run.code, 9, "{run:?}");
        told(
            &run.err,
            &["in the fast folder only", why, "the next start copies"],
        );
        assert!(run.out.contains("1 file written"), "{run:?}");
    }
}

#[test]
fn simulation_that_goes_back_in_time_is_reported_and_loses_nothing() {
    let (_dir, fast, _) = tiers();
    let name = name("back");
    run_of(&fast, &name, &[100]);
    let (mut p, t) = line(&name, 8);
    let run = start(&name, &fast, &["--every", "1"]);
    publish(&mut p, t, 10);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 11, "{run:?}");
    told(&run.err, &["step 10 comes before step 100", "replaced"]);
    let restored = fast.join("out.vtkhdf");
    let kept = tcasm(&["restore", text(&fast), "--out", text(&restored)]);
    assert!(kept.out.contains("step 100"), "{kept:?}");

    // The same within one run of the command.
    let name = crate::common::name("backwards");
    let (mut p, t) = line(&name, 8);
    let run = start(&name, &fast, &["--every", "1"]);
    publish(&mut p, t, 50);
    publish(&mut p, t, 40);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 11, "{run:?}");
    told(&run.err, &["step 40 does not come after step 50"]);
}

#[test]
fn folders_without_the_checkpoint_are_reported() {
    let (dir, fast, slow) = tiers();
    let missing = dir.path().join("missing");
    let out = dir.path().join("out.vtkhdf");
    let to = ["--out", text(&out)];
    let restore = |from: &[&str], more: &[&str], code| {
        let args = [&["restore"], from, &to[..], more].concat();
        bad(&args, code)
    };
    told(&bad(&["checkpoints", text(&missing)], 9), &["missing"]);
    told(
        &bad(&["checkpoints", text(&fast)], 8),
        &["no checkpoint in"],
    );
    told(&bad(&["verify", text(&fast)], 8), &["no checkpoint in"]);
    bad(&["verify", text(&missing)], 9);
    told(&restore(&[text(&fast)], &[], 8), &["no checkpoint in"]);
    told(&restore(&[text(&missing)], &[], 9), &["missing"]);
    run_of(&fast, "heat", &[10, 20]);
    let complaint = restore(&[text(&fast)], &["--step", "15"], 8);
    told(&complaint, &["no checkpoint of step 15", "[20, 10]"]);
    bad(
        &["restore", text(&fast), "--step=-1", "--out", text(&out)],
        2,
    );
    // Checkpoints of several runs, in two folders and in one.
    run_of(&slow, "wind", &[30]);
    told(
        &restore(&[text(&fast), text(&slow)], &[], 2),
        &["heat, wind"],
    );
    run_of(&slow, "heat", &[40]);
    told(&restore(&[text(&slow)], &[], 2), &["heat, wind"]);
    assert!(!out.exists());
    let nowhere = missing.join("out.vtkhdf");
    let complaint = bad(&["restore", text(&fast), "--out", text(&nowhere)], 9);
    told(&complaint, &["does not exist", "missing"]);
}
