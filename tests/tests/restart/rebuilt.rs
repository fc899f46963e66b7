//! Regions that are rebuilt from files.

use super::{NODES, Node, Past, check, open, save};
use std::fs;
use tcasm_checkpoint::ReadError;
use tcasm_observer::Observer;
use tcasm_producer::{Attr, CreateError, Producer};
use tcasm_restart::{Restore, RestoreError};
use tcasm_tests::{PublishVisible, name};
use tempfile::TempDir;

#[test]
fn region_is_rebuilt_at_its_address_with_all_fields_and_pointers() {
    let past = Past::new();
    let restored = Producer::restore(&[past.dir.path()]).unwrap();
    assert_eq!((restored.stamp.step, restored.stamp.time), (20, 2.0));
    assert_eq!(
        (restored.from, restored.passed_over.len()),
        (past.file(20), 0)
    );
    let mut p = restored.producer;
    assert_eq!((p.name(), p.base()), (past.name.as_str(), past.base));
    check(&p, 2);
    // The pointers hold in this process and in others.
    let nodes = p.raw_handle::<Node>("nodes").unwrap();
    let second = p.raw_mut(nodes).unwrap()[1];
    assert_eq!(second.next, p.raw_ptr(nodes, 8).unwrap());
    // The next version has the next number of the run and the contents of the last version.
    assert_eq!(p.publish_visible(20, 2.0).unwrap().version(), Some(3));
    let mut observer = Observer::attach(&past.name).unwrap();
    assert_eq!(observer.info().unwrap().bytes, past.bytes);
    let version = observer.latest().unwrap();
    let again = past.dir.path().join("again.vtkhdf");
    save(&version.view().unwrap(), &again, true);
    let (a, b) = (open(&past.file(20)), open(&again));
    assert_eq!((a.table(), a.extent()), (b.table(), b.extent()));
    assert_eq!(a.table().attrs["code"], Attr::from("past"));
    drop(p); // it is mapped at the address in this process
    let view = version.view_at_base().unwrap();
    let nodes = view.raw::<Node>("nodes").unwrap();
    let next = view.deref(nodes[NODES - 1].next).unwrap();
    assert_eq!(next.value, 6);
}

#[test]
fn damaged_checkpoint_is_passed_over_and_reported() {
    let past = Past::new();
    let mut bytes = fs::read(past.file(20)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(past.file(20), bytes).unwrap();
    let restored = Producer::restore(&[past.dir.path()]).unwrap();
    assert_eq!((restored.stamp.step, restored.from), (10, past.file(10)));
    let [(path, why)] = &restored.passed_over[..] else {
        panic!("{:?}", restored.passed_over);
    };
    assert_eq!(*path, past.file(20));
    assert!(why.to_string().contains("damaged"), "{why}");
    check(&restored.producer, 1);
}

#[test]
fn checkpoint_without_an_address_is_rebuilt_at_the_address_of_its_name() {
    let past = Past::new();
    let version_of = |p: &mut Producer| {
        p.publish_visible(30, 2.0).unwrap();
        Observer::attach(&past.name).unwrap().latest().unwrap()
    };
    let mut p = Producer::restore(&[past.dir.path()]).unwrap().producer;
    save(&version_of(&mut p).view().unwrap(), &past.file(30), false);
    drop(p);
    let restored = Producer::restore(&[past.file(30)]).unwrap();
    assert_eq!(restored.producer.base(), past.base);
    check(&restored.producer, 2);
}

#[test]
fn restore_fails_if_the_region_exists_or_nothing_is_found() {
    let past = Past::new();
    let lives = Producer::restore(&[past.dir.path()]).unwrap();
    let error = Producer::restore(&[past.dir.path()]).unwrap_err();
    let in_use = |e: &RestoreError| matches!(e, RestoreError::Create(CreateError::InUse { .. }));
    assert!(in_use(&error), "{error}");
    check(&lives.producer, 2);
    let empty = TempDir::new().unwrap();
    let error = Producer::restore(&[empty.path()]).unwrap_err();
    let none = |e: &RestoreError| matches!(e, RestoreError::File(ReadError::NoneFound(_)));
    assert!(none(&error), "{error}");
    let error = Producer::restore_kept(&name("nobody")).unwrap_err();
    assert!(matches!(error, RestoreError::NotKept { .. }), "{error}");
    let error = Producer::restore_kept("../x").unwrap_err();
    assert!(matches!(error, RestoreError::Attach(_)), "{error}");
}
