//! Edge cases: versions that do not exist, sizes of one, and operations in an unusual order.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};
use tcasm_core::place::socket_path;
use tcasm_core::sys::mem::page_size;
use tcasm_core::sys::socket::wait_readable;
use tcasm_core::testing::fault::run_out_of_memory_after;
use tcasm_observer::{AttachError, ObserveError, Observer, ReadError, Status};
use tcasm_producer::{CaptureMode, CreateError, Producer, PublishError, Receipt, Skip};
use tcasm_tests::child::poll_until;
use tcasm_tests::procfs::plane_bytes;
use tcasm_tests::puppet::Puppet;
use tcasm_tests::{PublishVisible, name, on_all_trackers, unmap};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Returns a region with one field of `bytes` bytes and no version.
fn region(stem: &str, bytes: usize) -> (Producer, tcasm_producer::Field<u8, ndarray::Ix1>) {
    let mut p = Producer::builder(&name(stem))
        .capacity(1 << 20)
        .create()
        .unwrap();
    let f = p.field::<u8, _>("f", [bytes]).add().unwrap();
    (p, f)
}

/// Runs `inside` in a process of its own. That process runs the same test, which then calls
/// `inside`.
fn alone(test: &str, inside: impl FnOnce()) {
    const MARK: &str = "TCASM_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return inside();
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env_remove("TCASM_RUNTIME_DIR").env(MARK, "1");
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{out:?}");
}

#[test]
fn versions_that_do_not_exist_are_reported_as_gone() {
    let (mut p, f) = region("numbers", 1);
    let mut o = Observer::attach(p.name()).unwrap();
    for step in 0..6 {
        p.view_mut(f).unwrap()[0] = step;
        p.publish_visible(step.into(), 0.0).unwrap();
    }
    for n in [0, 1, 7, 1 << 63, 1 << 63 | 5, 1 << 63 | 6, u64::MAX] {
        let error = o.version(n).unwrap_err();
        assert!(
            matches!(error, ObserveError::Gone { .. }),
            "{n:#x}: {error}"
        );
    }
    assert_eq!(o.version(6).unwrap().number(), 6);
}

#[test]
fn waiting_forever_does_not_overflow() {
    let (mut p, _) = region("for-ever", 1);
    let mut o = Observer::attach_wait(p.name(), Duration::MAX).unwrap();
    p.publish_wait(0, 0.0, Duration::MAX).unwrap();
    assert_eq!(o.wait_newer(Duration::MAX).unwrap().number(), 1);
    p.publish_visible(1, 0.0).unwrap();
    assert_eq!(o.next(Duration::MAX).unwrap().number(), 2);
    assert!(wait_readable(
        &std::fs::File::open("/dev/null").unwrap(),
        Duration::MAX
    ));
}

#[test]
fn a_vector_may_have_one_component() {
    let mut p = Producer::builder(&name("one"))
        .capacity(1 << 20)
        .create()
        .unwrap();
    let v = p.field::<f64, _>("v", [4, 5, 1]).vector().add().unwrap();
    let dynamic = p.field::<f64, _>("d", vec![1]).vector().add().unwrap();
    p.view_mut(v).unwrap()[[3, 4, 0]] = 7.0;
    assert_eq!(p.view(v).unwrap().shape(), [4, 5, 1]);
    assert_eq!(p.view(dynamic).unwrap().len(), 1);
    p.publish_visible(0, 0.0).unwrap();
    let view = Observer::attach(p.name())
        .unwrap()
        .latest()
        .unwrap()
        .view()
        .unwrap();
    assert_eq!(view.array::<f64>("v").unwrap().iter().sum::<f64>(), 7.0);
}

#[test]
fn attributes_that_are_too_large_are_an_error_and_can_be_replaced() {
    let (mut p, f) = region("attributes", 1);
    p.view_mut(f).unwrap()[0] = 1;
    p.set_attr("long", "x".repeat(1 << 20));
    let error = p.publish_visible(0, 0.0).unwrap_err();
    assert!(matches!(error, PublishError::Table(_)), "{error}");
    assert!(error.to_string().contains("attributes"), "{error}");
    p.set_attr("long", "short");
    let Receipt::Published(published) = p.publish_visible(0, 0.0).unwrap() else {
        panic!()
    };
    assert_eq!(published.pages, 1, "the next version has the change");
}

#[test]
fn declared_writes_follow_a_field_to_its_new_buffer() {
    on_all_trackers(|tracker| {
        let mut p = Producer::builder(&name("declare"))
            .capacity(1 << 20)
            .tracker(tracker)
            .create()
            .unwrap();
        let u = p.field::<u8, _>("u", [3 * 4096]).add().unwrap();
        let other = p.buffer_like(u).unwrap();
        p.bind(u, other).unwrap();
        p.publish_visible(0, 0.0).unwrap();
        p.mark_dirty(u);
        let Receipt::Published(published) = p.publish_visible(1, 0.0).unwrap() else {
            panic!()
        };
        assert_eq!(published.pages, 3, "{tracker}");
        p.mark_dirty_bytes(u, 0..1);
        p.register_dma(u);
        for step in 2..4 {
            let Receipt::Published(published) = p.publish_visible(step, 0.0).unwrap() else {
                panic!()
            };
            assert_eq!(published.pages, 3, "{tracker}");
        }
    });
}

