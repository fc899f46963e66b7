//! What the program sees of its mapping and of its descriptor.

use crate::common::*;
use tcasm_observer::Status;
use tcasm_tests::name;

const LEN: u64 = 8 * 4096;

#[test]
fn descriptor_is_a_file_whose_content_the_mapping_begins_with() {
    let (name, mut puppet) = (name("content"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    assert_eq!(puppet.ask(&format!("size {fd}"))[0], LEN as i64);
    puppet.ask(&format!("pwrite {fd} 5000 42"));
    let at = puppet.map(fd, LEN);
    assert_eq!((puppet.get(at + 5000), puppet.get(at)), (42, 0));
    // From now on the mapping and the descriptor are two things, as the documentation says.
    puppet.fill(at, LEN, 43);
    assert_eq!(puppet.ask(&format!("pread {fd} 5000")), [1, 42]);
    // When it is unmapped, the content is the object's again, also for the next mapping.
    puppet.ask(&format!("unmap {at} {LEN}"));
    assert_eq!(puppet.ask(&format!("pread {fd} 5000")), [1, 43]);
    let again = puppet.map(fd, LEN);
    assert_eq!(puppet.get(again + 5000), 43);
    assert_eq!(puppet.errors(), "");
}

#[test]
fn part_of_the_object_is_mapped_at_its_offset() {
    let (name, mut puppet) = (name("offset"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    puppet.ask(&format!("pwrite {fd} 8192 42"));
    let at = puppet.ask(&format!("map {fd} 4096 8192 0"))[0];
    assert_eq!(puppet.get(at), 42);
    puppet.publish(at, 4096);
    let seen = bytes(&version(&mut observe(&name), 1), "bytes");
    assert_eq!((seen.len(), seen[0]), (4096, 42));
    puppet.fill(at, 4096, 44);
    puppet.ask(&format!("unmap {at} 4096"));
    assert_eq!(puppet.ask(&format!("pread {fd} 8192")), [1, 44]);
    assert_eq!(
        puppet.ask(&format!("pread {fd} 12288")),
        [1, 0],
        "nothing behind it changed"
    );
    assert_eq!(puppet.ask(&format!("size {fd}"))[0], LEN as i64);
}

#[test]
fn region_ends_when_all_of_it_is_unmapped() {
    let (name, mut puppet) = (name("unmapped"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let mut observer = observe(&name);
    puppet.fill(at, LEN, 1);
    assert_eq!(puppet.ask(&format!("unmap {at} 4096")), [0, 0]);
    puppet.publish(at + 4096, LEN - 4096);
    assert!(
        bytes(&version(&mut observer, 1), "bytes")
            .iter()
            .all(|byte| *byte == 1)
    );
    let (rest, len) = (at + 4096, LEN - 4096);
    assert_eq!(puppet.ask(&format!("unmap {rest} {len}")), [0, 0]);
    assert!(matches!(observer.status().unwrap(), Status::EndOfStream));
    let enomem = (-1, i64::from(libc::ENOMEM));
    assert_eq!(
        puppet.sync(at, LEN, SYNC),
        enomem,
        "the kernel has nothing there"
    );
}

#[test]
fn second_mapping_is_the_same_memory() {
    let (name, mut puppet) = (name("twice"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    let first = puppet.map(fd, LEN);
    let copy = puppet.ask(&format!("dup {fd}"))[0];
    let second = puppet.map(copy, LEN);
    let reader = puppet.ask(&format!("mapread {fd} 4096 4096"))[0];
    let reopened = puppet.open(&format!("tcasm:{name}"));
    assert_eq!(puppet.ask(&format!("size {reopened}"))[0], LEN as i64);
    let third = puppet.map(reopened, LEN);
    puppet.fill(second, LEN, 5);
    assert_eq!(
        (puppet.get(first), puppet.get(reader), puppet.get(third)),
        (5, 5, 5)
    );
    // Each has to be unmapped.
    puppet.ask(&format!("unmap {first} {LEN}"));
    puppet.ask(&format!("unmap {third} {LEN}"));
    puppet.ask(&format!("unmap {reader} 4096"));
    puppet.publish(second, LEN);
    let mut observer = observe(&name);
    assert!(
        bytes(&version(&mut observer, 1), "bytes")
            .iter()
            .all(|byte| *byte == 5)
    );
    puppet.ask(&format!("unmap {second} {LEN}"));
    assert!(is_gone(&name));
    assert_eq!(puppet.errors(), "");
}

#[test]
fn private_and_read_only_mappings_are_those_of_the_kernel() {
    let (name, mut puppet) = (name("private"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    puppet.ask(&format!("pwrite {fd} 0 9"));
    let private = puppet.ask(&format!("mapprivate {fd} {LEN} 0"))[0];
    let reader = puppet.ask(&format!("mapread {fd} {LEN} 0"))[0];
    assert_eq!((puppet.get(private), puppet.get(reader)), (9, 9));
    puppet.publish(private, LEN);
    puppet.publish(reader, LEN);
    assert!(is_gone(&name));
}

#[test]
fn address_is_the_one_that_the_program_asks_for_if_it_is_free() {
    let (name, mut puppet) = (name("hint"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    let hint = 0x2f12_3456_7000i64;
    for how in ["map", "mapfixed", "mapnoreplace"] {
        assert_eq!(
            puppet.ask(&format!("{how} {fd} {LEN} 0 {hint}"))[0],
            hint,
            "{how}"
        );
        puppet.publish(hint, LEN);
        version(&mut observe(&name), 1);
        puppet.ask(&format!("unmap {hint} {LEN}"));
    }
    assert_eq!(puppet.errors(), "");
    // Taken addresses: a hint is not followed.
    let taken = puppet.ask(&format!("anonymous {LEN}"))[0];
    let at = puppet.ask(&format!("map {fd} {LEN} 0 {taken}"))[0];
    assert_ne!(at, taken);
    puppet.publish(at, LEN);
    version(&mut observe(&name), 1);
    puppet.ask(&format!("unmap {at} {LEN}"));
    // A fixed address is: the mapping is then as without the library.
    let at = puppet.ask(&format!("mapfixed {fd} {LEN} 0 {taken}"))[0];
    assert_eq!(at, taken);
    assert!(
        puppet.errors().contains("not published: cannot reserve"),
        "{}",
        puppet.errors()
    );
    puppet.publish(at, LEN);
    assert!(is_gone(&name));
    let failed = puppet.line_of(&format!("mapnoreplace {fd} {LEN} 0 {taken}"));
    assert_eq!(failed, format!("failed {}", libc::EEXIST));
}

#[test]
fn same_name_has_the_same_address_in_every_run() {
    let name = name("address");
    let at = Puppet::new().region(&name, LEN);
    assert_eq!(Puppet::new().region(&name, LEN), at);
}

#[test]
fn mapping_that_cannot_be_published_works_as_without_the_library() {
    let (name, mut owner, mut puppet) = (name("taken"), Puppet::new(), Puppet::new());
    owner.region(&name, LEN);
    let at = puppet.region(&name, LEN);
    let message = puppet.errors();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with("tcasm: a mapping of ") && message.contains("is in use by"));
    puppet.fill(at, LEN, 3);
    puppet.publish(at, LEN);
    assert_eq!(puppet.get(at + LEN as i64 - 1), 3);
    assert_eq!(puppet.ask(&format!("unmap {at} {LEN}")), [0, 0]);
    assert_eq!(puppet.finish().code(), Some(0));
}

#[test]
fn wrong_names_are_refused_with_a_reason() {
    let mut puppet = Puppet::new();
    for path in ["tcasm:", "tcasm:a/b", "tcasm:-x"] {
        let einval = vec![-1, i64::from(libc::EINVAL)];
        assert_eq!(puppet.ask(&format!("open {path}")), einval, "{path}");
    }
    assert_eq!(
        puppet.errors().matches("is not usable").count(),
        3,
        "{}",
        puppet.errors()
    );
    let enoent = vec![-1, i64::from(libc::ENOENT)];
    assert_eq!(
        puppet.ask("readonly ./tcasm:x"),
        enoent,
        "a file in this folder"
    );
}

#[test]
fn every_function_that_opens_knows_the_names() {
    let (name, mut puppet) = (name("functions"), Puppet::new());
    for how in ["open", "openat", "creat", "readonly"] {
        let fd = puppet.ask(&format!("{how} tcasm:{name}"))[0];
        assert!(fd >= 0, "{how}");
        let link = std::fs::read_link(format!("/proc/{}/fd/{fd}", puppet.pid())).unwrap();
        let link = link.to_str().unwrap().to_owned();
        assert_eq!(link, format!("/memfd:tcasm:{name} (deleted)"), "{how}");
        let flags = std::fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", puppet.pid())).unwrap();
        let closes = flags.contains("flags:\t02");
        assert_eq!(closes, how == "openat", "{how} asks for O_CLOEXEC: {flags}");
    }
}

#[test]
fn region_cannot_be_resized_and_stays_as_it_is() {
    let (name, mut puppet) = (name("resize"), Puppet::new());
    let at = puppet.region(&name, LEN);
    let twice = LEN * 2;
    let failed = puppet.line_of(&format!("remap {at} {LEN} {twice}"));
    assert_eq!(failed, format!("failed {}", libc::ENOMEM));
    assert!(
        puppet
            .errors()
            .contains("its size and its address are fixed")
    );
    puppet.fill(at, LEN, 1);
    puppet.publish(at, LEN);
    version(&mut observe(&name), 1);
}

#[test]
fn memory_that_the_program_protects_does_not_end_it() {
    let (name, mut puppet) = (name("protect"), Puppet::new());
    let at = puppet.region(&name, LEN);
    puppet.fill(at, LEN, 6);
    puppet.publish(at, LEN);
    let none = libc::PROT_NONE;
    puppet.ask(&format!("protect {at} 4096 {none}"));
    puppet.publish(at, LEN);
    let both = libc::PROT_READ | libc::PROT_WRITE;
    puppet.ask(&format!("protect {at} 4096 {both}"));
    puppet.fill(at, LEN, 7);
    puppet.publish(at, LEN);
    assert!(
        bytes(&version(&mut observe(&name), 3), "bytes")
            .iter()
            .all(|byte| *byte == 7)
    );
}

#[test]
fn program_that_closes_the_descriptor_of_the_library_keeps_its_own_files() {
    let (name, mut puppet) = (name("closed"), Puppet::new());
    let fd = puppet.open(&format!("tcasm:{name}"));
    puppet.ask(&format!("truncate {fd} {LEN}"));
    let at = puppet.map(fd, LEN);
    puppet.fill(at, LEN, 6);
    // The library has the object open, too. The program closes both, and opens files instead.
    let is_object = |fd: &std::path::Path| {
        let link = std::fs::read_link(fd).unwrap();
        link.to_str().unwrap().starts_with("/memfd:tcasm:")
    };
    let entries = std::fs::read_dir(format!("/proc/{}/fd", puppet.pid())).unwrap();
    let objects: Vec<_> = entries
        .map(|e| e.unwrap().path())
        .filter(|fd| is_object(fd))
        .collect();
    assert_eq!(objects.len(), 2);
    for object in &objects {
        let number = object.file_name().unwrap().to_str().unwrap();
        assert_eq!(puppet.ask(&format!("close {number}")), [0, 0]);
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|file| folder.path().join(file));
    for path in &paths {
        let number = puppet.open(path.to_str().unwrap()).to_string();
        let is_reused = |object: &std::path::PathBuf| object.ends_with(&number);
        assert!(objects.iter().any(is_reused), "{number} was the object's");
    }
    let fd = puppet.open(&format!("tcasm:{name}"));
    assert_eq!(
        puppet.ask(&format!("size {fd}"))[0],
        0,
        "a new object, and none of the files"
    );
    puppet.publish(at, LEN);
    version(&mut observe(&name), 1);
    puppet.ask(&format!("unmap {at} {LEN}"));
    assert!(is_gone(&name));
    for path in &paths {
        assert_eq!(std::fs::metadata(path).unwrap().len(), 0, "{path:?}");
    }
}
