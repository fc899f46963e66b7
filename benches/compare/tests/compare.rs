//! Tests of the command with small buffers: all methods, the output, and the exit.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tcasm_compare::methods;
use tcasm_compare::row::Row;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcasm-compare"));
    command.args(arguments);
    command
}

/// Runs the command. Returns its output, and the rows that it wrote as JSON.
fn rows(arguments: &[&str]) -> (Output, Vec<Row>) {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("rows.json");
    let output = command(arguments)
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&json)
        .unwrap_or_else(|_| panic!("no rows: {}", String::from_utf8_lossy(&output.stderr)));
    (output, serde_json::from_str(&text).unwrap())
}

/// Returns true if the output says that a case of `method` was left out.
fn left_out(output: &Output, method: &str) -> bool {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .any(|l| l.starts_with(&format!("{method}/")) && l.contains("left out:"))
}

/// Returns true if an observer died of SIGSEGV.
fn crashed(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("ended early with status -11")
}

#[test]
fn every_mode_of_every_method_shows_the_written_bytes() {
    for method in methods::ALL {
        let arguments = ["--only", method.name(), "--mib", "4", "--steps", "3"];
        let patterns = ["--coverages", "10,100", "--observers", "0,2"];
        let run = || rows(&[&arguments[..], &patterns].concat());
        let (mut output, mut rows) = run();
        // A reader of ADIOS2 (2.11, Python) sometimes dies of SIGSEGV in its engine.
        for _ in 0..3 {
            if method.name() == "adios2" && !output.status.success() && crashed(&output) {
                (output, rows) = run();
            }
        }
        if rows.is_empty() {
            // Only a method that is not installed may be missing, and the output must say so.
            assert_eq!(method.name(), "adios2");
            assert!(left_out(&output, "adios2"), "{output:?}");
            continue;
        }
        assert!(output.status.success(), "{}: {output:?}", method.name());
        let modes: BTreeSet<_> = rows.iter().map(|r| r.mode.clone()).collect();
        assert_eq!(modes, method.modes().into_iter().collect());
        assert_eq!(rows.len(), 4 * modes.len(), "{output:?}");
        for row in rows {
            assert!(row.correct, "{row:?}");
            assert_eq!(row.bytes, 4 << 20);
            assert!(row.stall_us_p50 <= row.stall_us_p99 && row.stall_us_p99 <= row.stall_us_max);
            assert_eq!(row.visible_ms.is_some(), row.observers > 0, "{row:?}");
        }
    }
}

#[test]
fn observers_see_the_written_bytes_of_every_pattern() {
    let (output, rows) = rows(&[
        "--only",
        "tcasm/uffd-async,mprotect",
        "--mib",
        "4",
        "--steps",
        "6",
        "--patterns",
        "random,contiguous,strided,same,drifting",
        "--coverages",
        "5,50",
    ]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rows.len(), 2 * 5 * 2);
}

