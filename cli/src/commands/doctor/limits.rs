//! Limits of this process and this machine that regions depend on.

use crate::output;
use serde::Serialize;
use std::fs;
use tcasm_core::format::layout::MAX_SLOTS;
use tcasm_core::sys::reserved::ReservedPages;

/// The limits. A value is `None` if the limit is unknown or there is none.
#[derive(Debug, Serialize)]
pub struct Limits {
    /// Descriptors that a process may have open (the soft limit of RLIMIT_NOFILE).
    pub open_files: Option<u64>,
    /// Bytes of address space (the soft limit of RLIMIT_AS).
    pub address_space: Option<u64>,
    /// Bytes of memory that a process without CAP_IPC_LOCK may lock (the soft limit of
    /// RLIMIT_MEMLOCK).
    pub locked_memory: Option<u64>,
    /// Bytes of memory of the machine.
    pub memory: Option<u64>,
    /// Bytes of memory that are free or can be freed.
    pub memory_available: Option<u64>,
    /// Bytes of memory that the control group of this process may use.
    pub memory_cgroup: Option<u64>,
    /// The setting of transparent huge pages.
    pub huge_pages: Option<String>,
    /// The setting of transparent huge pages for shared memory, where versions are.
    pub huge_pages_shared: Option<String>,
    /// The reserved huge pages of 2 MiB.
    pub reserved_pages: Option<ReservedPages>,
}

/// Descriptors that an attachment can need, plus 32 for the program itself.
const DESCRIPTORS: u64 = MAX_SLOTS as u64 + 32;

impl Limits {
    /// Reads the limits from `/proc` and `/sys`.
    pub fn read() -> Self {
        let limits = read("/proc/self/limits");
        let memory = read("/proc/meminfo");
        let huge = |file: &str| {
            setting(&read(&format!(
                "/sys/kernel/mm/transparent_hugepage/{file}"
            )))
        };
        Limits {
            open_files: soft_limit(&limits, "Max open files"),
            address_space: soft_limit(&limits, "Max address space"),
            locked_memory: soft_limit(&limits, "Max locked memory"),
            memory: kibibytes(&memory, "MemTotal:"),
            memory_available: kibibytes(&memory, "MemAvailable:"),
            memory_cgroup: cgroup_memory(),
            huge_pages: huge("enabled"),
            huge_pages_shared: huge("shmem_enabled"),
            reserved_pages: ReservedPages::read(),
        }
    }

    /// Returns what to do about limits that are too low.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if let Some(n) = self.open_files.filter(|n| *n < DESCRIPTORS) {
            advice.push(format!(
                "at most {n} files may be open, but a region needs up to {DESCRIPTORS}: \
                 run ulimit -n 1024"
            ));
        }
        if let Some(n) = self.address_space {
            advice.push(format!(
                "the address space is limited to {}, but regions reserve much of it: \
                 run ulimit -v unlimited",
                output::bytes(n)
            ));
        }
        let is = |setting: &Option<String>, word: &str| setting.as_deref() == Some(word);
        if is(&self.huge_pages, "never") {
            advice.push(
                "transparent huge pages are off (never): memory that observers copy consists of \
                 small pages, so reading it at random takes up to twice as long: \
                 echo madvise >/sys/kernel/mm/transparent_hugepage/enabled"
                    .to_owned(),
            );
        }
        if is(&self.huge_pages_shared, "deny") {
            advice.push(
                "shared memory gets no huge pages (deny): fields that are shared with versions \
                 consist of small pages, so reading them at random takes up to twice as long: \
                 echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled"
                    .to_owned(),
            );
        }
        advice
    }

    /// Describes the memory in one line.
    pub fn memory_text(&self) -> String {
        let part = |n: Option<u64>, what: &str| n.map(|n| format!("{} {what}", output::bytes(n)));
        let parts = [
            part(self.memory, "in total"),
            part(self.memory_available, "available"),
            part(self.memory_cgroup, "for this control group"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => "unknown".to_owned(),
            false => parts.join(", "),
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the soft limit of a line such as `Max open files   1024   4096   files`, or `None` if it
/// is `unlimited`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the number of bytes of a line such as `MemTotal:   1024 kB`.
fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

/// Returns the lowest limit of the control group of this process and its ancestors (version 2
/// only).
fn cgroup_memory() -> Option<u64> {
    let own = read("/proc/self/cgroup");
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folders = std::path::Path::new(path).ancestors();
    let limit = |folder: &std::path::Path| {
        let file = std::path::Path::new("/sys/fs/cgroup")
            .join(folder)
            .join("memory.max");
        read(&file.to_string_lossy()).trim().parse().ok()
    };
    folders.filter_map(limit).min()
}

/// Returns the word in brackets, such as `madvise` in `always [madvise] never`.
fn setting(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let limits = [
            "Limit                     Soft Limit           Hard Limit           Units     \n",
            "Max address space         unlimited            unlimited            bytes     \n",
            "Max open files            1024                 524288               files     \n",
        ]
        .concat();
        assert_eq!(soft_limit(&limits, "Max open files"), Some(1024));
        assert_eq!(soft_limit(&limits, "Max address space"), None);
        assert_eq!(
            kibibytes("MemFree: 1 kB\nMemTotal:  16 kB\n", "MemTotal:"),
            Some(16384)
        );
        assert_eq!(
            setting("always [madvise] never\n").as_deref(),
            Some("madvise")
        );
    }

    #[test]
    fn advice_says_what_the_lack_of_huge_pages_costs() {
        let with = |all: &str, shared: &str| Limits {
            address_space: None,
            huge_pages: Some(all.to_owned()),
            huge_pages_shared: Some(shared.to_owned()),
            open_files: Some(u64::MAX),
            ..Limits::read()
        };
        assert_eq!(with("madvise", "advise").advice(), [""; 0]);
        let advice = with("never", "deny").advice();
        assert!(advice[0].contains("echo madvise >") && advice[1].contains("echo advise >"));
        assert_eq!(advice.len(), 2, "{advice:?}");
    }

    #[test]
    fn this_machine_has_limits_that_can_be_read() {
        let limits = Limits::read();
        assert!(
            limits.open_files.is_some() && limits.memory > limits.memory_available,
            "{limits:?}"
        );
    }
}
