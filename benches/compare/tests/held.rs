//! This test has a process of its own, so that the memory of no other test is counted.

use tcasm_compare::held::bytes;
use tcasm_compare::sys::memory::Memory;

#[test]
fn anonymous_mapped_and_deleted_memory_counts_once() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let me = std::process::id() as i32;
    let before = bytes(me, dir.path()).unwrap();
    let mut own = Memory::private(8 << 20).unwrap();
    own.bytes_mut().fill(1);
    let path = dir.path().join("file");
    let (mut shared, file) = Memory::create(&path, 16 << 20).unwrap();
    shared.bytes_mut().fill(1);
    let _again = Memory::open(&path, false).unwrap();
    std::fs::remove_file(&path).unwrap();
    let held = bytes(me, dir.path()).unwrap() - before;
    assert!((24 << 20..26 << 20).contains(&held), "{held}");
    // The copied pages of a copy-on-write mapping count in addition. Its other pages do not, even
    // after they were read.
    let mut copied = Memory::copy_on_write(&file, 16 << 20).unwrap();
    assert!(copied.bytes().iter().all(|b| *b == 1));
    copied.bytes_mut()[..4 << 20].fill(2);
    let held = bytes(me, dir.path()).unwrap() - before;
    assert!((28 << 20..30 << 20).contains(&held), "{held}");
}
