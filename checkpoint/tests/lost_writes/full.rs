//! A full file system, and a writer that is killed there at any moment. No file with its final name
//! is wrong.

use crate::check;
use crate::common::{PLAIN, names_in};
use crate::scenario::{FILES, advance, settings_of};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tcasm_checkpoint::Checkpointer;

const ROUNDS: u64 = 60;
/// The bytes of the file system. A few full checkpoints fit.
const SIZE: u64 = 2 << 20;
/// The number of files above which all are removed, so that there is room to write.
const MOST_FILES: usize = 24;

fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command
}

/// Mounts a small file system in a mount namespace of the child. No other process sees it.
#[test]
fn full_file_system_and_kills_leave_no_wrong_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let run = |flags: &str| {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new("unshare");
        command.arg(flags).arg("--propagation=private").arg(program);
        command.args([
            "--exact",
            "full::in_a_namespace",
            "--ignored",
            "--nocapture",
        ]);
        command.env(FILES, dir.path()).output().unwrap()
    };
    // Root can mount. Other users can mount in a user namespace.
    let flags = match nix::unistd::geteuid().is_root() {
        true => "-m",
        false => "-rm",
    };
    let output = run(flags);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(
        names_in(dir.path()),
        [] as [&str; 0],
        "the mount must be private"
    );
}

#[test]
#[ignore = "run by full_file_system_and_kills_leave_no_wrong_checkpoint in a mount namespace"]
fn in_a_namespace() {
    let dir = PathBuf::from(std::env::var_os(FILES).expect("run by another test"));
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={SIZE}"), "tmpfs"]);
    assert!(mount.arg(&dir).status().unwrap().success());
    let (mut random, mut full) = (1_u64, 0);
    for round in 0..ROUNDS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let pages = (random >> 33) % 160;
        fill_up(&dir, pages * 4096);
        full += u64::from(write_and_kill(&dir, random >> 50));
        fs::remove_file(dir.join("ballast")).unwrap();
        check::named(&dir).unwrap_or_else(|why| panic!("round {round}, {pages} pages: {why}"));
        // The next start continues with the files that exist.
        drop(Checkpointer::open("run", settings_of(PLAIN, &dir)).unwrap());
        make_room(&dir);
    }
    assert!(
        full > ROUNDS / 10,
        "only {full} of {ROUNDS} rounds filled the file system"
    );
}

/// Starts a writer and kills it a moment after some attempts. Returns true if one attempt failed.
fn write_and_kill(dir: &Path, random: u64) -> bool {
    let mut writer = child("full::writer");
    let writer = writer.env(FILES, dir).stdout(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let reported = lines.map_while(Result::ok);
    let reported = reported.filter(|line| line.contains("written") || line.contains("failed"));
    let reported: Vec<String> = reported.take(1 + random as usize % 6).collect();
    std::thread::sleep(Duration::from_micros(random % 7919));
    writer.kill().unwrap();
    writer.wait().unwrap();
    reported.iter().any(|line| line.contains("failed"))
}

/// Leaves `free` bytes free.
fn fill_up(dir: &Path, free: u64) {
    let stat = nix::sys::statvfs::statvfs(dir).unwrap();
    let now = stat.blocks_available() * stat.fragment_size();
    let ballast = vec![0; now.saturating_sub(free) as usize];
    fs::write(dir.join("ballast"), ballast).unwrap();
}

fn make_room(dir: &Path) {
    let files = tcasm_checkpoint::checkpoint_files(dir).unwrap();
    if files.len() > MOST_FILES {
        files.iter().for_each(|file| fs::remove_file(file).unwrap());
    }
}

#[test]
#[ignore = "run and killed by full_file_system_and_kills_leave_no_wrong_checkpoint"]
fn writer() {
    let dir = PathBuf::from(std::env::var_os(FILES).expect("run by another test"));
    let mut to = match Checkpointer::open("run", settings_of(PLAIN, &dir)) {
        Ok(to) => to,
        Err(error) => return println!("failed to open: {error}"),
    };
    let last = to.contents().newest().unwrap_or(0);
    for step in last + 1.. {
        match advance(&mut to, step) {
            Ok(_) => println!("written"),
            Err(_) => println!("failed"),
        }
    }
}
