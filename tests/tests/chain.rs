//! The whole chain with the programs that users run. A simulation is checkpointed, killed and
//! continued, and ends with the same bits as an undisturbed run. h5py and VTK read those bits from
//! its checkpoint.

use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tcasm_tests::child::{Child, DEADLINE, Received, program};
use tempfile::TempDir;

const RUN: [&str; 6] = ["--size", "64", "--steps", "1200", "--publish-every", "10"];

/// Parses `step N ... checksum u X v Y` as (N, [X, Y]).
fn progress(line: &str) -> Option<(u64, [String; 2])> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., "checksum", "u", u, "v", v] = words[..] else {
        return None;
    };
    Some((words[1].parse().ok()?, [u.to_owned(), v.to_owned()]))
}

/// Reads lines until `enough` or the end, and returns the last progress.
fn follow(child: &mut Child, enough: impl Fn(u64) -> bool) -> (u64, [String; 2]) {
    let mut last = None;
    loop {
        match child.receive(DEADLINE) {
            Received::Line(line) => last = progress(&line).or(last),
            Received::Nothing => panic!("the simulation is silent; last {last:?}"),
            Received::Ended => break,
        }
        if last.as_ref().is_some_and(|(step, _)| enough(*step)) {
            break;
        }
    }
    last.expect("progress was printed")
}

fn newest(dir: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|e| e == "vtkhdf"))
        .max()
}

#[test]
fn a_killed_simulation_continues_from_its_checkpoint_to_the_same_bits() {
    let (sockets, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let dir = files.path().to_str().unwrap();
    let simulate = |more: &[&str]| {
        let args: Vec<&str> = RUN.iter().chain(more).copied().collect();
        Child::start(&program("gray_scott"), &args, sockets.path(), &[])
    };
    let checkpoint = || {
        let args = [
            "checkpoint",
            "gray_scott",
            "--fast",
            dir,
            "--every",
            "5",
            "--timeout",
            "20",
        ];
        Child::start(&program("tcasm"), &args, sockets.path(), &[])
    };

    let mut writer = checkpoint();
    let mut first = simulate(&[]);
    let (mut killed_at, _) = follow(&mut first, |step| step >= 500);
    while newest(files.path()).is_none() {
        // The simulation must not end before a slow writer has written. So from here on it runs one
        // line at a time.
        first.signal(Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(50));
        first.signal(Signal::SIGCONT);
        (killed_at, _) = follow(&mut first, |_| true);
    }
    first.kill();
    assert!(killed_at < 1200, "it was killed in the middle");
    assert_eq!(
        writer.wait().code(),
        Some(4),
        "the writer says that the producer was lost"
    );
    assert!(newest(files.path()).is_some());

    let mut writer = checkpoint();
    let (last, continued) = follow(&mut simulate(&["--restart", dir]), |_| false);
    assert_eq!(
        writer.wait().code(),
        Some(0),
        "the writer ends with the stream"
    );

    let plain = program("gray_scott_plain");
    let (_, undisturbed) = follow(&mut Child::start(&plain, &RUN, sockets.path(), &[]), |_| {
        false
    });
    assert_eq!((last, &continued), (1200, &undisturbed));
    assert_eq!(
        read_by_others(&newest(files.path()).unwrap()),
        [&undisturbed; 2].map(Clone::clone)
    );
}

/// Returns the checksums of u and v as h5py and as VTK read them.
fn read_by_others(file: &Path) -> [[String; 2]; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    assert!(
        Command::new(root.join("ci/python-env.sh"))
            .status()
            .unwrap()
            .success()
    );
    let script = r#"
import sys, h5py, numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

def checksum(array):
    bits = np.ascontiguousarray(array).view("u8").ravel()
    return f"{int((bits * (2 * np.arange(bits.size, dtype='u8') + 1)).sum()):016x}"

with h5py.File(sys.argv[1]) as file:
    print(*(checksum(file["VTKHDF/PointData"][name][()]) for name in "uv"))
reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
reader.Update()
data = reader.GetOutput().GetPointData()
print(*(checksum(vtk_to_numpy(data.GetArray(name))) for name in "uv"))
"#;
    let python = Command::new(root.join("target/venv/bin/python"))
        .args(["-c", script])
        .arg(file)
        .output()
        .unwrap();
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let text = String::from_utf8(python.stdout).unwrap();
    let mut words = text.split_whitespace().map(str::to_owned);
    [(); 2].map(|()| [(); 2].map(|()| words.next().expect("two checksums a line")))
}
