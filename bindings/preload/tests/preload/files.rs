//! Files of the program's own that match a pattern: it keeps them, and their content is published.

use crate::common::*;
use std::path::PathBuf;
use tcasm_observer::Status;
use tempfile::TempDir;

const LEN: u64 = 6 * 4096 + 10;

/// A file with content, whose name no other test has.
fn file(stem: &str) -> (TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let name = tcasm_tests::name(stem) + ".dat";
    let path = folder.path().join(&name);
    std::fs::write(&path, vec![1; LEN as usize]).unwrap();
    (folder, path, name)
}

/// Starts a puppet that publishes the files of these tests, and maps one.
fn mapped(path: &std::path::Path) -> (Puppet, i64, i64) {
    let mut puppet = Puppet::with(&[("TCASM_PRELOAD", "/no/such/*:*.dat")]);
    let fd = puppet.open(path.to_str().unwrap());
    let at = puppet.map(fd, LEN);
    (puppet, fd, at)
}

#[test]
fn file_keeps_its_content_and_each_msync_publishes_it() {
    let (_folder, path, name) = file("file");
    let (mut puppet, fd, at) = mapped(&path);
    assert_eq!(puppet.get(at + 5), 1, "the mapping has what the file has");
    puppet.publish(at, LEN);
    let mut observer = observe(&name);
    let first = version(&mut observer, 1);
    assert_eq!(bytes(&first, "bytes"), vec![1; LEN as usize]);

    puppet.fill(at, 4096, 2);
    assert_eq!(
        std::fs::read(&path).unwrap()[0],
        2,
        "a store changes the file at once"
    );
    assert_eq!(
        puppet.ask(&format!("pread {fd} 0")),
        [1, 2],
        "and so the descriptor"
    );
    assert_eq!(bytes(&version(&mut observer, 1), "bytes")[0], 1);
    puppet.publish(at + 4096, 4096);
    let second = version(&mut observer, 2);
    let now = bytes(&second, "bytes");
    assert!(now[..4096].iter().all(|byte| *byte == 2) && now[4096..].iter().all(|b| *b == 1));
    assert_eq!(
        second.changed_pages(),
        1,
        "pages that are equal are not copied again"
    );
    puppet.ask(&format!("pwrite {fd} 8192 3"));
    puppet.publish(at, LEN);
    assert_eq!(
        bytes(&version(&mut observer, 3), "bytes")[8192],
        3,
        "writes are seen, too"
    );

    puppet.ask(&format!("unmap {at} {LEN}"));
    assert!(matches!(observer.status().unwrap(), Status::EndOfStream));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), LEN);
    assert_eq!(puppet.errors(), "");
}

#[test]
fn killed_program_leaves_in_its_file_what_it_stored() {
    let (_folder, path, name) = file("killed");
    let (mut puppet, _, at) = mapped(&path);
    puppet.publish(at, LEN);
    let mut observer = observe(&name);
    puppet.fill(at, LEN, 9); // and no msync
    puppet.kill();
    assert_eq!(std::fs::read(&path).unwrap(), vec![9; LEN as usize]);
    assert_eq!(
        bytes(&version(&mut observer, 1), "bytes"),
        vec![1; LEN as usize]
    );
}

#[test]
fn forked_child_shares_the_file_and_publishes_nothing() {
    let (_folder, path, name) = file("forked");
    let (mut puppet, _, at) = mapped(&path);
    puppet.publish(at, LEN);
    assert_eq!(
        puppet.ask(&format!("forksync {at} {LEN}")),
        [1, 0],
        "msync works in the child"
    );
    let mut observer = observe(&name);
    version(&mut observer, 1);
    puppet.publish(at, LEN);
    version(&mut observer, 2);
}

#[test]
fn file_that_is_cut_short_does_not_end_the_program() {
    let (_folder, path, name) = file("cut");
    let (mut puppet, fd, at) = mapped(&path);
    puppet.publish(at, LEN);
    puppet.fill(at, 4096, 2);
    puppet.ask(&format!("truncate {fd} 4096"));
    puppet.publish(at, LEN);
    let now = bytes(&version(&mut observe(&name), 2), "bytes");
    assert!(
        now[..4096].iter().all(|byte| *byte == 2),
        "what is left is published"
    );
    assert!(
        now[4096..].iter().all(|byte| *byte == 1),
        "the rest stays as it was"
    );
}

#[test]
fn files_that_match_no_pattern_are_not_published() {
    let (_folder, path, name) = file("other");
    for patterns in ["*.txt", "", "/no/such/*.dat", &format!("*{name}x")] {
        let mut puppet = Puppet::with(&[("TCASM_PRELOAD", patterns)]);
        let fd = puppet.open(path.to_str().unwrap());
        let at = puppet.map(fd, LEN);
        puppet.publish(at, LEN);
        assert!(is_gone(&name), "{patterns:?}");
        assert_eq!(puppet.errors(), "");
    }
}

#[test]
fn only_shared_mappings_that_can_be_written_are_published() {
    let (_folder, path, name) = file("readers");
    let mut puppet = Puppet::with(&[("TCASM_PRELOAD", path.to_str().unwrap())]);
    let fd = puppet.open(path.to_str().unwrap());
    let reader = puppet.ask(&format!("mapread {fd} {LEN} 0"))[0];
    let private = puppet.ask(&format!("mapprivate {fd} {LEN} 0"))[0];
    puppet.publish(reader, LEN);
    puppet.publish(private, LEN);
    assert!(is_gone(&name));
    let at = puppet.map(fd, LEN);
    let second = puppet.map(fd, LEN);
    puppet.fill(second, LEN, 4);
    puppet.publish(second, LEN);
    puppet.publish(at, LEN);
    let mut observer = observe(&name);
    assert_eq!(
        bytes(&version(&mut observer, 1), "bytes"),
        vec![4; LEN as usize]
    );
}

#[test]
fn mapping_that_is_moved_is_no_longer_published() {
    let (_folder, path, name) = file("moved");
    let (mut puppet, _, at) = mapped(&path);
    puppet.publish(at, LEN);
    let twice = LEN * 2;
    let moved = puppet.ask(&format!("remap {at} {LEN} {twice}"))[0];
    assert_eq!(puppet.get(moved), 1, "the call is that of the kernel");
    assert!(
        puppet.errors().contains("is not published any more"),
        "{}",
        puppet.errors()
    );
    assert!(is_gone(&name));
}

#[test]
fn description_beside_the_file_names_its_fields() {
    let (folder, path, name) = file("described");
    let text = "[[field]]\nname = \"u\"\ndtype = \"uint8\"\nshape = [64, 64]\noffset = 4096\n";
    std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    let patterns = [("TCASM_PRELOAD", "*.dat"), ("TCASM_DESCRIPTION", "")];
    let mut puppet = Puppet::with(&patterns);
    let fd = puppet.open(path.to_str().unwrap());
    let at = puppet.map(fd, LEN);
    puppet.fill(at + 4096, 4096, 5);
    puppet.publish(at, LEN);
    let version = version(&mut observe(&name), 1);
    assert_eq!(version.table().fields.len(), 1);
    assert_eq!(bytes(&version, "u"), vec![5; 4096]);
}
