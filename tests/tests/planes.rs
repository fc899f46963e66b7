//! Stray memory of planes: allocated by core dumps, by locking all memory, and by processes that
//! read holes.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_observer::Observer;
use tcasm_producer::{Producer, Receipt, WriteOnly};
use tcasm_tests::PublishVisible;
use tcasm_tests::child::{DEADLINE, poll_until};
use tcasm_tests::core_file::{self, CoreFile};
use tcasm_tests::procfs::{descriptors, plane_bytes};
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const MIB: u64 = 1 << 20;

/// Returns a producer of 64 MiB of stamps, in a region of eight planes.
fn producer(settings: &str) -> (TempDir, Puppet, u64) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let answer = producer.ok(&format!("create x pages=16384 {settings}"));
    let base = number(&answer, "base").unwrap();
    (dir, producer, base)
}

fn pid(puppet: &Puppet) -> i32 {
    puppet.child.pid()
}

/// Returns the files of the planes that a process has open.
fn planes(pid: i32) -> Vec<File> {
    let found = descriptors(pid).into_iter();
    let planes =
        found.filter(|(_, name)| name.contains("/memfd:tcasm-") && name.contains("-plane"));
    planes.map(|(path, _)| File::open(path).unwrap()).collect()
}

/// Reads a byte of every page of the planes, as an observer can.
fn read_all(planes: &[File]) -> u64 {
    let sum = |file: &File| {
        let len = file.metadata().unwrap().len() as usize;
        let map = Mapping::shared(file.as_fd(), len, false).unwrap();
        // SAFETY: the whole object is mapped, and it is sealed against shrinking. The words are
        // atomics and are only read.
        let words = unsafe { map.words() }.iter().step_by(page_size() / 8);
        words
            .map(|word| word.load(Relaxed))
            .fold(0, u64::wrapping_add)
    };
    planes.iter().map(sum).fold(0, u64::wrapping_add)
}

#[test]
fn stray_memory_is_returned() {
    let (_dir, mut producer, _) = producer("one-in=4 versions=8");
    producer.ok("publish 3");
    let pid = pid(&producer);
    for round in 1..3 {
        read_all(&planes(pid));
        // At least half of the pages that were read belong to no version. The numbers of an audit
        // that ran while pages were read stay until the next one has ended.
        poll_until("stray memory is returned", || {
            let returned = producer.number("stats", "returned") >= round * 4 * 64 * MIB;
            let agree = producer.number("stats", "held") == plane_bytes(pid);
            let none_is_left = producer.number("stats", "stray") == 0;
            (returned && agree && none_is_left).then_some(())
        });
        // The frames of versions have stayed.
        producer.ok("view");
        assert_eq!(producer.number("publish 3", "published"), 3);
    }
}

#[test]
fn stray_memory_stays_and_is_counted_while_versions_use_every_plane() {
    let (dir, mut producer, _) = producer("one-in=4 versions=3");
    producer.ok("publish 1");
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    let pid = pid(&producer);
    read_all(&planes(pid));
    poll_until("all stray memory is counted", || {
        let stray = producer.number("stats", "stray");
        let both = producer.number("stats", "held") + stray;
        (stray >= 64 * MIB && both == plane_bytes(pid)).then_some(())
    });
    assert_eq!(producer.number("publish 5", "published"), 5);
    observer.ok("latest");
    observer.ok("check");
}

/// Checks this because `pwrite` and `fallocate` take the lock of the object, which a reader can
/// hold for long by `lseek` with `SEEK_HOLE`.
#[test]
fn publish_takes_fresh_memory_without_the_lock_of_the_object() {
    for capture in ["inline", "deferred"] {
        let (dir, mut producer, _) = producer(&format!("tracker=uffd-async capture={capture}"));
        producer.ok("refuse pwrite");
        producer.ok("refuse fallocate");
        assert_eq!(producer.number("publish 3", "published"), 3, "{capture}");
        assert!(producer.number("stats", "held") >= 2 * 64 * MIB);
        let mut observer = Puppet::start(PUPPET, dir.path());
        observer.ok("attach x");
        observer.ok("latest");
        observer.ok("check");
    }
}

#[test]
fn locking_all_memory_before_the_region_is_made_allocates_no_planes() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok("lock-memory future");
    producer.ok("create x pages=16384 one-in=4 versions=8");
    assert_eq!(plane_bytes(pid(&producer)), 0);
    producer.ok("publish 3");
    poll_until("planes hold what versions do", || {
        (producer.number("stats", "held") == plane_bytes(pid(&producer))).then_some(())
    });
}

