//! Live memory and planes in swap. `ci/environment.sh` runs this with swap. Without swap the kernel
//! leaves everything where it is.

use tcasm_producer::TrackerKind;
use tcasm_tests::procfs;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Publishes with everything paged out between stores and `publish`, and sometimes between
/// `publish` and the observer. Returns the most bytes that were in swap.
fn publish_paged_out(kind: &str) -> u64 {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!(
        "create x pages=2048 memory=1000000000 dense-every=6 one-in=30 {kind}"
    ));
    observer.ok("attach x");
    let mut swapped = 0;
    for version in 1..=24 {
        producer.ok("write");
        let now = producer.number("page-out", "swapped");
        swapped = swapped.max(now);
        let published = producer.number("publish-written", "published");
        assert_eq!(published, 1, "{kind}");
        if version % 2 == 0 {
            producer.ok("page-out");
            observer.ok("page-out");
        }
        if version % 3 == 0 {
            producer.ok("view");
        }
        assert_eq!(
            observer.ok("latest"),
            format!("version={version}"),
            "{kind}"
        );
        observer.ok("view");
        if version % 5 == 0 {
            observer.ok("check");
            observer.ok("release");
        }
    }
    assert_eq!(producer.number("stats", "errors"), 0, "{kind}");
    swapped
}

#[test]
fn versions_are_right_when_live_memory_and_planes_are_paged_out() {
    let deferred = "tracker=uffd-async capture=deferred";
    let sharing = "tracker=uffd-async capture=inline cold=1 compact=1";
    let assembling = "tracker=uffd-async capture=auto assemble=1";
    let inline = TrackerKind::ALL.map(|tracker| format!("tracker={tracker} capture=inline"));
    for kind in inline
        .iter()
        .map(String::as_str)
        .chain([deferred, sharing, assembling])
    {
        let swapped = publish_paged_out(kind);
        println!("{swapped} bytes were in swap: {kind}");
        assert!(
            procfs::swap() == 0 || swapped > 0,
            "{kind}: nothing was paged out"
        );
    }
    if procfs::swap() == 0 {
        println!("NOT RUN with swap: this machine has none (ci/environment.sh makes some)");
    }
}
