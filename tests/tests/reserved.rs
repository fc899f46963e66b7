//! Live memory of reserved huge pages: a region gets all that it needs or is refused, and versions
//! are the same as elsewhere.

use ndarray::{Array1, Ix1, Zip};
use nix::sys::sysinfo::sysinfo;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_observer::Observer;
use tcasm_producer::{CreateError, Field, HandedOver, HugePages, Producer, TrackerKind};
use tcasm_tests::PublishVisible;
use tcasm_tests::name;
use tcasm_tests::procfs::page_size_at;
use tcasm_tests::puppet::{Puppet, number};
use tcasm_tests::reserved::Pool;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
/// The setting that asks for reserved huge pages in place of the program.
const RESERVED: (&str, &str) = ("TCASM_HUGE_PAGES", "reserved");

#[test]
fn region_is_refused_with_the_numbers_if_there_are_too_few_reserved_pages() {
    let dir = TempDir::new().unwrap();
    let mut puppet = Puppet::start(PUPPET, dir.path());
    // More than the machine has memory for. The region also has room for rounding, in one more.
    let many = sysinfo().unwrap().ram_total() / HUGE_PAGE as u64 + 1;
    let pages = many * (HUGE_PAGE / page_size()) as u64;
    let error = puppet.error(&format!("create x huge=reserved pages={pages}"));
    let needed = format!("cannot map {} reserved huge pages", many + 1);
    for part in ["ReservedPages", &needed, "/proc/sys/vm/nr_hugepages"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert!(
        error.contains(" are free.") || error.contains("this kernel has none"),
        "{error}"
    );
    // Nothing of the region stays behind.
    puppet.ok("create x");
    assert_eq!(puppet.number("publish 1", "published"), 1);
}

#[test]
fn settings_that_reserved_pages_do_not_allow_are_errors() {
    let dir = TempDir::new().unwrap();
    for tracker in [TrackerKind::UffdAsync, TrackerKind::Cow] {
        let mut puppet = Puppet::start(PUPPET, dir.path());
        let by_program = puppet.error(&format!("create x huge=reserved tracker={tracker}"));
        let env = [("TCASM_TRACKER", tracker.name()), RESERVED];
        let mut puppet = Puppet::with_env(PUPPET, dir.path(), &env);
        for error in [by_program, puppet.error("create x")] {
            assert!(error.starts_with("ReservedTracker"), "{error}");
            assert!(error.contains(tracker.name()), "{error}");
        }
    }
    let mut puppet = Puppet::start(PUPPET, dir.path());
    let error = puppet.error("create x huge=reserved capture=deferred");
    assert!(error.starts_with("NoDeferredCapture"), "{error}");
}

#[test]
fn region_of_reserved_pages_must_begin_with_one() {
    let builder = Producer::builder(&name("unaligned")).capacity(HUGE_PAGE);
    let builder = builder.base((0x2e << 40) + page_size());
    let created = builder.huge_pages(HugePages::Reserved).create();
    let error = created.map(drop).unwrap_err();
    let multiple = match error {
        CreateError::Base { page_size, .. } => page_size,
        other => panic!("{other}"),
    };
    assert_eq!(multiple, HUGE_PAGE);
}

#[test]
fn versions_of_memory_in_reserved_pages_have_what_was_written() {
    // With its rounding, the region needs three huge pages.
    let Some(_pool) = Pool::with_free(3) else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::with_env(PUPPET, dir.path(), &[RESERVED]);
    let mut observer = Puppet::start(PUPPET, dir.path());
    let region = producer.ok("create x pages=1024 dense-every=3 one-in=3");
    assert!(region.contains("tracker=compare"), "{region}");
    let base = number(&region, "base").unwrap() as usize;
    for chunk in 0..3 {
        let size = page_size_at(producer.child.pid(), base + chunk * HUGE_PAGE);
        assert_eq!(size, Some(HUGE_PAGE), "chunk {chunk}");
    }
    observer.ok("attach x");
    for version in 1..=12 {
        assert_eq!(producer.number("publish 1", "published"), 1);
        // A child that had these pages would need more of them for the next stores.
        let child = producer.ok("fork publish 1");
        assert!(child.starts_with("error Forked"), "{child}");
        assert_eq!(observer.ok("latest"), format!("version={version}"));
        observer.ok("view");
        if version % 3 == 0 {
            observer.ok("check");
            observer.ok("release");
        }
    }
    producer.ok("view");
    assert_eq!(producer.number("stats", "errors"), 0);
    // The pages are free again when the region is gone.
    producer.ok("drop");
    producer.ok("create x pages=1024");
    assert_eq!(producer.number("publish 1", "published"), 1);
}

#[test]
fn scratch_is_in_reserved_pages_and_handed_over_fields_are_part_of_versions() {
    const ELEMENTS: usize = 100_000;
    let Some(_pool) = Pool::with_free(4) else {
        return;
    };
    let name = name("kinds");
    let builder = Producer::builder(&name).capacity(3 * HUGE_PAGE);
    let mut p = builder.huge_pages(HugePages::Reserved).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    let scratch = p.scratch::<u64, _>([ELEMENTS]).unwrap();
    let handed = p.field::<u64, _>("b", [ELEMENTS]).handed_over();
    let b: Field<u64, Ix1, HandedOver> = handed.add().unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    for step in 1..=6u64 {
        let [mut field, mut other] = p.views_mut([a.buffer(), scratch]).unwrap();
        other.fill(step);
        field.assign(&other);
        let values = Array1::from_iter(0..ELEMENTS as u64);
        Zip::from(&values).map_assign_into(p.rewrite(b).unwrap(), |i| i ^ step);
        p.publish_visible(step, 0.0).unwrap();
        let version = observer.latest().unwrap();
        let view = version.view().unwrap();
        let (seen, rewritten) = (view.array::<u64>("a"), view.array::<u64>("b"));
        assert!(seen.unwrap().iter().all(|x| *x == step));
        let right = |(i, x): (usize, &u64)| *x == i as u64 ^ step;
        assert!(rewritten.unwrap().iter().enumerate().all(right));
    }
    let size = |at: *const u64| page_size_at(std::process::id() as i32, at as usize);
    assert_eq!(size(p.view(a).unwrap().as_ptr()), Some(HUGE_PAGE));
    assert_eq!(size(p.view(scratch).unwrap().as_ptr()), Some(HUGE_PAGE));
    assert_eq!(size(p.view(b).unwrap().as_ptr()), Some(page_size()));
}