#[test]
fn locking_all_memory_afterwards_allocates_only_what_was_in_use() {
    let (dir, mut producer, _) = producer("one-in=4 versions=8");
    producer.ok("publish 1");
    let pid = pid(&producer);
    let before = producer.number("stats", "held");
    producer.ok("lock-memory current");
    // One plane was in use. Its holes stay allocated until the next scan of the keeper.
    assert!(plane_bytes(pid) <= before + 64 * MIB);
    poll_until("planes hold what versions do", || {
        (producer.number("stats", "held") == plane_bytes(pid)).then_some(())
    });
    assert_eq!(producer.number("publish 9", "published"), 9);
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    observer.ok("latest");
    observer.ok("check");
}

#[test]
fn a_core_dump_leaves_planes_as_they_are_and_the_last_version_readable() {
    let (dir, mut producer, base) = producer("one-in=4 versions=8");
    producer.ok("publish 3");
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    let before = plane_bytes(pid(&producer));
    let core = TempDir::new().unwrap();
    producer.dies_of(&format!("dump-core {}", core.path().display()));
    assert_eq!(plane_bytes(pid(&observer)), before);
    observer.ok("latest");
    observer.ok("check");
    let dump = dumped(core.path());
    let live = dump.read(base, 64 * MIB as usize);
    assert!(live.is_some_and(|bytes| bytes.iter().any(|b| *b != 0)));
}

/// Returns the core dump in `folder`, which must be little larger than live memory.
fn dumped(folder: &Path) -> CoreFile {
    assert!(
        core_file::written_to_current_folder(),
        "this test needs core dumps in the current folder: sysctl kernel.core_pattern=core"
    );
    let path = core_file::find(folder).expect("no core dump was written");
    let bytes = path.metadata().unwrap().len();
    assert!(bytes < 160 * MIB, "the core dump has {} MiB", bytes / MIB);
    CoreFile::open(&path).unwrap()
}

/// The environment variable of the process that dies: the folder for its core dump.
const DIE_IN: &str = "TCASM_TEST_DIE_IN";

/// Checks live memory of every kind: tracked, handed over, and shared with a plane.
#[test]
fn a_core_dump_holds_live_memory_of_every_kind() {
    if let Some(folder) = std::env::var_os(DIE_IN) {
        die_with_fields_of_every_kind(folder.into());
    }
    let (core, runtime) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "a_core_dump_holds_live_memory_of_every_kind"])
        .args(["--nocapture"])
        .env("TCASM_RUNTIME_DIR", runtime.path())
        .env(DIE_IN, core.path());
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&out.stderr);
    assert_eq!(
        out.status.signal(),
        Some(libc::SIGABRT),
        "{said}{complaint}"
    );
    let dump = dumped(core.path());
    let mut found = 0;
    for line in said.lines().filter(|line| line.contains("address=")) {
        let (address, value) = (number(line, "address"), number(line, "value"));
        let bytes = dump.read(address.unwrap(), BYTES);
        let value = value.unwrap() as u8;
        let holds = bytes.is_some_and(|bytes| bytes.iter().all(|b| *b == value));
        assert!(holds, "the core dump lacks: {line}");
        found += 1;
    }
    assert_eq!(found, 3, "{said}");
}

const BYTES: usize = 4 << 20;

fn die_with_fields_of_every_kind(folder: PathBuf) -> ! {
    let builder = Producer::builder("kinds").capacity(4 * BYTES);
    let mut p = builder.cold_versions(1).create().unwrap();
    let tracked = p.field::<u8, _>("tracked", [BYTES]).add().unwrap();
    let shared = p.field::<u8, _>("shared", [BYTES]).add().unwrap();
    let handed = p.field::<u8, _>("handed", [BYTES]).handed_over();
    let handed = handed.add().unwrap();
    p.view_mut(shared).unwrap().fill(2);
    let until = Instant::now() + DEADLINE;
    let mut step = 0;
    while step < 10 || p.stats().shared_bytes < BYTES as u64 {
        step += 1;
        p.view_mut(tracked).unwrap().fill(step as u8 | 128);
        p.rewrite(handed).unwrap().fill(WriteOnly::new(3));
        // Without waiting, a publish could skip because the last capture is not finished.
        let receipt = p.publish_visible(step, 0.0).unwrap();
        assert!(matches!(receipt, Receipt::Published(_)), "{receipt:?}");
        assert!(Instant::now() < until, "nothing is shared with a plane");
    }
    p.view_mut(tracked).unwrap().fill(1);
    for (address, value) in [
        (p.view(tracked).unwrap().as_ptr(), 1),
        (p.view(shared).unwrap().as_ptr(), 2),
        (p.view(handed).unwrap().as_ptr(), 3),
    ] {
        println!("address={} value={value}", address as usize);
    }
    // Observers of the region do not keep the process from ending.
    let _observer = Observer::attach("kinds").unwrap();
    core_file::dump(&folder).unwrap();
    unreachable!("the process has survived SIGABRT");
}
