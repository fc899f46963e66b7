//! Tests the command with small buffers: the variants, the output and wrong usage.

use serde_json::Value;
use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcasm-ablation"));
    command.args(arguments).output().unwrap()
}

/// Runs the variants with all mechanisms and without each of `only`. Returns the output, and the
/// values of each run.
fn measure(only: &str, workloads: &str) -> (String, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("rows.json");
    let path = json.display().to_string();
    let output = command(&[
        "--mib",
        "4",
        "--minutes",
        "0.2",
        "--rounds",
        "1",
        "--only",
        only,
        "--workloads",
        workloads,
        "--json",
        &path,
    ]);
    assert!(output.status.success(), "{output:?}");
    let rows = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    (String::from_utf8(output.stdout).unwrap(), rows)
}

#[test]
fn each_run_leaves_out_its_mechanism_and_shows_the_written_bytes() {
    let (table, rows) = measure("sharing,prediction", "random-10,alternating");
    let left_out: Vec<_> = rows.iter().map(|row| row["left_out"].to_string()).collect();
    let of_workload = ["[]", "[\"sharing\"]", "[\"prediction\"]", "[]"];
    assert_eq!(left_out, [of_workload, of_workload].concat());
    for row in &rows {
        assert_eq!(row["correct"], true, "{row}");
        assert!(row["steps"].as_u64() > Some(0), "{row}");
        assert!(row["held_bytes_p50"].as_f64() > Some(3e6), "{row}");
    }
    for line in ["| nothing | ", "| sharing | ", "| prediction | "] {
        assert_eq!(table.matches(line).count(), 3, "{table}");
    }
}

#[test]
fn solver_and_slow_observers_see_the_written_bytes() {
    let (_, rows) = measure("windows", "gray_scott,pinned,roaming");
    assert_eq!(rows.len(), 9);
    assert!(rows.iter().all(|row| row["correct"] == true), "{rows:?}");
}

#[test]
fn errors_for_wrong_arguments_list_the_valid_values() {
    for (arguments, expected) in [
        (&["--only", "caching"][..], "penalties"),
        (&["--workloads", "zigzag"], "filled-once"),
        (&["--minutes", "0.01"], "give at least --minutes"),
        (&["--minutes", "0"], "from 0.01"),
    ] {
        let output = command(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}