#[test]
fn cases_run_as_the_user_who_is_asked_for() {
    let root = nix::unistd::geteuid().is_root();
    let case = "--only tcasm/uffd-async,copy --mib 4 --steps 3 --coverages 10 --observers 2";
    let case: Vec<&str> = case.split(' ').collect();
    let (output, ordinary) = rows(&[&case[..], &["--user", "ordinary"]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("measured as ordinary user"), "{text}");
    assert_eq!(ordinary.len(), 2);
    // The processes of the case say who they are.
    for row in ordinary {
        assert!(row.correct && row.user == "ordinary user", "{row:?}");
    }
    if root {
        let (_, of_root) = rows(&case);
        assert!(of_root.iter().all(|row| row.user == "root"), "{of_root:?}");
    } else {
        let output = command(&["--user", "root"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn torn_reads_are_detected() {
    let (output, rows) = rows(&[
        "--only",
        "torn",
        "--mib",
        "8",
        "--steps",
        "9",
        "--coverages",
        "100",
        "--observers",
        "2",
    ]);
    assert!(
        rows.iter().all(|r| !r.correct) && !rows.is_empty(),
        "{rows:?}"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("wrong byte"),
        "{output:?}"
    );
}

#[test]
fn json_rows_have_the_documented_names() {
    let (_, rows) = rows(&[
        "--only",
        "lock",
        "--mib",
        "1",
        "--steps",
        "1",
        "--coverages",
        "10",
    ]);
    let value = serde_json::to_value(&rows[0]).unwrap();
    let names: Vec<_> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = [
        "user",
        "method",
        "mode",
        "pattern",
        "coverage",
        "bytes",
        "observers",
        "stall_us_p50",
        "stall_us_p99",
        "stall_us_max",
        "step_added_ms",
        "visible_ms",
        "held_bytes",
        "skipped",
        "correct",
    ];
    expected.sort_unstable();
    let mut names = names;
    names.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn figures_are_written_as_svg_with_all_labels_and_as_png_with_text() {
    let dir = tempfile::tempdir().unwrap();
    let output = command(&[
        "--only",
        "copy,lock",
        "--mib",
        "1",
        "--steps",
        "1",
        "--quick",
        "--figures",
    ])
    .arg(dir.path())
    .output()
    .unwrap();
    assert!(output.status.success(), "{output:?}");
    for name in ["coverage", "observers"] {
        let svg = std::fs::read_to_string(dir.path().join(format!("{name}.svg"))).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|n| n.text()).collect();
        assert!(
            texts.contains(&"copy") && texts.contains(&"lock"),
            "{texts:?}"
        );
        assert!(
            texts.iter().any(|t| t.ends_with("(ms), median")),
            "{texts:?}"
        );
        check_png(&dir.path().join(format!("{name}.png")));
    }
}

/// Checks that the picture contains axes and text. Only they are as dark as the pixels that are
/// counted.
fn check_png(path: &Path) {
    let picture = resvg::tiny_skia::Pixmap::load_png(path).unwrap();
    let dark = picture
        .pixels()
        .iter()
        .filter(|p| p.red() < 0x60 && p.green() < 0x60 && p.blue() < 0x60);
    let text_column = picture.width() as usize / 20;
    let left = |i: usize| i % (picture.width() as usize) < text_column;
    let in_titles = picture
        .pixels()
        .iter()
        .enumerate()
        .filter(|(i, p)| left(*i) && p.red() < 0xb0);
    assert!(picture.width() > 800 && picture.height() > 400, "{path:?}");
    assert!(dark.count() > 1000, "{path:?} has no axes");
    assert!(
        in_titles.count() > 100,
        "{path:?} has no text left of the axes"
    );
}

#[test]
fn rows_can_be_drawn_again_without_measuring() {
    let (_, measured) = rows(&[
        "--only",
        "lock",
        "--mib",
        "1",
        "--steps",
        "1",
        "--coverages",
        "10",
    ]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.json");
    std::fs::write(&file, serde_json::to_vec(&measured).unwrap()).unwrap();
    let figures = dir.path().join("figures");
    let output = command(&["--from"])
        .arg(&file)
        .arg("--figures")
        .arg(&figures)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(figures.join("coverage.png").is_file());
}

#[test]
fn errors_for_wrong_arguments_list_the_valid_values() {
    for (arguments, expected) in [
        (&["--only", "mmap"][..], "file-asm"),
        (&["--only", "tcasm/soft-dirty"], "uffd-async"),
        (&["--coverages", "0"], "1..=100"),
        (&["--observers", "1000"], "64"),
        (&["--patterns", "zigzag"], "drifting"),
    ] {
        let output = command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// Returns the command lines of the processes, and the names of the files in memory, that the
/// command with process id `id` has started or created.
fn residue(id: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/dev/shm").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        found.extend(
            name.contains(&format!("tcasm-compare-{id}-"))
                .then_some(name),
        );
    }
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        found.extend(
            line.contains(&format!("tcasm-compare-{id}-"))
                .then_some(line),
        );
    }
    found
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a long case of `method`, waits until its observers run, and ends the command by `signal`.
/// Returns its process id and exit code.
fn ended_by(method: &str, signal: i32) -> (u32, Option<i32>) {
    let mut child = command(&[
        "--only",
        method,
        "--mib",
        "4",
        "--steps",
        "140",
        "--compute",
        "200",
        "--coverages",
        "10",
        "--observers",
        "3",
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let id = child.id();
    let busy = || {
        residue(id)
            .iter()
            .filter(|line| line.contains("case.json"))
            .count()
            >= 4
    };
    wait_for("producer and observers", busy);
    let process = nix::unistd::Pid::from_raw(id as i32);
    nix::sys::signal::kill(process, nix::sys::signal::Signal::try_from(signal).unwrap()).unwrap();
    (id, child.wait().unwrap().code())
}

#[test]
fn ctrl_c_leaves_neither_processes_nor_files() {
    for method in ["tcasm/uffd-async", "iceoryx2/copy"] {
        let (id, code) = ended_by(method, libc::SIGINT);
        assert_eq!(code, Some(130), "{method}");
        wait_for("processes and files that are left", || {
            residue(id).is_empty()
        });
    }
}

#[test]
fn processes_of_a_killed_command_end_and_the_next_command_removes_its_files() {
    let (id, _) = ended_by("iceoryx2/copy", libc::SIGKILL);
    wait_for("processes that are left", || {
        !residue(id).iter().any(|line| line.contains("case.json"))
    });
    assert!(
        !residue(id).is_empty(),
        "this test needs files that are left"
    );
    rows(&[
        "--only",
        "lock",
        "--mib",
        "1",
        "--steps",
        "1",
        "--coverages",
        "10",
    ]);
    assert_eq!(residue(id), Vec::<String>::new());
}
