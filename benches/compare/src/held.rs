//! Measures how much memory the processes of a case hold.
//!
//! Anonymous memory is counted by the kernel's proportional share, so memory that several processes
//! share after a fork counts once. Files in memory are counted by their allocated blocks. Each file
//! counts once, whether it is mapped or only open. Page tables are not counted.

use crate::failure::{Failure, While};
use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the bytes that process `id`, its descendants, and the files in `dir` hold.
pub fn bytes(id: i32, dir: &Path) -> Result<u64, Failure> {
    let mut files = HashMap::new();
    let mut anonymous = 0;
    let mut processes = vec![id];
    while let Some(id) = processes.pop() {
        processes.extend(children(id));
        // A process that has ended meanwhile holds nothing.
        anonymous += anonymous_of(id).unwrap_or(0);
        for entry in
            entries(&format!("/proc/{id}/fd")).chain(entries(&format!("/proc/{id}/map_files")))
        {
            note(&entry, &mut files);
        }
    }
    note_folder(dir, &mut files);
    Ok(anonymous + files.values().sum::<u64>())
}

/// Returns the bytes that process `id` alone holds: anonymous memory, and files in memory that it
/// has open. This is much faster than [`bytes`] where an observer has thousands of mappings.
pub fn of_process(id: i32) -> Result<u64, Failure> {
    let mut files = HashMap::new();
    entries(&format!("/proc/{id}/fd")).for_each(|entry| note(&entry, &mut files));
    Ok(anonymous_of(id)? + files.values().sum::<u64>())
}

/// Returns the bytes of anonymous memory of process `id`.
pub fn anonymous_of(id: i32) -> Result<u64, Failure> {
    let path = format!("/proc/{id}/smaps_rollup");
    let text = read_to_string(&path).context(format!("reading {path}"))?;
    let line = text.lines().find_map(|l| l.strip_prefix("Pss_Anon:"));
    let kib = line
        .and_then(|l| l.trim().strip_suffix(" kB"))
        .and_then(|n| n.parse::<u64>().ok());
    Ok(kib.unwrap_or(0) * 1024)
}

/// Returns the child processes of all threads of a process.
fn children(id: i32) -> Vec<i32> {
    let tasks = format!("/proc/{id}/task");
    let lists = entries(&tasks).filter_map(|task| read_to_string(task.join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let numbers = lists.iter().flat_map(|list| list.split_whitespace());
    numbers.filter_map(|n| n.parse().ok()).collect()
}

fn entries(dir: &str) -> impl Iterator<Item = std::path::PathBuf> {
    read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
}

/// Adds the file at `path` to `files` if it is a file in memory. Follows symbolic links.
fn note(path: &Path, files: &mut HashMap<(u64, u64), u64>) {
    let target = std::fs::read_link(path).unwrap_or_else(|_| path.to_owned());
    let name = target.to_string_lossy();
    // Only root may follow links in `map_files`. Others can use the name of the file.
    let data = || std::fs::metadata(path).or_else(|_| std::fs::metadata(&target));
    if (name.starts_with("/memfd:") || name.starts_with("/dev/shm/"))
        && let Ok(data) = data()
        && data.is_file()
    {
        files.insert((data.dev(), data.ino()), data.blocks() * 512);
    }
}

fn note_folder(dir: &Path, files: &mut HashMap<(u64, u64), u64>) {
    for path in read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
    {
        match path.is_dir() && !path.is_symlink() {
            true => note_folder(&path, files),
            false => note(&path, files),
        }
    }
}