#[test]
fn a_version_published_while_the_subscription_is_under_way_is_not_missed() {
    for round in 0..100 {
        let (mut p, _) = region("subscribe", 1);
        let mut o = Observer::attach(p.name()).unwrap();
        let fd = o.descriptor().unwrap();
        p.publish_visible(0, 0.0).unwrap();
        let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        assert_eq!(
            poll(&mut fds, PollTimeout::from(60_000u16)),
            Ok(1),
            "round {round}"
        );
    }
}

#[test]
fn a_signal_does_not_end_a_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing, and nothing else in this program uses the signal. A zeroed
    // `sigaction` is valid and has no SA_RESTART, so calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
    }
    // SAFETY: the call takes no arguments and always succeeds.
    let me = unsafe { libc::pthread_self() } as usize;
    std::thread::scope(|s| {
        s.spawn(move || {
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(30));
                // SAFETY: the thread lives, because it waits for this one at the end of the scope.
                unsafe { libc::pthread_kill(me as libc::pthread_t, libc::SIGUSR1) };
            }
        });
        let (_write, read) = std::os::unix::net::UnixStream::pair().unwrap();
        let start = Instant::now();
        assert!(!wait_readable(&read, Duration::from_millis(300)));
        assert!(
            start.elapsed() >= Duration::from_millis(299),
            "{:?}",
            start.elapsed()
        );
    });
}

#[test]
fn a_forked_child_cannot_revoke_a_lease() {
    let (mut p, _) = region("child-revoke", 1);
    let _o = Observer::attach(p.name()).unwrap();
    // SAFETY: the child makes one call, which takes no lock, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let revoked = p.revoke(std::process::id() as i32);
        // SAFETY: the call ends the process without running anything of the parent's.
        unsafe { libc::_exit(revoked as i32) };
    }
    let mut status = -1;
    // SAFETY: the child is ours, and `status` lives during the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the child was killed, or revoked an observer");
    assert_eq!(p.stats().observers, 1);
}

#[test]
fn revoked_observer_counts_against_the_limit_until_it_leaves() {
    let mut p = Producer::builder(&name("place"))
        .capacity(1)
        .max_observers(1)
        .create()
        .unwrap();
    let first = Observer::attach(p.name()).unwrap();
    let error = Observer::attach(p.name()).unwrap_err();
    assert!(matches!(error, AttachError::Full { .. }), "{error}");
    p.revoke(std::process::id() as i32);
    assert_eq!(first.status().unwrap(), Status::Revoked);
    let error = Observer::attach(p.name()).unwrap_err();
    assert!(matches!(error, AttachError::Full { .. }), "{error}");
    drop(first);
    let second = poll_until("the place is free", || Observer::attach(p.name()).ok());
    assert_eq!(second.status().unwrap(), Status::NotReady);
}

#[test]
fn changes_since_a_version_of_another_region_are_everything() {
    let (mut small, _) = region("small", 1);
    let mut large = Producer::builder(&name("large"))
        .capacity(64 << 20)
        .create()
        .unwrap();
    large.field::<u8, _>("g", [1]).add().unwrap();
    small.publish_visible(0, 0.0).unwrap();
    large.publish_visible(0, 0.0).unwrap();
    let small = Observer::attach(small.name()).unwrap().latest().unwrap();
    let large = Observer::attach(large.name()).unwrap().latest().unwrap();
    for (a, b, field) in [(&small, &large, "f"), (&large, &small, "g")] {
        let changes = a.changes_since(b).unwrap();
        assert_eq!(changes.pages.len(), changes.pages.capacity());
        assert_eq!(changes.fields, [field]);
        let changed = a.changed_ranges(field, Some(b)).unwrap();
        assert_eq!((changed.len(), changed.first()), (1, Some(&(0..1))));
    }
    assert!(small.changed_ranges("f", Some(&small)).unwrap().is_empty());
    let error = small.changed_ranges("absent", None).unwrap_err();
    assert!(matches!(error, ReadError::NoField { .. }), "{error}");
    assert!(small.changes_since(&small).unwrap().pages.is_empty());
}

#[test]
fn socket_of_another_program_at_the_path_of_a_region_is_not_removed() {
    let name = name("stream");
    let path = socket_path(&name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let error = Producer::builder(&name).capacity(1).create().unwrap_err();
    assert!(matches!(error, CreateError::Listen { .. }), "{error}");
    assert!(path.exists());
    drop(listener);
}

#[test]
fn process_without_descriptors_cannot_take_a_name_in_use() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x pages=64");
    producer.ok("publish 1");
    for free in 0..12 {
        let mut other = Puppet::start(PUPPET, dir.path());
        other.ok(&format!("free-descriptors {free}"));
        other.error("create x pages=64");
    }
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
}

