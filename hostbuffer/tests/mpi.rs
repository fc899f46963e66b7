//! Host buffers of real ranks under mpirun. Hosts are folders here: ranks with different folders
//! for sockets are on different hosts.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_core::place::addresses;
use tempfile::TempDir;

/// The sum of the values in the list of a rank.
const SUM: &str = "sum=499500";

fn candidates() -> Vec<String> {
    let all = addresses("hostbuffer/example", 2 << 20);
    all.map(|address| format!("{address:x}")).collect()
}

/// Some ranks of one host.
struct Group<'a> {
    folder: &'a Path,
    ranks: usize,
    blocked: &'a [String],
    bytes: &'a str,
}

/// Returns two ranks of the host in `folder`.
fn two(folder: &TempDir) -> Group<'_> {
    Group {
        folder: folder.path(),
        ranks: 2,
        blocked: &[],
        bytes: "1048576",
    }
}

fn rank_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/mpi");
    assert!(
        path.exists(),
        "{path:?}: run `cargo test --features mpi` without a target"
    );
    path
}

/// Returns the command that starts jobs on this machine: that of Open MPI or of MPICH.
fn mpirun() -> Command {
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output();
    let version = version.expect("mpirun can be started").stdout;
    if String::from_utf8_lossy(&version).contains("Open MPI") {
        let network = ["--mca", "btl", "self,vader"];
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.args(network);
    }
    command
}

/// Runs a job, and returns the lines of its ranks.
fn run(groups: &[Group<'_>]) -> Vec<String> {
    let mut command = mpirun();
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            command.arg(":");
        }
        let folder = group.folder.to_str().unwrap();
        command.args(["-n", &group.ranks.to_string(), "env"]);
        command.arg(format!("TCASM_RUNTIME_DIR={folder}"));
        command.arg(format!("MPI_EXAMPLE_BYTES={}", group.bytes));
        command.arg(rank_program()).args(group.blocked);
    }
    let output = command.output().expect("mpirun can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let ranks = text.lines().filter(|line| line.starts_with("rank "));
    let lines: Vec<String> = ranks.map(str::to_owned).collect();
    let all: usize = groups.iter().map(|group| group.ranks).sum();
    assert_eq!(lines.len(), all, "{text}{errors}");
    lines
}

fn hosts() -> [TempDir; 3] {
    [(); 3].map(|()| TempDir::new().unwrap())
}

fn files(dir: &TempDir) -> usize {
    dir.path().read_dir().unwrap().count()
}

#[test]
fn ranks_of_three_hosts_have_one_address_and_walk_a_list_by_a_pointer_that_was_sent() {
    let (dirs, free) = (hosts(), candidates());
    let mut groups: Vec<Group<'_>> = dirs.iter().map(two).collect();
    // One rank of the last host has the first address in use.
    groups[2].ranks = 1;
    groups.push(Group {
        blocked: &free[..1],
        ranks: 1,
        ..two(&dirs[2])
    });
    let lines = run(&groups);
    let same = format!("address={} {SUM}", free[1]);
    assert!(lines.iter().all(|line| line.ends_with(&same)), "{lines:#?}");
    let creators = lines.iter().filter(|line| line.contains("created=true"));
    assert_eq!(creators.count(), 3, "{lines:#?}");
    assert_eq!(dirs.each_ref().map(files), [0; 3], "nothing is left");
}

#[test]
fn rank_of_one_host_that_has_no_address_free_is_named_on_all() {
    let (dirs, free) = (hosts(), candidates());
    let mut groups: Vec<Group<'_>> = dirs.iter().map(two).collect();
    groups.push(Group {
        blocked: &free,
        ranks: 1,
        ..two(&dirs[1])
    });
    let lines = run(&groups);
    let pid = lines
        .iter()
        .find_map(|line| line.strip_prefix("rank 6 pid "));
    let pid = pid
        .and_then(|rest| rest.split_once(' '))
        .expect("it is refused")
        .0;
    let named = format!("process {pid} (mpi) on ");
    let is_named = |line: &String| line.contains("no address can be used") && line.contains(&named);
    assert!(lines.iter().all(is_named), "{lines:#?}");
    assert_eq!(dirs.each_ref().map(files), [0; 3], "nothing is left");
}

#[test]
fn hosts_that_want_different_sections_are_all_refused() {
    let dirs = hosts();
    let mut groups: Vec<Group<'_>> = dirs.iter().map(two).collect();
    groups[1].bytes = "4096";
    let lines = run(&groups);
    let differ = |line: &String| line.contains("error") && line.contains("differ from those");
    assert!(lines.iter().all(differ), "{lines:#?}");
}

#[test]
fn host_whose_processes_differ_tells_all_others_at_once() {
    let dirs = hosts();
    let mut groups: Vec<Group<'_>> = dirs.iter().map(two).collect();
    groups.push(Group {
        ranks: 1,
        bytes: "4096",
        ..two(&dirs[1])
    });
    let lines = run(&groups);
    let refused = |line: &String| line.contains(" error ") && !line.contains("in time");
    assert!(lines.iter().all(refused), "{lines:#?}");
    let told = lines.iter().filter(|line| line.contains("has others"));
    // The rank that differs learns that it does.
    assert_eq!(told.count(), 6, "{lines:#?}");
}

#[test]
fn rank_without_a_safe_folder_is_named_to_all() {
    let dirs = hosts();
    set_permissions(dirs[2].path(), Permissions::from_mode(0o777)).unwrap();
    let groups: Vec<Group<'_>> = dirs.iter().map(two).collect();
    let lines = run(&groups);
    let named = lines
        .iter()
        .filter(|line| line.contains("rank 5 cannot use its folder"));
    let own = lines.iter().filter(|line| line.contains("o+w without t"));
    assert_eq!((named.count(), own.count()), (4, 2), "{lines:#?}");
}
