//! The amount of memory that the process can allocate before the kernel ends it.
//!
//! A control group at its limit gives no error. The kernel kills a process of the group, however
//! the memory is allocated (a store, `write`, `fallocate`). A machine without free memory does the
//! same. So memory that is not essential is allocated only if there is room for it.

use nix::sys::sysinfo::sysinfo;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The reserve that is left free for the program and for the kernel's own structures: the limit
/// divided by `SHARE`, but at least `LEAST` bytes.
const SHARE: u64 = 64;
const LEAST: u64 = 2 << 20;

/// A limit on memory, and the amount that may still be allocated under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bytes that may be allocated.
    pub bytes: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// The name of what has the limit: a control group, or the machine.
    pub of: String,
}

impl Room {
    /// Returns the room under `limit`, where `available` bytes are unused or can be reclaimed.
    fn under(limit: u64, available: u64, of: impl FnOnce() -> String) -> Room {
        let spared = (limit / SHARE).max(LEAST);
        Room {
            bytes: available.saturating_sub(spared),
            limit,
            of: of(),
        }
    }
}

/// Returns the reason why `bytes` bytes of memory should not be allocated now, if there is one.
pub fn refusal(bytes: u64) -> Option<String> {
    let room = shortage(bytes)?;
    Some(format!(
        "{bytes} bytes are needed, but only {} may still be allocated under the limit of {} bytes \
         of {}; raise that limit, or let observers release versions",
        room.bytes, room.limit, room.of
    ))
}

/// Returns the smallest room under all limits, if it is less than `bytes` bytes.
///
/// Limits that cannot be read do not count. Then the kernel decides, as it does for all other uses
/// of memory.
pub fn shortage(bytes: u64) -> Option<Room> {
    let groups = hierarchy()
        .into_iter()
        .flat_map(|hierarchy| hierarchy.rooms(Path::new("/proc/self/cgroup"), bytes));
    let rooms = groups.chain(machine(bytes));
    let least = rooms.min_by_key(|room| room.bytes)?;
    (least.bytes < bytes).then_some(least)
}

/// Returns the room of the machine, if it may be less than `wanted`.
fn machine(wanted: u64) -> Option<Room> {
    let strict = strict_overcommit();
    let unused = sysinfo().ok().map(|info| {
        let limit = info.ram_total();
        Room::under(limit, info.ram_unused(), String::new)
    });
    if !strict && unused.is_some_and(|room| room.bytes >= wanted) {
        return None; // `/proc/meminfo`, which estimates the reclaimable memory, is slow to read.
    }
    machine_in(&read_to_string("/proc/meminfo").ok()?, strict)
}

/// Returns true if the kernel promises all processes together no more memory than it has. Then a
/// store to memory of a shared object beyond that limit is a signal.
pub fn strict_overcommit() -> bool {
    let mode = read_to_string("/proc/sys/vm/overcommit_memory");
    mode.is_ok_and(|mode| mode.trim() == "2")
}

/// Returns the room of the machine from the text of `/proc/meminfo`. `strict` is the result of
/// [`strict_overcommit`].
fn machine_in(text: &str, strict: bool) -> Option<Room> {
    let bytes = |name: &str| number_after(text, name)?.checked_mul(1024);
    let (limit, mut available) = (bytes("MemTotal:")?, bytes("MemAvailable:")?);
    if strict {
        let promised = bytes("Committed_AS:")?;
        available = available.min(bytes("CommitLimit:")?.saturating_sub(promised));
    }
    Some(Room::under(limit, available, || "this machine".to_owned()))
}

/// Returns the first number behind `name`, which must be at the beginning of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The place where the groups of the memory controller are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    /// The mount point.
    folder: PathBuf,
    /// The group that is mounted there. The paths of groups in `/proc/self/cgroup` begin with it.
    root: PathBuf,
    files: &'static Files,
}

