//! Tests of what single trackers promise beyond the suite that all trackers pass.

use super::trial_producer::{Producer, in_child, reserve, span};
use super::uffd_async::UffdAsync;
use super::{Grant, Harvest, Tracker, TrackerKind, Verdict, probe};
use crate::pageset::PageSet;
use crate::sys::live::{drop_copies, unmap};
use crate::sys::mem::page_size;
use crate::sys::pagemap::{CopyScan, WrittenScan};
use crate::sys::uffd::Origin;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

impl Producer {
    fn uffd(pages: usize, capacity: usize) -> Self {
        let memory = reserve(pages);
        let scan = WrittenScan::with_capacity(capacity).unwrap();
        let tracker = UffdAsync::with_scan(span(&memory), scan).unwrap();
        let mut p = Self::with(Box::new(tracker), memory);
        p.map(0..pages);
        p
    }
}

#[test]
fn scan_with_little_room_for_regions_continues_where_it_stopped() {
    for capacity in [1, 2, 511, 513] {
        let mut p = Producer::uffd(3000, capacity);
        let odd: Vec<usize> = (1..3000).step_by(2).collect();
        p.store(&odd);
        assert_eq!(p.publish(), odd, "room for {capacity}");
        assert_eq!(p.publish(), []);
    }
}

#[test]
fn broken_descriptor_is_an_error_at_every_harvest() {
    let memory = reserve(8);
    let tracker = UffdAsync::new(span(&memory)).unwrap();
    tracker.scan().break_descriptor();
    let mut p = Producer::with(Box::new(tracker), memory);
    p.map(0..8);
    assert!(p.harvest().is_err());
    assert!(p.harvest().is_err());
}

#[test]
fn replaced_memory_is_an_error_at_every_harvest_of_uffd_async() {
    let mut p = Producer::uffd(64, 100);
    p.store(&[1]);
    // SAFETY: nothing is borrowed from the page.
    unsafe { unmap(&p.addresses(30..31)) }.unwrap();
    assert!(p.harvest().is_err());
    assert!(p.harvest().is_err());
}

#[test]
fn uffd_async_reports_a_page_that_was_written_and_dropped() {
    let mut p = Producer::uffd(64, 100);
    p.store(&[10, 11]);
    p.publish();
    p.store(&[10]);
    // SAFETY: nothing needs the bytes of either page, and nothing is borrowed from them.
    unsafe { drop_copies(&p.addresses(10..12)) }.unwrap();
    // Page 11 was not written, but it is zero now, so its content changed too.
    assert_eq!(p.publish(), [10, 11]);
}

