//! Tests of `run`: programs that map files, and know nothing of TCASM.

use crate::common::{Run, command, good, name, tcasm, until};
use crate::cut_meshes::with_vtk;
use crate::view::Served;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that publishes as often as it is told, and then waits for a line.
const MAPS: &str = "
import mmap, os, struct, sys
path, size, times = sys.argv[1], 8192, int(sys.argv[2])
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, size)
memory = mmap.mmap(fd, size)
for number in range(1, times + 1):
    memory[4096:] = struct.pack('d', number) * 512
    memory[0:8] = struct.pack('q', 10 * number)
    memory.flush()
print('published', flush=True)
sys.stdin.readline()
";

/// Returns the command `tcasm run` with the library that was built for this test.
fn run(args: &[&str]) -> Command {
    let library = std::env::current_exe().unwrap();
    let library = library.with_file_name("libtcasm_preload.so");
    let mut command = command(&[&["run"], args].concat());
    command
        .env("TCASM_PRELOAD_LIBRARY", library)
        .env("TCASM_CAPTURE", "inline");
    command
        .env_remove("TCASM_PRELOAD")
        .env_remove("TCASM_DESCRIPTION");
    command
}

fn finished(args: &[&str]) -> Run {
    run(args).output().unwrap().into()
}

#[test]
fn prints_what_was_published_and_ends_as_the_program() {
    let name = name("run");
    let program = format!("{MAPS}\nsys.exit(7)");
    let ended = finished(&[
        "--",
        "python3",
        "-c",
        &program,
        &format!("tcasm:{name}"),
        "3",
    ]);
    assert_eq!((ended.code, ended.out.as_str()), (7, "published\n"));
    let line = format!("tcasm: region {name}: 3 versions, steps 1 to 3, 8.00 KiB mapped, ");
    assert!(ended.err.starts_with(&line), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1);
}

#[test]
fn other_commands_see_the_fields_of_the_description() {
    let name = name("run-described");
    let folder = tempfile::tempdir().unwrap();
    let description = folder.path().join("fields.toml");
    let text = "[step]\noffset = 0\ndtype = \"int64\"\n[[field]]\nname = \"u\"\n\
                dtype = \"float64\"\nshape = [16, 32]\noffset = 4096\nunit = \"K\"\n\
                spacing = [0.5, 0.5, 1.0]\n";
    std::fs::write(&description, text).unwrap();
    let description = description.to_str().unwrap();
    let path = format!("tcasm:{name}");
    let mut command = run(&[
        "--description",
        description,
        "python3",
        "-c",
        MAPS,
        &path,
        "4",
    ]);
    let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "published");

    assert!(
        good(&["ls"])
            .out
            .lines()
            .any(|line| line.contains(&name) && line.contains("40"))
    );
    assert!(good(&["info", &name]).out.contains("float64"));
    assert!(good(&["stats", &name, "u"]).out.contains("512"), "values");
    let file = folder.path().join("u.vtkhdf");
    good(&["export", &name, file.to_str().unwrap()]);
    let read = with_vtk(&file);
    assert_eq!(read[0]["point_data"]["u"], json!(vec![4.0; 512]));
    assert_eq!(read[0]["points"][33], json!([0.5, 0.5, 0.0]));
    let view = Served::start(&[&name, "--port", "0"]);
    let told = view.told_until(r#""unit":"K""#);
    assert!(
        told.contains(&name) && told.contains(r#""name":"u""#),
        "{told}"
    );
    drop(view);
    let file = hdf5::File::open(file).unwrap();
    let u = file
        .dataset("VTKHDF/PointData/u")
        .unwrap()
        .read_raw::<f64>()
        .unwrap();
    assert_eq!(u, vec![4.0; 512]);
    let spacing = file.group("VTKHDF").unwrap().attr("Spacing").unwrap();
    assert_eq!(spacing.read_raw::<f64>().unwrap(), [0.5, 0.5, 1.0]);

    writeln!(running.stdin.take().unwrap()).unwrap();
    let ended: Run = running.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 0);
    assert!(
        ended.err.contains("4 versions, steps 10 to 40"),
        "{}",
        ended.err
    );
}

#[test]
fn files_that_match_a_pattern_are_published_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let name = name("run-file");
    let path = folder.path().join(&name);
    let path = path.to_str().unwrap();
    let ended = finished(&[
        "--region", "/none/*", "--region", path, "python3", "-c", MAPS, path, "2",
    ]);
    assert!(
        ended.err.contains(&format!("region {name}: 2 versions")),
        "{}",
        ended.err
    );
    let content = std::fs::read(path).unwrap();
    assert_eq!(
        (content.len(), &content[0..8]),
        (8192, &20i64.to_le_bytes()[..])
    );
}

