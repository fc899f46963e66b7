//! Users without privileges, other users, and sandboxes that forbid system calls.
//!
//! If root runs these tests, the processes change to users without privileges. Otherwise they have
//! none already, and the checks that need a second user check the file modes instead.

use nix::unistd::{Gid, Uid, chown};
use std::fs::{Permissions, metadata, set_permissions};
use std::os::unix::fs::PermissionsExt;
use tcasm_tests::hostile::socket_path;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Users that own nothing else.
const ONE: u32 = 65534;
const OTHER: u32 = 65533;

fn root() -> bool {
    Uid::effective().is_root()
}

/// Returns a folder for sockets that others can enter. Its owner is the user to which [`puppet`]
/// changes its process.
fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    if root() {
        let (uid, gid) = (Uid::from_raw(ONE), Gid::from_raw(ONE));
        chown(dir.path(), Some(uid), Some(gid)).unwrap();
    }
    dir
}

/// Starts a process of user `uid`, or of our own user if we are not root.
fn puppet(dir: &TempDir, uid: u32) -> Puppet {
    let mut puppet = Puppet::start(PUPPET, dir.path());
    if root() {
        puppet.ok(&format!("become {uid}"));
    }
    assert_ne!(puppet.number("whoami", "uid"), 0);
    puppet
}

/// Checks that a region works from end to end with the tracker that was chosen.
fn works(dir: &TempDir, producer: &mut Puppet, tracker: &str) {
    let answer = producer.ok("create x pages=1200 dense-every=5 one-in=2");
    assert!(answer.contains(&format!("tracker={tracker} ")), "{answer}");
    let mut observer = puppet(dir, ONE);
    observer.ok("attach x");
    for version in 1..12 {
        producer.ok("publish 1");
        assert_eq!(observer.ok("newer"), format!("version={version}"));
        observer.ok(if version % 2 == 0 {
            "view"
        } else {
            "view-at-base"
        });
        if version % 3 == 0 {
            observer.ok("check");
            observer.ok("release");
        }
        if version % 2 == 1 {
            observer.ok("release");
        }
    }
    assert_eq!(producer.number("stats", "errors"), 0);
    producer.ok("close");
    assert_eq!(observer.ok("status"), "EndOfStream");
}

#[test]
fn a_user_without_any_rights_gets_the_best_tracker() {
    let dir = folder();
    works(&dir, &mut puppet(&dir, ONE), "uffd-async");
}

#[test]
fn where_userfaultfd_is_forbidden_the_cow_tracker_is_chosen() {
    let dir = folder();
    let mut producer = puppet(&dir, ONE);
    producer.ok("deny-userfaultfd");
    works(&dir, &mut producer, "cow");
}

#[test]
fn where_pagemap_is_out_of_reach_too_the_compare_tracker_is_chosen() {
    let dir = folder();
    let mut producer = puppet(&dir, ONE);
    producer.ok("deny-userfaultfd");
    producer.ok("undumpable");
    works(&dir, &mut producer, "compare");
}

#[test]
fn forbidden_tracker_is_refused_with_advice() {
    let dir = folder();
    let mut producer = puppet(&dir, ONE);
    producer.ok("deny-userfaultfd");
    let error = producer.error("create x tracker=uffd-async");
    assert!(error.starts_with("Tracker"), "{error}");
    assert!(error.contains("seccomp"), "{error}");
    producer.ok("undumpable");
    let error = producer.error("create x tracker=cow");
    assert!(error.contains("pagemap"), "{error}");
    producer.ok("create x tracker=compare");
}

/// Attaches from a process of another user to a region made with `settings`. If we are not root,
/// checks instead whether the mode of the socket would let it connect.
fn other_user(settings: &str) -> Result<(), String> {
    let dir = folder();
    let mut producer = puppet(&dir, ONE);
    producer.ok(&format!("create x {settings}"));
    producer.ok("publish 2");
    if !root() {
        let mode = metadata(socket_path(dir.path(), "x"))
            .unwrap()
            .permissions()
            .mode();
        let reachable = mode & 0o006 == 0o006;
        return reachable
            .then_some(())
            .ok_or("NotAllowed by the mode".into());
    }
    let mut observer = puppet(&dir, OTHER);
    let answer = observer.ask("attach x").unwrap();
    if let Some(error) = answer.strip_prefix("error ") {
        assert_eq!(producer.number("publish 1", "published"), 1);
        return Err(error.to_owned());
    }
    assert_eq!(observer.ok("latest"), "version=2");
    observer.ok("view-at-base");
    assert_planes_are_read_only(&mut observer);
    Ok(())
}

fn assert_planes_are_read_only(observer: &mut Puppet) {
    let answer = observer.ok("writable-objects");
    assert!(number(&answer, "objects") > Some(1), "{answer}");
    assert_eq!(number(&answer, "writable"), Some(0), "{answer}");
}

#[test]
fn another_user_is_kept_out_unless_allowed() {
    let refusal = other_user("").unwrap_err();
    assert!(refusal.starts_with("NotAllowed"), "{refusal}");
    other_user("access=everyone").unwrap();
    other_user(&format!("access=7,{OTHER}")).unwrap();
    if root() {
        // The socket accepts the connection, and the producer then checks the user.
        let refusal = other_user("access=7,8").unwrap_err();
        assert!(refusal.starts_with("NotAllowed"), "{refusal}");
        assert!(refusal.contains("Builder::allow"), "{refusal}");
    }
}

#[test]
fn an_observer_of_the_same_user_cannot_open_planes_for_writing_by_accident() {
    let dir = folder();
    let mut producer = puppet(&dir, ONE);
    producer.ok("create x");
    producer.ok("publish 1");
    let mut observer = puppet(&dir, ONE);
    observer.ok("attach x");
    assert_planes_are_read_only(&mut observer);
    observer.ok("latest");
}

#[test]
fn folder_of_another_user_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("theirs");
    std::fs::create_dir(&path).unwrap();
    // As root, a folder of another user. Otherwise, one in which no file may be made.
    let mode = if root() { 0o755 } else { 0o555 };
    set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let mut producer = Puppet::start(PUPPET, &path);
    if root() {
        producer.ok(&format!("become {ONE}"));
    }
    let error = producer.error("create x");
    assert!(
        error.starts_with("Folder") || error.starts_with("Lock"),
        "{error}"
    );
    assert!(error.contains(path.to_str().unwrap()), "{error}");
    set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
}
