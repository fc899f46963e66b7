//! The driver of CUDA without a GPU, `fake_cuda.c`, for programs that load it.

use std::path::Path;
use std::process::Command;

/// Compiles the driver into a folder, where programs find it by `LD_LIBRARY_PATH`.
pub fn compile(folder: &Path, definitions: &[&str]) {
    let source = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    let mut compiler = Command::new("cc");
    compiler
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .args(["fake_cuda.c", "fake_cuda_ipc.c"].map(source))
        .args(definitions);
    assert!(compiler.status().expect("there is a C compiler").success());
}

/// Returns how often the processes have called each of these functions of the driver. `log` is the
/// file of `FAKE_CUDA_LOG`.
pub fn calls<const N: usize>(log: &Path, names: [&str; N]) -> [usize; N] {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    names.map(|name| {
        let lines = log.lines();
        let own = lines.filter(|line| line.split(' ').next() == Some(name));
        own.count()
    })
}