#[test]
fn program_that_is_killed_is_reported_with_what_it_had_published() {
    let name = name("run-killed");
    let program = format!("{MAPS}\nos.kill(os.getpid(), 9)");
    let ended = finished(&["python3", "-c", &program, &format!("tcasm:{name}"), "5"]);
    assert_eq!(ended.code, 128 + 9);
    assert!(
        ended.err.contains("5 versions, steps 1 to 5"),
        "{}",
        ended.err
    );
}

#[test]
fn programs_that_the_program_starts_are_reported_too() {
    let (first, second) = (name("run-a"), name("run-b"));
    let script = "python3 -c \"$1\" tcasm:$2 1; python3 -c \"$1\" tcasm:$3 2";
    let ended = finished(&["sh", "-c", script, "sh", MAPS, &first, &second]);
    let count = |name: &str, versions: &str| {
        let lines = ended.err.lines();
        lines
            .filter(|line| {
                line.contains(&format!("region {name} (process ")) && line.contains(versions)
            })
            .count()
    };
    assert_eq!(
        (
            count(&first, ": 1 version,"),
            count(&second, ": 2 versions,")
        ),
        (1, 1),
        "{}",
        ended.err
    );
}

#[test]
fn signals_are_passed_on_to_the_program() {
    let program = "
import signal, sys, time
def end(number, frame):
    print('got', number, flush=True)
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, lambda number, frame: print('got', number, flush=True))
print('ready', flush=True)
while True: time.sleep(0.01)
";
    let mut running = run(&["--", "python3", "-c", program]).spawn().unwrap();
    let pid = Pid::from_raw(running.id() as i32);
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "ready");
    kill(pid, Signal::SIGUSR1).unwrap();
    assert_eq!(next(), "got 10");
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(next(), "got 15");
    let mut status = None;
    until("it ends", || {
        status = running.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(5));
}

#[test]
fn programs_that_cannot_be_run_have_the_statuses_of_a_shell() {
    let ended = finished(&["no-such-program-anywhere"]);
    assert_eq!(ended.code, 127);
    assert!(
        ended
            .err
            .contains("cannot run \"no-such-program-anywhere\""),
        "{}",
        ended.err
    );
    let ended = finished(&["/"]);
    assert_eq!(ended.code, 126, "{}", ended.err);
    assert_eq!(tcasm(&["run"]).code, 2, "a program is required");
}

#[test]
fn says_why_nothing_was_published() {
    let ended = finished(&["true"]);
    let nothing = "tcasm: nothing was published: no file called tcasm:NAME";
    assert!(
        ended.code == 0 && ended.err.starts_with(nothing),
        "{}",
        ended.err
    );

    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("a.c"), folder.path().join("a"));
    std::fs::write(&source, "int main(void) { return 4; }").unwrap();
    let mut compile = Command::new("cc");
    compile.arg("-static").arg("-o").args([&program, &source]);
    assert!(compile.status().unwrap().success());
    let ended = finished(&[program.to_str().unwrap()]);
    assert!(
        ended.code == 4 && ended.err.contains("is linked statically"),
        "{}",
        ended.err
    );
}

#[test]
fn says_that_programs_with_other_rights_are_not_seen() {
    if !nix::unistd::geteuid().is_root() {
        println!("NOT RUN: only root can give a program the rights of another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("other");
    std::fs::copy(resolved("true"), &program).unwrap();
    chown(&program, Some(65534), None).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    let ended = finished(&[program.to_str().unwrap()]);
    assert!(
        ended.code == 0 && ended.err.contains("(setuid)"),
        "{}",
        ended.err
    );
}

fn resolved(program: &str) -> String {
    let folders = ["/usr/bin", "/bin"];
    let paths = folders.map(|folder| format!("{folder}/{program}"));
    paths
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap()
}

#[test]
fn libraries_that_are_preloaded_already_stay() {
    let mut command = run(&["sh", "-c", "echo $LD_PRELOAD"]);
    command.env("LD_PRELOAD", resolved_library());
    let ended: Run = command.output().unwrap().into();
    let list = ended.out.trim().split(':').map(str::to_owned);
    let list: Vec<String> = list.collect();
    assert!(list[0].ends_with("/libtcasm_preload.so"), "{list:?}");
    assert_eq!(list[1..], [resolved_library()]);
}

/// Returns the path of a library that every program has.
fn resolved_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.lines().find(|line| line.contains("/libc.so"));
    path.unwrap().split_whitespace().last().unwrap().to_owned()
}

#[test]
fn missing_library_is_an_error_that_says_where_it_should_be() {
    let mut command = run(&["true"]);
    command.env("TCASM_PRELOAD_LIBRARY", "/no/such/library.so");
    let ended: Run = command.output().unwrap().into();
    assert_eq!(ended.code, 9);
    assert!(ended.err.contains("/no/such/library.so"), "{}", ended.err);
}
