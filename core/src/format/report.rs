//! The report of `tcasm run`: a folder with a file for each region that a program has published
//! without being changed. The preload library writes the files, and the command reads them when the
//! program has ended. A file is mapped while it is written, so it is right even if the program is
//! killed.
//!
//! A file has 4096 bytes. All numbers are little-endian `u64`: MAGIC, layout version, process id,
//! versions, skipped, failed, first step, last step, bytes, capacity, length of the name. The name
//! follows at byte 96.

use super::layout::MAX_NAME;
use crate::sys::mem::{Mapping, page_size};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The environment variable with the folder, which `tcasm run` sets.
pub const FOLDER_ENV: &str = "TCASM_RUN_REPORT";
/// `TCASMRUN` in ASCII.
const MAGIC: u64 = u64::from_le_bytes(*b"TCASMRUN");
const LAYOUT_VERSION: u64 = 1;
const BYTES: usize = 4096;
const NUMBERS: usize = 11;
const NAME_AT: usize = 96;

/// What a program has published as one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The name of the region.
    pub name: String,
    /// The process that published it.
    pub pid: u64,
    /// Versions that were published.
    pub versions: u64,
    /// Calls that were skipped at a bound.
    pub skipped: u64,
    /// Calls that failed.
    pub failed: u64,
    /// The step of the first version.
    pub first_step: u64,
    /// The step of the last version.
    pub last_step: u64,
    /// Bytes that were copied into versions.
    pub bytes: u64,
    /// Bytes of the mapping.
    pub capacity: u64,
}

impl Report {
    fn numbers(&self) -> [u64; NUMBERS] {
        [
            MAGIC,
            LAYOUT_VERSION,
            self.pid,
            self.versions,
            self.skipped,
            self.failed,
            self.first_step,
            self.last_step,
            self.bytes,
            self.capacity,
            self.name.len() as u64,
        ]
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let numbers: [u64; NUMBERS] = std::array::from_fn(|i| {
            let word = words.get(i).copied();
            u64::from_le_bytes(word.unwrap_or_default())
        });
        let [magic, layout, pid, versions, skipped, failed, rest @ ..] = numbers;
        let [first_step, last_step, bytes_copied, capacity, length] = rest;
        let length = usize::try_from(length).ok().filter(|n| *n <= MAX_NAME)?;
        let name = std::str::from_utf8(bytes.get(NAME_AT..NAME_AT + length)?).ok()?;
        crate::place::check_name(name).ok()?;
        (magic == MAGIC && layout == LAYOUT_VERSION).then(|| Report {
            name: name.to_owned(),
            pid,
            versions,
            skipped,
            failed,
            first_step,
            last_step,
            bytes: bytes_copied,
            capacity,
        })
    }
}

/// A file of the report that is being written.
#[derive(Debug)]
pub struct Page(Mapping);

impl Page {
    /// Adds a file for a region to `folder`. No descriptor stays open.
    pub fn add(folder: &Path, report: &Report) -> io::Result<Page> {
        let mut file: io::Result<File> = Err(io::ErrorKind::AlreadyExists.into());
        let mut number = 0;
        while let Err(error) = &file
            && error.kind() == io::ErrorKind::AlreadyExists
        {
            let path = folder.join(format!("{}.{number}", report.pid));
            let mut new = OpenOptions::new();
            file = new.read(true).write(true).create_new(true).open(path);
            number += 1;
        }
        let file = file?;
        let len = BYTES.max(page_size());
        file.set_len(len as u64)?;
        let mapping = Mapping::shared(file.as_fd(), len, true).map_err(io::Error::other)?;
        let page = Page(mapping);
        page.put_name(&report.name);
        page.set(report);
        Ok(page)
    }

    /// Stores the numbers of a report.
    pub fn set(&self, report: &Report) {
        for (word, number) in self.words().iter().zip(report.numbers()) {
            word.store(number.to_le(), Relaxed);
        }
    }

    fn put_name(&self, name: &str) {
        for (word, part) in self.words()[NAME_AT / 8..]
            .iter()
            .zip(name.as_bytes().chunks(8))
        {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            word.store(u64::from_ne_bytes(bytes), Relaxed);
        }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is of a file that was made as long as it, in a folder of this user.
        // Only a program of the same user could cut it short.
        unsafe { self.0.words() }
    }
}

/// Returns the reports in `folder`, in the order of their process ids. Files that are no reports
/// are left out.
pub fn read(folder: &Path) -> io::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let bytes = std::fs::read(entry?.path())?;
        reports.extend(Report::decode(&bytes));
    }
    reports.sort_by(|a, b| (a.pid, &a.name).cmp(&(b.pid, &b.name)));
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_read_as_it_was_last_set_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report {
            name: "heat-7.b".to_owned(),
            pid: 12,
            ..Report::default()
        };
        let page = Page::add(folder.path(), &report).unwrap();
        let second = Page::add(folder.path(), &report).unwrap();
        report.versions = 3;
        (report.first_step, report.last_step, report.bytes) = (5, 7, 1 << 40);
        page.set(&report);
        second.set(&report);
        std::fs::write(folder.path().join("other"), "no report").unwrap();
        std::fs::write(folder.path().join("zeros"), [0; 4096]).unwrap();
        assert_eq!(
            read(folder.path()).unwrap(),
            [report.clone(), report.clone()]
        );
    }

    #[test]
    fn damaged_reports_are_no_reports() {
        let report = Report {
            name: "a".to_owned(),
            ..Report::default()
        };
        let mut bytes = vec![0; BYTES];
        for (i, number) in report.numbers().into_iter().enumerate() {
            bytes[i * 8..][..8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[NAME_AT] = b'a';
        assert_eq!(Report::decode(&bytes), Some(report));
        let with = |at: usize, byte: u8| {
            let mut other = bytes.clone();
            other[at] = byte;
            Report::decode(&other)
        };
        assert_eq!(with(0, 0), None, "magic");
        assert_eq!(with(8, 2), None, "layout");
        assert_eq!(with(80 + 7, 255), None, "length of the name");
        assert_eq!(with(NAME_AT, b'/'), None, "name");
        for short in 0..=NAME_AT {
            assert_eq!(Report::decode(&bytes[..short]), None, "{short} bytes");
        }
    }
}