#[test]
fn pins_of_a_dead_observer_are_released_although_its_child_lives() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x pages=64 versions=2 dense-every=1");
    producer.ok("publish 1");
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    observer.ok("latest");
    observer.ok("leave-child");
    let pid = nix::unistd::Pid::from_raw(observer.child.pid());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    poll_until("the dead observer is gone", || {
        (producer.number("stats", "observers") == 0).then_some(())
    });
    assert_eq!(producer.number("publish 5", "published"), 5);
}

#[test]
fn failed_allocation_skips_publish_and_returns_its_memory() {
    alone(
        "failed_allocation_skips_publish_and_returns_its_memory",
        || {
            let (mut p, f) = region("no-memory", 1 << 20);
            p.view_mut(f).unwrap().fill(1);
            run_out_of_memory_after(0);
            for step in 0..3 {
                let receipt = p.publish_visible(step, 0.0).unwrap();
                let short = matches!(
                    receipt,
                    Receipt::Skipped {
                        reason: Skip::NoMemory { .. },
                        ..
                    }
                );
                assert!(short, "{receipt:?}");
                let held = (p.stats().held_bytes, plane_bytes(std::process::id() as i32));
                assert_eq!(held, (0, 0), "a failed publish must return its memory");
            }
            run_out_of_memory_after(u64::MAX);
            let Receipt::Published(published) = p.publish_visible(3, 0.0).unwrap() else {
                panic!()
            };
            assert_eq!(published.pages, 256);
        },
    );
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_no_signal() {
    alone("a_limit_on_file_sizes_is_an_error_and_no_signal", || {
        // SAFETY: the structure lives during the call, and the limit holds for this process only.
        unsafe {
            let limit = libc::rlimit {
                rlim_cur: 1 << 16,
                rlim_max: libc::RLIM_INFINITY,
            };
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
        }
        let error = Producer::builder(&name("fsize"))
            .capacity(1 << 20)
            .create()
            .unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
    });
}

#[test]
fn unmapped_part_of_the_region_does_not_stop_publish() {
    on_all_trackers(|tracker| {
        let name = name("hole");
        let builder = Producer::builder(&name).capacity(1 << 20).tracker(tracker);
        let mut p = builder.create().unwrap();
        let whole = p.field::<u8, _>("whole", [8 * page_size()]).add().unwrap();
        let holed = p.field::<u8, _>("holed", [8 * page_size()]).add().unwrap();
        p.view_mut(whole).unwrap().fill(1);
        p.view_mut(holed).unwrap().fill(1);
        p.publish_visible(1, 0.0).unwrap();
        unmap::remove_page(&mut p, 12).unwrap();
        for step in 2..4 {
            p.view_mut(whole).unwrap().fill(step as u8);
            let receipt = p.publish_visible(step, 0.0).unwrap();
            assert_eq!(receipt.version(), Some(step), "{tracker}: {receipt:?}");
            let view = Observer::attach(&name)
                .unwrap()
                .latest()
                .unwrap()
                .view()
                .unwrap();
            let read = |field| view.array::<u8>(field).unwrap();
            assert!(read("whole").iter().all(|x| *x == step as u8), "{tracker}");
            assert!(read("holed").iter().all(|x| *x == 1), "{tracker}");
        }
        assert_eq!(p.stats().tracker_errors, 2, "{tracker}");
    });
}

/// Writes two chunks densely, unmaps a page of the second one after `before` steps, and goes on
/// with the first one.
fn goes_on_without_a_page_of_a_dense_chunk(mode: CaptureMode, before: u64) {
    const CHUNK: usize = 512;
    let (name, bytes) = (name("dense-hole"), CHUNK * page_size());
    let builder = Producer::builder(&name).capacity(4 * bytes).capture(mode);
    let mut p = builder.create().unwrap();
    let [whole, holed] = ["whole", "holed"].map(|f| p.field::<u8, _>(f, [bytes]).add().unwrap());
    for step in 1..=before {
        p.view_mut(whole).unwrap().fill(step as u8);
        p.view_mut(holed).unwrap().fill(step as u8);
        p.publish_visible(step, 0.0).unwrap();
    }
    unmap::remove_page(&mut p, CHUNK + 7).unwrap();
    for step in before + 1..before + 6 {
        p.view_mut(whole).unwrap().fill(step as u8);
        let receipt = p.publish_visible(step, 0.0).unwrap();
        assert_eq!(receipt.version(), Some(step), "{mode:?}: {receipt:?}");
        let mut observer = Observer::attach(&name).unwrap();
        let view = observer.latest().unwrap().view().unwrap();
        let all = |field, value| view.array::<u8>(field).unwrap().iter().all(|x| *x == value);
        assert!(
            all("whole", step as u8) && all("holed", before as u8),
            "{mode:?}"
        );
    }
}

#[test]
fn unmapped_part_of_a_chunk_that_is_captured_after_publish_stops_nothing() {
    for mode in [CaptureMode::Auto, CaptureMode::Deferred] {
        (1..6).for_each(|before| goes_on_without_a_page_of_a_dense_chunk(mode, before));
    }
}
