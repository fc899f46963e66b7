//! Other programs read a series while it is written: VTK, h5py, the script of the documentation.

use super::{has, in_dir, of, read, start, versions};
use crate::common::{Background, Run, line, name, publish, python, until};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kills the writer repeatedly at arbitrary times, while readers read all the time. The next writer
/// continues the series.
#[test]
fn readers_never_fail_while_the_writer_is_killed_repeatedly() {
    let (dir, file) = in_dir();
    let name = name("follow-kills");
    let (mut p, t) = line(&name, 3000);
    publish(&mut p, t, 1);
    let first = start(&name, &file, &[]);
    until("there is a version", || file.exists());
    drop(first);
    let mut reader = python("follow.py").arg(&file).spawn().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 2.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                publish(&mut p, t, step);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for round in 0..40 {
            let args = ["export", &name, file.to_str().unwrap(), "--follow"];
            let mut run = Background::start(&args);
            let before = versions(&file);
            until("it goes on", || versions(&file) > before);
            std::thread::sleep(Duration::from_millis(round * 11 % 13));
            // The writer still runs: what a killed writer leaves behind does not stop the next.
            assert!(run.child().try_wait().unwrap().is_none(), "{:?}", run.end());
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(reader.stdin.take());
    let read_all: Run = reader.wait_with_output().unwrap().into();
    assert_eq!(read_all.code, 0, "{read_all:?}");
    let counts: Vec<u64> = read_all
        .out
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert!(counts[0] > 1 && counts[1] > 40, "{counts:?}");
    let run = start(&name, &file, &[]);
    drop(p);
    assert_eq!(run.end().code, 0);
    let steps = read(&file);
    assert_eq!(
        steps,
        of(&steps.iter().map(|(step, _)| *step).collect::<Vec<_>>())
    );
    let mut left = crate::common::names_in(dir.path());
    left.retain(|name| !name.ends_with(".tcasm-lock"));
    assert_eq!(left, ["run.steps", "run.vtkhdf"]);
    let rows = crate::common::names_in(&dir.path().join("run.steps"));
    let chapters = steps.len() / 256;
    assert_eq!(
        rows.len(),
        steps.len() + chapters,
        "there is no file that nothing refers to"
    );
}

/// h5py, VTK and ParaView lock the files that they read.
#[test]
fn reader_that_locks_the_file_does_not_block_the_writer() {
    let (_dir, file) = in_dir();
    let name = name("follow-lock");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    let script = "import h5py, sys\n\
        file = h5py.File(sys.argv[1]); dataset = file['tcasm/step']\n\
        print(dataset[()], flush=True)\n\
        sys.stdin.read(); print(dataset[()])";
    let python = python("follow.py");
    let mut holder = Command::new(python.get_program());
    holder
        .args(["-c", script])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut opened = [0; 4];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut opened).unwrap();
    assert_eq!(&opened, b"[10]");
    let locked = fs::File::open(&file).unwrap();
    assert!(locked.try_lock().is_err(), "the reader has no lock");
    for n in 2..=4 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
    }
    drop(holder.stdin.take());
    let held: Run = holder.wait_with_output().unwrap().into();
    assert_eq!((held.code, held.out.trim()), (0, "[10]"), "{held:?}");
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

/// Runs the script from `docs/paraview.md` unchanged.
#[test]
fn live_loop_of_the_documentation_sees_the_newest_version() {
    let (dir, file) = in_dir();
    let text = include_str!("../../../../docs/paraview.md");
    let script = text.split("```python\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    fs::write(dir.path().join("live.py"), script).unwrap();
    let name = name("follow-live");
    let (mut p, t) = line(&name, 100);
    let _run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    let mut live = Command::new(python("follow.py").get_program());
    live.arg(dir.path().join("live.py")).arg(&file).arg("t");
    let mut live = Background::from(live);
    for n in 1..=4 {
        let told = live.read_line();
        let step = n * 10;
        assert_eq!(told, format!("step {step}, {n} versions: mean {step}\n"));
        publish(&mut p, t, n * 10 + 10);
    }
}
