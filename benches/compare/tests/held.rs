//! Alone in its process, so that no other test's memory is counted.

use tcasm_compare::held::bytes;
use tcasm_compare::sys::memory::Memory;

#[test]
fn memory_counts_once_whether_it_is_anonymous_mapped_or_deleted() {
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
    // Of a copy-on-write mapping, what was copied counts besides, and nothing else of it, read or not.
    let mut copied = Memory::copy_on_write(&file, 16 << 20).unwrap();
    assert!(copied.bytes().iter().all(|b| *b == 1));
    copied.bytes_mut()[..4 << 20].fill(2);
    let held = bytes(me, dir.path()).unwrap() - before;
    assert!((28 << 20..30 << 20).contains(&held), "{held}");
}
