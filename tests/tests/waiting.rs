//! Threads that wait for a version. All of them are woken, and `publish` itself wakes none.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tcasm_core::format::layout::header;
use tcasm_core::sys::futex;
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_tests::child::poll_until;
use tcasm_tests::hostile::HostileClient;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// A time that is far longer than the test may take.
const LONG: Duration = Duration::from_secs(3600);

fn region() -> (TempDir, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x pages=16");
    (dir, producer)
}

/// The event counter of a region, as any process with a descriptor of the index can map it.
struct Event(Mapping);

impl Event {
    fn of(client: &HostileClient) -> Arc<Event> {
        let index = &client.attach().objects[1];
        Arc::new(Event(
            Mapping::shared(index.as_fd(), page_size(), false).unwrap(),
        ))
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: this is the first page of an index, which is longer and sealed against shrinking.
        // The words are atomics.
        let words = unsafe { self.0.words() };
        &words[header::EVENT / 8]
    }
}

/// Starts threads that wait for the next event.
fn waiters(event: &Arc<Event>, count: usize) -> Vec<JoinHandle<()>> {
    let seen = event.word().load(Ordering::SeqCst);
    let wait = |event: Arc<Event>| move || futex::wait(event.word(), seen, LONG);
    let threads = (0..count).map(|_| std::thread::spawn(wait(event.clone())));
    threads.collect()
}

fn all_wake(threads: Vec<JoinHandle<()>>) {
    poll_until("all are awake", || {
        threads.iter().all(JoinHandle::is_finished).then_some(())
    });
    // Not dropped: pthread_detach of glibc may read the memory of a thread that ends at the same
    // time (bug 19951), after another thread has unmapped it.
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

#[test]
fn all_threads_that_wait_are_woken_by_a_version_and_by_the_end() {
    let (dir, mut producer) = region();
    let client = HostileClient::connect(dir.path(), "x");
    let event = Event::of(&client);
    for _ in 0..5 {
        let threads = waiters(&event, 100);
        std::thread::sleep(Duration::from_millis(20)); // most of them wait by then
        producer.ok("publish 1");
        all_wake(threads);
    }
    let threads = waiters(&event, 100);
    std::thread::sleep(Duration::from_millis(20));
    producer.ok("close");
    all_wake(threads);
}

#[test]
fn publish_itself_wakes_no_thread_of_another_process() {
    for settings in ["", "capture=deferred"] {
        let dir = TempDir::new().unwrap();
        let mut producer = Puppet::start(PUPPET, dir.path());
        producer.ok(&format!("create x pages=2048 {settings}"));
        let mut observer = Puppet::start(PUPPET, dir.path());
        observer.ok("attach x");
        producer.ok("deny-wakes");
        for version in 1..=5 {
            producer.ok("publish 1");
            assert_eq!(observer.ok("newer"), format!("version={version}"));
            observer.ok("release");
        }
    }
}
