//! Registration of host buffers with a GPU: the calls of the driver, with one that has no GPU, and
//! a machine without a driver. No GPU is used.

use std::path::Path;
use std::process::Command;
use tcasm_tests::child::Child;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");

/// Starts a process that finds libcuda.so.1 in `drivers`.
fn start(dir: &Path, drivers: &Path) -> Child {
    let (drivers, log) = (drivers.to_str().unwrap(), dir.join("log"));
    let settings = [
        ("LD_LIBRARY_PATH", drivers),
        ("FAKE_CUDA_LOG", log.to_str().unwrap()),
    ];
    Child::start(PROGRAM, &["job", "1"], dir, &settings)
}

fn command(child: &mut Child, line: &str) -> String {
    child.send(line);
    child.hear_line("ok ")
}

fn compile_driver(folder: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fake_cuda.c");
    let library = folder.join("libcuda.so.1");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(source);
    assert!(compiler.status().expect("there is a C compiler").success());
}

#[test]
fn section_is_registered_with_its_device_and_given_back() {
    let dir = TempDir::new().unwrap();
    compile_driver(dir.path());
    let mut child = start(dir.path(), dir.path());
    let line = child.hear_line("ok created=true address=");
    assert_eq!(command(&mut child, "gpu 1"), "registered");
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let expected = format!("register {line} 800000 1\nunregister {line} 0 0\nrelease 1 0 0\n");
    assert_eq!(log, expected);
    for (device, why) in [
        ("gpu 2", "CUDA_ERROR_INVALID_DEVICE (101)"),
        ("gpu 4294967295", "range"),
    ] {
        child.send(device);
        let error = child.hear_line("error ");
        assert!(error.contains(why), "{error}");
    }
    // A sealed section is registered for reading, which this device refuses.
    command(&mut child, "seal");
    child.send("gpu 1");
    let error = child.hear_line("error ");
    assert!(
        error.contains("cuMemHostRegister: CUDA_ERROR_NOT_SUPPORTED (801)"),
        "{error}"
    );
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(log.ends_with("release 1 0 0\nrelease 1 0 0\n"), "{log}");
}

#[test]
fn driver_that_is_absent_is_reported_and_harms_nothing() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("libcuda.so.1"), "no library").unwrap();
    let mut child = start(dir.path(), dir.path());
    child.hear_line("ok created=true address=");
    for _ in 0..2 {
        child.send("gpu 0");
        let error = child.hear_line("error ");
        assert!(
            error.contains("cannot register memory with a GPU: "),
            "{error}"
        );
        assert!(error.contains("libcuda.so.1"), "{error}");
    }
    command(&mut child, "build");
}