/// The names of files and entries in one version of control groups.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    /// The text between the colons of a line of `/proc/self/cgroup`.
    controller: &'static str,
    /// The files with a limit each.
    limits: &'static [&'static str],
    /// The file with the memory in use.
    usage: &'static str,
    /// The entries of `memory.stat` that count the memory which the kernel reclaims first.
    cache: [&'static str; 2],
}

const VERSION_2: Files = Files {
    controller: "",
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    cache: ["inactive_file ", "active_file "],
};

const VERSION_1: Files = Files {
    controller: "memory",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    cache: ["total_inactive_file ", "total_active_file "],
};

/// The smallest number that means "no limit". In version 1 a missing limit is a very large number.
const NO_LIMIT: u64 = 1 << 60;

/// Returns the place where the memory controller is mounted. It is looked up once, because mounts
/// do not change while a job runs.
fn hierarchy() -> Option<&'static Hierarchy> {
    static FOUND: OnceLock<Option<Hierarchy>> = OnceLock::new();
    let find = || Hierarchy::in_mounts(&read_to_string("/proc/self/mountinfo").ok()?);
    FOUND.get_or_init(find).as_ref()
}

impl Hierarchy {
    /// Finds the memory controller in the text of `/proc/self/mountinfo`. Version 1 comes first,
    /// because a controller that it has is not in version 2.
    fn in_mounts(text: &str) -> Option<Self> {
        let find = |files: &'static Files, kind: &str| {
            text.lines().find_map(|line| {
                let (mount, kind_and_options) = line.split_once(" - ")?;
                let mut options = kind_and_options.split(' ');
                let is_kind = options.next() == Some(kind);
                let controllers = options.nth(1).unwrap_or_default();
                let has_it = files.controller.is_empty()
                    || controllers.split(',').any(|c| c == files.controller);
                let mut words = mount.split(' ').skip(3);
                let (root, folder) = (words.next()?.into(), words.next()?.into());
                (is_kind && has_it).then_some(Hierarchy {
                    folder,
                    root,
                    files,
                })
            })
        };
        find(&VERSION_1, "cgroup").or_else(|| find(&VERSION_2, "cgroup2"))
    }

    /// Returns the rooms in the group that the file `own` names, and in all groups that contain it.
    fn rooms(&self, own: &Path, wanted: u64) -> Vec<Room> {
        let own = read_to_string(own).ok();
        let own = own.and_then(|text| self.folder_of(&text));
        let groups = own.iter().flat_map(|folder| folder.ancestors());
        let inside = groups.take_while(|group| group.starts_with(&self.folder));
        inside
            .filter_map(|group| self.room(group, wanted))
            .collect()
    }

    /// Returns the folder of the group in the text of `/proc/self/cgroup`.
    fn folder_of(&self, text: &str) -> Option<PathBuf> {
        let path = text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let mut controllers = controllers.split(',');
            let has_it = controllers.any(|c| c == self.files.controller);
            has_it.then_some(path)
        })?;
        // In a container its own group is mounted, and the path may be the one outside of it.
        let inside = Path::new(path).strip_prefix(&self.root);
        Some(self.folder.join(inside.unwrap_or(Path::new(""))))
    }

    /// Returns the room in one group, or `None` if the group has no limit.
    fn room(&self, group: &Path, wanted: u64) -> Option<Room> {
        let read = |name: &&str| read_to_string(group.join(name)).ok();
        let number = |name| read(name)?.trim().parse::<u64>().ok();
        let limits = self.files.limits.iter().filter_map(number);
        let limit = limits.min().filter(|limit| *limit < NO_LIMIT)?;
        let free = limit.saturating_sub(number(&self.files.usage)?);
        let of = || format!("control group {}", group.display());
        let room = Room::under(limit, free, of);
        if room.bytes >= wanted {
            return Some(room); // `memory.stat` is slow to read.
        }
        let stat = read(&"memory.stat")?;
        let cache = self.files.cache.iter();
        let cache: u64 = cache.filter_map(|name| number_after(&stat, name)).sum();
        Some(Room::under(limit, free.saturating_add(cache), of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    const MIB: u64 = 1 << 20;

    /// A folder with files like those of the kernel.
    struct Fake(PathBuf);

    impl Fake {
        fn new(files: &[(&str, &str)]) -> Fake {
            let name = format!("tcasm-room-{}-{:p}", std::process::id(), files);
            let folder = std::env::temp_dir().join(name);
            for (file, text) in files {
                let path = folder.join(file);
                create_dir_all(path.parent().unwrap()).unwrap();
                write(path, text).unwrap();
            }
            Fake(folder)
        }

        fn rooms(&self, files: &'static Files, root: &str, wanted: u64) -> Vec<u64> {
            let hierarchy = Hierarchy {
                folder: self.0.join("mount"),
                root: root.into(),
                files,
            };
            let rooms = hierarchy.rooms(&self.0.join("own"), wanted);
            rooms.iter().map(|room| room.bytes).collect()
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_group_of_version_2_with_a_limit_counts_and_its_file_cache_counts_as_free() {
        let fake = Fake::new(&[
            ("own", "1:name=systemd:/x\n0::/job/step\n"),
            ("mount/job/step/memory.max", "max\n"),
            ("mount/job/step/memory.high", "104857600\n"),
            ("mount/job/step/memory.current", "94371840\n"),
            (
                "mount/job/step/memory.stat",
                "anon 1\nactive_file 5242880\ninactive_file 1048576\n",
            ),
            ("mount/job/memory.max", "209715200\n"),
            ("mount/job/memory.current", "0\n"),
            ("mount/memory.stat", "anon 1\n"),
        ]);
        assert_eq!(
            fake.rooms(&VERSION_2, "/", 20 * MIB),
            [14 * MIB, 200 * MIB - 200 * MIB / 64]
        );
        assert_eq!(fake.rooms(&VERSION_2, "/", MIB)[0], 8 * MIB);
    }

    #[test]
    fn a_group_of_version_1_without_a_limit_does_not_count() {
        let fake = Fake::new(&[
            ("own", "5:cpu:/y\n4:cpuset,memory:/docker/1/job\n0::/z\n"),
            ("mount/job/memory.limit_in_bytes", "9223372036854771712\n"),
            ("mount/job/memory.usage_in_bytes", "5\n"),
            ("mount/memory.limit_in_bytes", "10485760\n"),
            ("mount/memory.usage_in_bytes", "11534336\n"),
            ("mount/memory.stat", "total_inactive_file 4194304\n"),
        ]);
        assert_eq!(fake.rooms(&VERSION_1, "/docker/1", MIB), [2 * MIB]);
    }

    #[test]
    fn the_memory_controller_is_found_where_it_is_mounted() {
        let unified = "30 20 0:1 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        let found = Hierarchy::in_mounts(unified).unwrap();
        assert_eq!(found.folder, Path::new("/sys/fs/cgroup"));
        assert_eq!(found.files, &VERSION_2);
        let hybrid = format!(
            "31 23 0:2 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
             32 23 0:3 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n{unified}"
        );
        let found = Hierarchy::in_mounts(&hybrid).unwrap();
        assert_eq!(found.folder, Path::new("/cg/memory"));
        assert_eq!(found.root, Path::new("/docker/1"));
        assert_eq!(
            Hierarchy::in_mounts("1 1 0:4 / /proc rw - proc proc rw"),
            None
        );
    }

    #[test]
    fn with_strict_overcommit_promised_memory_counts_as_used() {
        let text = "MemTotal: 131072 kB\nMemAvailable: 102400 kB\n\
                    CommitLimit: 65536 kB\nCommitted_AS: 49152 kB\n";
        let room = |strict| machine_in(text, strict).unwrap().bytes;
        assert_eq!((room(false), room(true)), (98 * MIB, 14 * MIB));
    }

    #[test]
    fn more_memory_than_the_machine_has_is_refused_and_zero_bytes_are_not() {
        assert_eq!(refusal(0), None);
        let refused = refusal(1 << 60).unwrap();
        assert!(refused.contains("may still be allocated"), "{refused}");
    }
}
