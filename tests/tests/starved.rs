//! Threads of the library that get no processor. `publish` does their work.

use tcasm_tests::child::poll_until;
use tcasm_tests::puppet::Puppet;
use tcasm_tests::threads::Starved;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

#[test]
fn publish_completes_a_deferred_capture_whose_copiers_are_starved() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    // Stores only reach the first chunk, so they cause no other chunk to be saved early.
    let few = "dense-every=1000 one-in=50000";
    producer.ok(&format!(
        "create x tracker=uffd-async capture=deferred pages=2048 {few}"
    ));
    observer.ok("attach x");
    producer.ok("publish 3");
    let starved = Starved::stop(producer.child.pid(), "tcasm-copier");
    let mut published = 0;
    poll_until("three versions", || {
        published += producer.number("publish-unwaited", "published");
        observer.ok("latest");
        observer.ok("view");
        observer.ok("release");
        (published == 3).then_some(())
    });
    // The third version is still being captured.
    assert_eq!(observer.ok("latest"), "version=5");
    drop(starved);
    poll_until("the third version", || {
        let version = observer.number("latest", "version");
        observer.ok("view");
        observer.ok("release");
        (version == 6).then_some(())
    });
    assert_eq!(producer.number("publish 4", "published"), 4);
    observer.ok("latest");
    observer.ok("view");
}
