//! A producer in a memory control group that reaches its limit. It goes on, and no version is torn.
//!
//! If a process of a full group needs more memory, the kernel kills one. So `publish` must check
//! first whether there is room.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use tcasm_producer::TrackerKind;
use tcasm_tests::cgroup::Cgroup;
use tcasm_tests::child::{DEADLINE, Received, poll_until};
use tcasm_tests::procfs::is_stopped;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// The bytes that a full group has left. No version here fits into them, but the small allocations
/// of the kernel do.
const LEFT: u64 = 1 << 20;

/// A producer in the group, and an observer outside that holds its first three versions. No plane
/// has free memory that a fourth version could use.
struct Scene {
    _dir: TempDir,
    producer: Puppet,
    observer: Puppet,
    group: Cgroup,
    /// The settings and the fault.
    what: String,
}

impl Scene {
    fn begin(group: Cgroup, settings: &str, fault: &str) -> Scene {
        let mut scene = Scene::empty(group, settings, fault);
        for version in 1..=3 {
            scene.producer.ok("publish 1");
            assert_eq!(scene.observer.ok("latest"), format!("version={version}"));
        }
        scene.observer.ok("view");
        scene
    }

    /// Starts a producer and an observer without any version.
    fn empty(group: Cgroup, settings: &str, fault: &str) -> Scene {
        let dir = TempDir::new().unwrap();
        let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", fault)]);
        let mut observer = Puppet::start(PUPPET, dir.path());
        group.add(producer.child.pid());
        producer.ok(&format!("create x {settings}"));
        observer.ok("attach x");
        Scene {
            _dir: dir,
            producer,
            observer,
            group,
            what: format!("{settings} {fault}"),
        }
    }

    /// Makes the producer publish, and fills the group when it stops at the point of the fault.
    fn publish_until_full(&mut self) {
        self.producer.child.send("publish 1");
        let pid = self.producer.child.pid();
        poll_until(&format!("the producer stops, {}", self.what), || {
            is_stopped(pid).then_some(())
        });
        self.group.leave(LEFT);
        self.producer.child.signal(Signal::SIGCONT);
    }

    /// Makes the producer publish until it stops at the point of the fault. Returns the newest
    /// version published by then. The last "publish 1" is still to be answered.
    fn publish_until_stopped(&mut self) -> u64 {
        let pid = self.producer.child.pid();
        for newest in 0..2000 {
            self.producer.child.send("publish 1");
            let answer = poll_until(
                &format!("the producer publishes or stops, {}", self.what),
                || match self.producer.child.receive(Duration::ZERO) {
                    Received::Line(answer) => Some(Some(answer)),
                    _ => is_stopped(pid).then_some(None),
                },
            );
            match answer {
                Some(answer) => assert_eq!(number(&answer, "published"), Some(1), "{answer}"),
                None => return newest,
            }
            self.observer.ok("release");
            self.observer.ok("latest");
            self.observer.ok("view");
        }
        panic!("the producer does not stop, {}", self.what)
    }

    /// Returns the number of versions that the last "publish 1" published, or `None` if the kernel
    /// killed the producer.
    fn published(&mut self) -> Option<u64> {
        match self.producer.child.receive(DEADLINE) {
            Received::Line(answer) => Some(number(&answer, "published").expect(&answer)),
            Received::Ended => {
                let status = self.producer.child.wait();
                assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
                assert_eq!(self.group.kills(), 1);
                None
            }
            Received::Nothing => panic!("no answer within {DEADLINE:?}"),
        }
    }

    /// Checks that all versions the observer holds are right, and that `newest` is the newest
    /// version.
    fn is_whole(&mut self, newest: u64) {
        self.observer.ok("check");
        assert_eq!(self.observer.ok("latest"), format!("version={newest}"));
        self.observer.ok("view");
    }

    /// Checks that the producer publishes again when there is memory.
    fn goes_on(&mut self, newest: u64) {
        self.group.unlimit();
        self.observer.ok("release");
        assert_eq!(self.producer.number("publish 4", "published"), 4);
        self.producer.ok("view");
        self.is_whole(newest + 4);
    }
}

/// Returns settings with which version 4 has 8 MiB of new pages.
fn settings(tracker: TrackerKind, capture: &str) -> String {
    format!("tracker={tracker} dense-every=3 one-in=3 pages=2048 capture={capture}")
}

