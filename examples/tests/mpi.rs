//! Runs the example with ranks under a real mpirun.

use std::process::Command;
use tcasm_observer::GroupObserver;

const SIZE: [&str; 2] = ["--size", "20"];
const STEPS: [&str; 4] = ["--steps", "50", "--publish-every", "7"];

/// Returns the command that starts `ranks` ranks on this machine.
fn mpirun(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output();
    let version = version.expect("mpirun can be started").stdout;
    if String::from_utf8_lossy(&version).contains("Open MPI") {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.args(["--mca", "btl", "self,vader"]);
    }
    command.args(["-n", &ranks.to_string()]);
    command.arg(env!("CARGO_BIN_EXE_gray_scott_mpi"));
    command
}

/// Runs a program, and returns the steps that it prints, with their checksums.
fn checksums(command: &mut Command) -> Vec<(String, String)> {
    let output = command.args(SIZE).args(STEPS).output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let parts = |line: &str| {
        let step = line.split_whitespace().nth(1)?.to_owned();
        Some((step, line.split_once("checksum")?.1.to_owned()))
    };
    text.lines().filter_map(parts).collect()
}

#[test]
fn ranks_compute_the_same_bits_as_one_process() {
    let runtime = tempfile::tempdir().unwrap();
    let plain = checksums(&mut Command::new(env!("CARGO_BIN_EXE_gray_scott_plain")));
    assert_eq!(plain.len(), 8, "{plain:?}");
    for (ranks, capture) in [(1, "hand-over"), (3, "hand-over"), (4, "copy")] {
        let mut job = mpirun(ranks);
        job.env("TCASM_RUNTIME_DIR", runtime.path());
        let job = checksums(job.args(["--capture", capture]));
        assert_eq!(plain, job, "{ranks} ranks, {capture}");
    }
}

#[test]
fn global_array_of_the_ranks_is_the_grid() {
    let runtime = tempfile::tempdir().unwrap();
    // SAFETY: threads of this process read the environment through the standard library only, which
    // takes a lock.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", runtime.path()) };
    let mut job = mpirun(3);
    let job = job.env("TCASM_RUNTIME_DIR", runtime.path()).args(SIZE);
    let endless = ["--steps", "1000000", "--publish-every", "1"];
    let mut job = job
        .args(endless)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let version = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut observer = GroupObserver::attach("gray_scott").ok()?;
        observer.latest().ok()
    });
    let version = version.expect("the ranks have a common step within a minute");
    let sums = ["u", "v"].map(|name| {
        let array = version.array::<f64>(name).unwrap();
        let array = array.into_dimensionality::<ndarray::Ix3>().unwrap();
        tcasm_examples::checksum(array.view())
    });
    let step = version.step();
    job.kill().unwrap();
    job.wait().unwrap();
    assert_eq!(sums, sums_of_one_process(step));
}

/// Computes `step` steps in this process, and returns the checksums of u and v.
fn sums_of_one_process(step: u64) -> [u64; 2] {
    let solver = tcasm_examples::GrayScott::new(tcasm_examples::Params::default());
    let mut arrays = [(); 4].map(|()| ndarray::Array3::<f64>::zeros([20; 3]));
    let [u, v, ..] = &mut arrays;
    solver.initialise(u.view_mut(), v.view_mut());
    for step in 1..=step {
        let [u, v, u_next, v_next] = &mut arrays;
        let (u_next, v_next) = (u_next.view_mut(), v_next.view_mut());
        solver.step(u.view(), v.view(), u_next, v_next, step);
        arrays.rotate_left(2);
    }
    [0, 1].map(|i| tcasm_examples::checksum(arrays[i].view()))
}