/// Two threads store while the tracker scans. A store that no harvest reports leaves an old word in
/// the shadow copy.
#[test]
fn uffd_async_loses_no_store_of_two_threads_that_write_during_scans() {
    const PAGES: usize = 256;
    let mut p = Producer::uffd(PAGES, 100);
    let words_per_page = page_size() / 8;
    // SAFETY: the memory is mapped and aligned, and until `p` is dropped it is used only as atomic
    // words.
    let words: &[AtomicU64] =
        unsafe { std::slice::from_raw_parts(p.memory.ptr().cast(), PAGES * words_per_page) };
    let mut shadow = vec![0; words.len()];
    let (stop, mut scans) = (AtomicBool::new(false), 0);
    let mut copy_written = |tracker: &mut dyn Tracker| {
        let mut found = Harvest::new(PAGES);
        tracker.harvest(&PageSet::new(PAGES), &mut found).unwrap();
        for page in found.written.iter() {
            for at in page * words_per_page..(page + 1) * words_per_page {
                shadow[at] = words[at].load(Ordering::Relaxed);
            }
        }
    };
    let stores: u64 = std::thread::scope(|scope| {
        let writers = [1u64, 2].map(|seed| {
            let stop = &stop;
            scope.spawn(move || scribble(words, seed, stop))
        });
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(800) {
            copy_written(p.tracker());
            scans += 1;
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    copy_written(p.tracker());
    let lost = words
        .iter()
        .zip(&shadow)
        .filter(|(w, s)| w.load(Ordering::Relaxed) != **s)
        .count();
    assert_eq!(
        lost, 0,
        "words lost after {stores} stores and {scans} scans"
    );
    assert!(
        stores > 10_000 && scans > 10,
        "{stores} stores and {scans} scans are too few to show anything"
    );
}

/// Stores new values at random words until `stop` is set, and returns the number of stores.
fn scribble(words: &[AtomicU64], seed: u64, stop: &AtomicBool) -> u64 {
    let (mut random, mut stores) = (seed, 0);
    while !stop.load(Ordering::Relaxed) {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        words[(random >> 33) as usize % words.len()].store(random, Ordering::Relaxed);
        stores += 1;
    }
    stores
}

#[test]
fn uffd_async_needs_no_privilege() {
    in_child(|| {
        become_nobody()?;
        expect_tracking(TrackerKind::UffdAsync)?;
        let probe = probe();
        if probe.user_faults != Verdict::Usable {
            return Err(format!("user faults: {:?}", probe.user_faults));
        }
        match probe.kernel_faults {
            Verdict::Usable => Ok(()), // the machine allows it to every user
            verdict => expect_advice(&verdict, "CAP_SYS_PTRACE"),
        }
    });
}

#[test]
fn uffd_comes_from_the_device_when_the_system_call_is_filtered() {
    in_child(|| {
        filter_out_userfaultfd()?;
        if std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/userfaultfd")
            .is_err()
        {
            return expect_advice(&probe().uffd_async, "/dev/userfaultfd");
        }
        let probe = probe();
        match (probe.uffd_origin, probe.kernel_faults_by) {
            (Some(Origin::Device), Some(Grant::Device)) => expect_tracking(TrackerKind::UffdAsync),
            other => Err(format!("origin and right {other:?}")),
        }
    });
}

#[test]
fn cow_is_chosen_where_userfaultfd_is_denied_and_the_reason_names_a_remedy() {
    in_child(|| {
        become_nobody()?;
        filter_out_userfaultfd()?;
        let probe = probe();
        if probe.uffd_origin.is_none() {
            expect_advice(&probe.uffd_async, "--security-opt")?;
            expect_advice(&probe.uffd_async, "Operation not permitted")?;
            expect_advice(&probe.user_faults, "--security-opt")?;
        }
        if probe.cow != Verdict::Usable {
            return Err(format!("cow: {:?}", probe.cow));
        }
        expect_tracking(TrackerKind::Cow)
    });
}

fn expect_tracking(kind: TrackerKind) -> Result<(), String> {
    let mut p = Producer::new(kind, 64, 0..64);
    p.store(&[3]);
    let mut zeros = std::fs::File::open("/dev/zero").map_err(|e| e.to_string())?;
    zeros.read_exact(p.bytes(0..1)).map_err(|e| e.to_string())?;
    match p.publish().as_slice() {
        [0, 3] => Ok(()),
        other => Err(format!("pages 0 and 3 were written, {other:?} reported")),
    }
}

fn expect_advice(verdict: &Verdict, words: &str) -> Result<(), String> {
    match verdict {
        Verdict::Unusable(reason) if reason.contains(words) => Ok(()),
        other => Err(format!("no {words} in {other:?}")),
    }
}

/// Makes userfaultfd(2) fail with EPERM, as the default profile of container engines does.
fn filter_out_userfaultfd() -> Result<(), String> {
    let statement = |code: u32, k: u32, jt, jf| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the number of the call
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            libc::SYS_userfaultfd as u32,
            0,
            1,
        ),
        statement(libc::BPF_RET | libc::BPF_K, denied, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program points to `filter`, which the kernel copies during the call.
    let filtered = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    if filtered {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().to_string())
    }
}

/// Gives up all privileges of this process for ever.
fn become_nobody() -> Result<(), String> {
    const NOBODY: u32 = 65534;
    // SAFETY: these calls take integers. They change the rights of this child, which has one
    // thread.
    let given_up = unsafe {
        libc::getuid() != 0
            || (libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
                && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
                && libc::prctl(libc::PR_SET_DUMPABLE, 1) == 0)
    };
    if given_up {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().to_string())
    }
}

#[test]
fn cow_returns_settled_pages_to_the_file_and_keeps_the_others() {
    let mut p = Producer::new(TrackerKind::Cow, 64, 0..64);
    p.store(&[1, 2, 3]);
    let mut written = p.harvest().unwrap();
    written.remove_range(2..3); // captured without page 2
    p.capture(&written);
    assert_eq!(p.publish(), [2]);
    assert_eq!(p.publish(), []);
    let contents: Vec<u8> = (1..4)
        .map(|page| p.bytes(page * page_size()..(page + 1) * page_size())[100])
        .collect();
    assert_eq!(contents, [1, 1, 1]);
}

#[test]
fn cow_settles_only_what_the_last_harvest_found() {
    let mut p = Producer::new(TrackerKind::Cow, 64, 0..64);
    p.store(&[1]);
    p.publish();
    p.store(&[1, 2]); // after the harvest, and before a settle that names all pages
    let mut all = PageSet::new(64);
    all.insert_range(0..64);
    p.tracker().settle(&all).unwrap();
    assert_eq!(p.publish(), [1, 2]);
}

#[test]
fn a_page_that_cow_cannot_read_stays_dirty_and_keeps_its_content() {
    use nix::sys::mman::{ProtFlags, mprotect};
    let mut p = Producer::new(TrackerKind::Cow, 64, 0..64);
    p.store(&[1, 2, 9]);
    let written = p.harvest().unwrap();
    let at = p.pointer(2);
    // SAFETY: nothing is borrowed from the page, and nothing uses it while it is inaccessible.
    let protect = |prot| unsafe { mprotect(at, page_size(), prot) }.unwrap();
    protect(ProtFlags::PROT_NONE);
    p.tracker().settle(&written).unwrap();
    protect(ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
    let again = p.harvest().unwrap();
    assert!(again.contains(2) && !again.contains(9), "{again:?}");
    p.capture(&again);
    assert_eq!(p.harvest().unwrap().len(), 0);
    for page in [1, 2, 9] {
        assert_eq!(
            p.bytes(page * page_size()..(page + 1) * page_size())[100],
            1
        );
    }
}

#[test]
fn cow_never_replaces_the_physical_page_of_a_page_locked_for_dma() {
    let mut p = Producer::new(TrackerKind::Cow, 64, 0..64);
    p.store(&[4, 5]);
    p.tracker().pin(5..6);
    p.publish();
    let first = p.memory.addr() / page_size();
    let mut private = Vec::new();
    let mut scan = CopyScan::open().unwrap();
    let note = |found: Range<usize>| private.extend(found.map(|page| page - first));
    scan.copies(first..first + 64, note).unwrap();
    assert_eq!(
        private,
        [5],
        "page 5 was replaced, so a device would write to memory that nobody reads"
    );
}
