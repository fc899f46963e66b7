//! Builds the example with OpenMP as users do, except that it links the library that cargo has just
//! built, and compares every point of its versions with what one thread computes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tcasm_observer::Observer;
use tcasm_tests::child::DEADLINE;
use tcasm_tests::{name, runtime_dir};

const N: usize = 256;
const MIDDLE: usize = N / 2 * N + N / 2;

/// The plate as one thread computes it.
struct Plate {
    t: Vec<f64>,
    step: u64,
}

impl Plate {
    fn relax(&mut self, colour: usize) {
        let t = &mut self.t;
        for i in 1..N - 1 {
            for j in (1 + (i + colour) % 2..N - 1).step_by(2) {
                let at = i * N + j;
                t[at] = 0.25 * ((t[at - N] + t[at + N]) + (t[at - 1] + t[at + 1]));
            }
        }
    }

    fn go_to(&mut self, step: u64) {
        while self.step < step {
            self.relax(0);
            self.relax(1);
            self.t[MIDDLE] = 100.0;
            self.step += 1;
        }
    }
}

/// Returns the library for C, in the folder of this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let entries = std::fs::read_dir(test.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libtcasm_c") && name.ends_with(".a")
    };
    let newest = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    paths
        .filter(is_library)
        .max_by_key(newest)
        .expect("cargo builds it before the tests")
}

fn build(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.join("heat_openmp");
    let mut command = Command::new("g++");
    // No fused operations, which round once where two operations round twice.
    command.args([
        "-std=c++20",
        "-O2",
        "-fopenmp",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    for headers in ["bindings/c/include", "bindings/cpp/include"] {
        command.arg("-I").arg(root.join(headers));
    }
    command
        .arg(root.join("examples/openmp/heat.cpp"))
        .arg(library());
    command
        .args([
            "-lgcc_s",
            "-lutil",
            "-lrt",
            "-lpthread",
            "-lm",
            "-ldl",
            "-o",
        ])
        .arg(&program);
    assert!(command.status().unwrap().success(), "{command:?}");
    program
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn versions_of_many_threads_are_whole_steps() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path());
    for threads in ["1", "4"] {
        let name = name("openmp");
        let mut command = Command::new(&program);
        command
            .args([&name, "100000000"])
            .env("TCASM_RUNTIME_DIR", runtime_dir());
        command
            .env("OMP_NUM_THREADS", threads)
            .stdout(Stdio::null());
        let _running = Running(command.spawn().unwrap());
        let mut observer = Observer::attach_wait(&name, DEADLINE).unwrap();
        let mut versions = observer.every_version().unwrap();
        let mut plate = Plate {
            t: vec![0.0; N * N],
            step: 0,
        };
        for _ in 0..40 {
            let version = versions.next(DEADLINE).unwrap();
            plate.go_to(version.step());
            let view = version.view().unwrap();
            let seen = view.array::<f64>("t").unwrap();
            let wrong = seen
                .iter()
                .zip(&plate.t)
                .filter(|(a, b)| a.to_bits() != b.to_bits());
            assert_eq!(
                wrong.count(),
                0,
                "{threads} threads, step {}",
                version.step()
            );
        }
    }
}