fn on_all_trackers(test: impl Fn(TrackerKind, &'static str, Cgroup)) {
    let deferred = (TrackerKind::UffdAsync, "deferred");
    let inline = TrackerKind::ALL.map(|tracker| (tracker, "inline"));
    for (tracker, capture) in inline.into_iter().chain([deferred]) {
        if let Some(group) = Cgroup::create() {
            test(tracker, capture, group);
        }
    }
}

#[test]
fn publish_skips_in_a_full_group_and_goes_on_when_it_has_room() {
    on_all_trackers(|tracker, capture, group| {
        let mut scene = Scene::begin(group, &settings(tracker, capture), "stop@harvested:4");
        scene.publish_until_full();
        for _ in 0..5 {
            assert_eq!(scene.published(), Some(0), "{tracker} {capture}");
            scene.is_whole(3);
            scene.producer.child.send("publish 1");
        }
        assert_eq!(scene.published(), Some(0), "{tracker} {capture}");
        scene.goes_on(3);
    });
}

#[test]
fn without_the_guard_bound_the_kernel_kills_the_producer() {
    on_all_trackers(|tracker, capture, group| {
        let mut scene = Scene::begin(group, &settings(tracker, capture), "stop@harvested:4");
        scene.producer.ok("sabotage Bound");
        scene.publish_until_full();
        assert_eq!(scene.published(), None, "{tracker} {capture}");
        scene.is_whole(3);
    });
}

/// Returns steps of publish, how often a producer has passed them in its fourth version, and
/// whether the kernel may kill it when the group becomes full there. It may at steps at which
/// memory is being taken for which there was room before.
fn steps(capture: &str) -> Vec<(&'static str, usize, bool)> {
    let each = ["harvested", "reclaimed", "mapped", "visible", "notified"];
    let taking = |point| capture == "deferred" && point == "mapped";
    let mut steps = each.map(|point| (point, 4, taking(point))).to_vec();
    // There are four chunks. Several threads capture versions 1 and 4 inside `publish`. In mode
    // deferred they do so for version 1, and the later versions are deferred.
    match capture {
        "deferred" => steps.extend([
            ("protected", 3, true),
            ("saving", 14, true),
            ("saved", 14, true),
        ]),
        _ => steps.extend([
            ("copied", 4, false),
            ("saving", 6, true),
            ("saved", 6, true),
        ]),
    }
    steps
}

#[test]
fn a_group_that_becomes_full_in_a_step_of_publish_tears_no_version() {
    on_all_trackers(|tracker, capture, first| {
        drop(first);
        for (point, count, may_end) in steps(capture) {
            let what = format!("{point}:{count} {tracker} {capture}");
            let Some(group) = Cgroup::create() else {
                return;
            };
            let fault = format!("stop@{point}:{count}");
            let mut scene = Scene::begin(group, &settings(tracker, capture), &fault);
            scene.publish_until_full();
            let published = scene.published();
            assert!(
                published.is_some() || may_end,
                "{what}: the producer was killed"
            );
            let newest = scene.observer.number("latest", "version");
            assert!(
                newest == 3 + published.unwrap_or(newest - 3),
                "{what}: {newest}"
            );
            scene.is_whole(newest);
            if published.is_some() {
                scene.goes_on(newest);
            }
        }
    });
}

/// Steps of sharing and of compaction, and whether the kernel may kill the producer when the group
/// becomes full there. It may while pages are being copied for which there was room before.
const STEPS_BESIDES: [(&str, &str, bool); 8] = [
    ("sharing:1", SHARING, false),
    ("shared:1", SHARING, false),
    ("sharing:3", SHARING, false),
    ("shared:3", SHARING, false),
    ("gathering:1", COMPACTING, true),
    ("gathering:40", COMPACTING, true),
    ("gathered:1", COMPACTING, false),
    ("gathered:3", COMPACTING, false),
];
/// Settings with which four of ten chunks become shared in each version from the third on.
const SHARING: &str = "pages=5120 capture=inline cold=1 dense-every=100 one-in=1000000";
/// Settings with which each version changes few pages, which are scattered.
const COMPACTING: &str = "pages=4096 capture=inline compact=1 dense-every=10000 one-in=300";

#[test]
fn a_group_that_becomes_full_in_a_step_of_sharing_or_compaction_tears_no_version() {
    for (fault, settings, may_end) in STEPS_BESIDES {
        let Some(group) = Cgroup::create() else {
            return;
        };
        let mut scene = Scene::empty(group, settings, &format!("stop@{fault}"));
        let seen = scene.publish_until_stopped();
        scene.group.leave(LEFT);
        scene.producer.child.signal(Signal::SIGCONT);
        let published = scene.published();
        assert!(
            published.is_some() || may_end,
            "{fault}: the producer was killed"
        );
        let newest = scene.observer.number("latest", "version");
        assert!(newest >= seen, "{fault}: {newest} after {seen}");
        assert!(published.is_none_or(|published| newest == seen + published));
        scene.is_whole(newest);
        if published.is_some() {
            scene.goes_on(newest);
        }
    }
}
