//! Facts that the kernel reports about a process in `/proc`.

use std::fs;
use std::ops::Range;
use std::os::linux::fs::MetadataExt;
use std::path::PathBuf;

/// Returns a number of `/proc/PID/status`, in bytes if it has a unit, or `None` if the process is
/// gone.
pub fn status(pid: i32, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
    let mut words = line.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    Some(number * if words.next() == Some("kB") { 1024 } else { 1 })
}

/// Returns true if the process is stopped, as by SIGSTOP.
pub fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program is in brackets and may contain any character.
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    state.starts_with('T')
}

/// Returns true if all threads of a process are in `state`: `T` is stopped, `Z` is dead and not
/// waited for.
pub fn is_in_state(pid: i32, state: char) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    let stats = threads
        .flatten()
        .map(|t| fs::read_to_string(t.path().join("stat")));
    // The name before the state is in brackets and may contain any character.
    let of = |stat: String| stat.rsplit(") ").next()?.chars().next();
    let mut states = stats.map(|stat| stat.ok().and_then(of));
    states.all(|found| found == Some(state))
}

/// Returns the path and the target of each open descriptor of a process.
pub fn descriptors(pid: i32) -> Vec<(PathBuf, String)> {
    let Ok(folder) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let paths = folder.filter_map(Result::ok).map(|entry| entry.path());
    let named = paths.filter_map(|path| {
        let target = fs::read_link(&path).ok()?;
        Some((path, target.to_string_lossy().into_owned()))
    });
    named.collect()
}

/// Returns the number of mappings of a process.
pub fn mapping_count(pid: i32) -> usize {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().count()
}

/// Returns the bytes of memory in all planes that a process holds, as the kernel counts them.
pub fn plane_bytes(pid: i32) -> u64 {
    bytes_of(pid, |name| {
        name.contains("/memfd:tcasm-") && name.contains("-plane")
    })
}

/// Returns the bytes of memory in the planes of region `region` that a process holds.
pub fn plane_bytes_of(pid: i32, region: &str) -> u64 {
    let planes = format!("/memfd:tcasm-{region}-plane");
    bytes_of(pid, |name| name.contains(&planes))
}

/// Returns the bytes of memory in the objects of which a process has descriptors, and whose names
/// are `wanted`.
fn bytes_of(pid: i32, wanted: impl Fn(&str) -> bool) -> u64 {
    let mut objects: Vec<(u64, u64)> = descriptors(pid)
        .into_iter()
        .filter(|(_, name)| wanted(name))
        .filter_map(|(path, _)| fs::metadata(path).ok())
        .map(|meta| (meta.st_ino(), meta.st_blocks() * 512))
        .collect();
    objects.sort_unstable();
    // Each plane is open twice: for writing and read-only.
    objects.dedup_by_key(|(inode, _)| *inode);
    objects.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the bytes of this process's mappings that are in swap, shared objects included.
pub fn swapped() -> u64 {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    kibibytes(&text, "Swap:") << 10
}

/// Returns the bytes of swap that this machine has.
pub fn swap() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kibibytes(&text, "SwapTotal:") << 10
}

fn kibibytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Returns this process's mappings whose line in `/proc/self/maps` contains `part`.
pub fn mappings(part: &str) -> Vec<Range<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let wanted = maps.lines().filter(|line| line.contains(part));
    wanted.filter_map(range).collect()
}

/// Returns the access that this process has to the mapping at `address`, as in `r--s`. The result
/// is empty if nothing is mapped there.
pub fn access(address: usize) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let here = |line: &&str| range(line).is_some_and(|mapped| mapped.contains(&address));
    let line = maps.lines().find(here);
    let access = line.and_then(|line| line.split(' ').nth(1));
    access.unwrap_or_default().to_owned()
}

/// Returns the bytes of a process's mappings whose line in `/proc/PID/maps` contains all `parts`.
pub fn mapped_bytes(pid: i32, parts: &[&str]) -> usize {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let wanted = |line: &&str| parts.iter().all(|part| line.contains(part));
    let ranges = maps.lines().filter(wanted).filter_map(range);
    ranges.map(|range| range.len()).sum()
}

/// Returns true if this process has all of `range` mapped.
pub fn is_mapped(range: &Range<usize>) -> bool {
    let mut end = range.start;
    for mapping in mappings("") {
        if mapping.start <= end && end < mapping.end {
            end = mapping.end;
        }
    }
    end >= range.end
}

fn range(line: &str) -> Option<Range<usize>> {
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    let hex = |text| usize::from_str_radix(text, 16).ok();
    Some(hex(from)?..hex(to)?)
}

/// Returns the bytes of a page in the mapping of a process that contains `address`. They are the
/// bytes of a huge page only where reserved huge pages are mapped.
pub fn page_size_at(pid: i32, address: usize) -> Option<usize> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let begins = |line: &str| range(line).is_some_and(|mapped| mapped.contains(&address));
    let mut lines = text.lines().skip_while(|line| !begins(line));
    let size = lines.find_map(|line| line.strip_prefix("KernelPageSize:"))?;
    let kib: usize = size.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

/// Returns the bytes of anonymous memory of this process in the mappings that begin in `addresses`.
pub fn anonymous_in(addresses: std::ops::Range<usize>) -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let (mut inside, mut kib) = (false, 0);
    for line in text.lines() {
        if let Some((from, _)) = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'))
        {
            let from = usize::from_str_radix(from, 16);
            inside = from.is_ok_and(|from| addresses.contains(&from));
        } else if inside && let Some(rest) = line.strip_prefix("Anonymous:") {
            let number = rest.trim().trim_end_matches(" kB");
            kib += number.parse::<u64>().unwrap_or(0);
        }
    }
    kib * 1024
}
