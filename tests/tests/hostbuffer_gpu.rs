//! Host buffers and GPUs: registration, and sections in device memory, with a driver that has no
//! GPU, and on a machine without a driver. No GPU is used.

use std::path::Path;
use tcasm_core::place::addresses;
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::fake_cuda;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");

/// Starts a process that finds libcuda.so.1 in `drivers`.
fn start(dir: &Path, drivers: &Path) -> Child {
    start_with(dir, drivers, &["job", "1"], &[])
}

fn start_with(dir: &Path, drivers: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Child {
    let (drivers, log) = (drivers.to_str().unwrap(), dir.join("log"));
    let mut settings = vec![
        ("LD_LIBRARY_PATH", drivers),
        ("FAKE_CUDA_LOG", log.to_str().unwrap()),
    ];
    settings.extend(more);
    Child::start(PROGRAM, arguments, dir, &settings)
}

/// Starts a process of a job of three, with a section in the memory of device 1.
fn start_on_device(dir: &Path, blocked: &[u64], more: &[(&str, &str)]) -> Child {
    let blocked: Vec<String> = blocked.iter().map(|at| format!("{at:x}")).collect();
    let mut arguments = vec!["job", "3"];
    arguments.extend(blocked.iter().map(String::as_str));
    let settings = [&[("HOSTBUFFER_DEVICE", "1")], more].concat();
    start_with(dir, dir, &arguments, &settings)
}

/// The addresses that are tried, and the place of the device's section.
fn candidates() -> Vec<u64> {
    addresses("hostbuffer/job", PLACE + (4 << 20)).collect()
}

const PLACE: u64 = 10 << 20;

/// Returns how often the processes have called each of these functions of the driver.
fn calls<const N: usize>(dir: &Path, names: [&str; N]) -> [usize; N] {
    fake_cuda::calls(&dir.join("log"), names)
}

fn command(child: &mut Child, line: &str) -> String {
    child.send(line);
    child.hear_line("ok ")
}

#[test]
fn section_is_registered_with_its_device_and_given_back() {
    let dir = TempDir::new().unwrap();
    fake_cuda::compile(dir.path(), &[]);
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

#[test]
fn device_section_is_one_memory_at_one_address_in_all_processes() {
    let dir = TempDir::new().unwrap();
    fake_cuda::compile(dir.path(), &[]);
    let free = candidates();
    // Only the addresses of the device are in use in one process, and so at the first try.
    let blocked = [free[0] + PLACE + (2 << 20)];
    let all = [&blocked[..], &[], &[]];
    let mut all = all.map(|blocked| start_on_device(dir.path(), blocked, &[]));
    let address = free[1] + PLACE;
    let seen = format!("DeviceSection {{ address: {address:x}, bytes: 300000, device: 1 }}");
    for child in &mut all {
        let line = child.hear_line("ok created=");
        assert!(line.ends_with(&format!("address={:x}", free[1])), "{line}");
        assert_eq!(command(child, "device"), seen);
    }
    let late = start_on_device(dir.path(), &[], &[]);
    late.hear_line("ok created=false");
    let mut all: Vec<Child> = all.into_iter().chain([late]).collect();
    for (i, child) in all.iter_mut().enumerate() {
        assert_eq!(command(child, "device-add"), (i + 1).to_string());
        assert_eq!(command(child, "inheritable"), "0");
        let errors = command(child, "device-as-memory");
        assert_eq!(errors.matches("is in device memory").count(), 4, "{errors}");
        child.send("device-list");
        assert!(child.hear_line("error ").contains("is in ordinary memory"));
    }
    // The others keep the memory when the process that created it is gone.
    all[0].kill();
    assert_eq!(command(&mut all[1], "device-add"), "5");
    for mut child in all.drain(1..) {
        child.finish();
        assert!(child.wait().success());
    }
    let [created, imports, maps, unmaps] = calls(dir.path(), ["create", "import", "map", "unmap"]);
    assert_eq!((created, imports, maps, unmaps), (1, 4, 4, 3));
    let [reserved, freed] = calls(dir.path(), ["reserve", "free"]);
    assert_eq!(
        reserved,
        freed + 1,
        "all but the killed process have given back addresses"
    );
}

/// The functions that refuse, in one process of three, and what the error says.
const REFUSALS: [(&str, &str, usize); 4] = [
    ("management", "device 1 has no virtual memory management", 0),
    (
        "cuMemCreate",
        "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)",
        0,
    ),
    (
        "cuMemImportFromShareableHandle",
        "cuMemImportFromShareableHandle: CUDA_ERROR_NOT_SUP",
        1,
    ),
    (
        "cuMemSetAccess",
        "cuMemSetAccess: CUDA_ERROR_NOT_SUPPORTED (801)",
        1,
    ),
];

#[test]
fn driver_that_refuses_in_one_process_is_named_to_all_and_nothing_stays() {
    for (function, why, created) in REFUSALS {
        let dir = TempDir::new().unwrap();
        fake_cuda::compile(dir.path(), &[]);
        // The process that leads is the only one that creates memory.
        let settings = [("FAKE_CUDA_REFUSE", function)];
        let first = start_on_device(dir.path(), &[], &settings);
        if function == "cuMemCreate" {
            let leads = || dir.path().join("job.hostbuffer").exists().then_some(());
            poll_until("it leads", leads);
        }
        let others = [0, 1].map(|_| start_on_device(dir.path(), &[], &[]));
        for mut child in [first].into_iter().chain(others) {
            let error = child.hear_line("error ");
            assert!(error.contains(why), "{error}");
            assert!(child.wait().success());
        }
        let pairs = [["reserve", "free"], ["map", "unmap"]];
        for [taken, given] in pairs.map(|names| calls(dir.path(), names)) {
            assert_eq!(taken, given, "{function}");
        }
        let [made, imported, dropped] = calls(dir.path(), ["create", "import", "drop"]);
        assert_eq!((made, dropped), (created, made + imported), "{function}");
        let sockets = dir.path().join("job.hostbuffer").exists();
        assert!(!sockets, "{function}");
    }
}

#[test]
fn device_that_another_process_counts_differently_is_refused() {
    let dir = TempDir::new().unwrap();
    fake_cuda::compile(dir.path(), &[]);
    let all = ["0", "0", "1"]
        .map(|first| start_on_device(dir.path(), &[], &[("FAKE_CUDA_FIRST", first)]));
    for child in &all {
        let error = child.hear_line("error ");
        assert!(
            error.contains("memory is that of another device"),
            "{error}"
        );
    }
}

#[test]
fn device_section_without_a_driver_is_refused_before_memory_exists() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("libcuda.so.1"), "no library").unwrap();
    let with_fault = [("TCASM_FAULT", "chosen")];
    let all = [0, 1, 2].map(|_| start_on_device(dir.path(), &[], &with_fault));
    for child in &all {
        let error = child.hear_line("error ");
        assert!(error.contains("libcuda.so.1"), "{error}");
        assert_eq!(
            error.matches(": process ").count(),
            1,
            "one try says it: {error}"
        );
    }
}
