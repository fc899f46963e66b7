//! A producer in a memory control group that reaches its limit: it goes on, and no version is torn.
//!
//! The kernel kills a process of a full group that asks for more memory. So `publish` must not ask.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use tcasm_producer::TrackerKind;
use tcasm_tests::cgroup::Cgroup;
use tcasm_tests::child::{DEADLINE, Said, poll_until};
use tcasm_tests::procfs::is_stopped;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// What a full group has left: less than any version here needs, and enough for what the kernel
/// notes on the side.
const LEFT: u64 = 1 << 20;

/// A producer in the group, an observer outside that holds its first three versions, and no memory
/// in any plane that a fourth could use.
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

    /// A producer and an observer without any version.
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

    /// Has the producer publish, and fills the group when it stops where the fault says.
    fn publish_until_full(&mut self) {
        self.producer.child.tell("publish 1");
        let pid = self.producer.child.pid();
        poll_until(&format!("it stops, {}", self.what), || {
            is_stopped(pid).then_some(())
        });
        self.group.leave(LEFT);
        self.producer.child.signal(Signal::SIGCONT);
    }

    /// Has the producer publish until it stops where the fault says; returns the newest version that
    /// was published by then. One more "publish 1" is still to be answered.
    fn publish_until_stopped(&mut self) -> u64 {
        let pid = self.producer.child.pid();
        for newest in 0..2000 {
            self.producer.child.tell("publish 1");
            let answer = poll_until(
                &format!("it publishes or stops, {}", self.what),
                || match self.producer.child.hear(Duration::ZERO) {
                    Said::Line(answer) => Some(Some(answer)),
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
        panic!("it does not stop, {}", self.what)
    }

    /// What the producer answers to "publish 1", which it was told; none if the kernel killed it.
    fn published(&mut self) -> Option<u64> {
        match self.producer.child.hear(DEADLINE) {
            Said::Line(answer) => Some(number(&answer, "published").expect(&answer)),
            Said::Ended => {
                let status = self.producer.child.wait();
                assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
                assert_eq!(self.group.kills(), 1);
                None
            }
            Said::Nothing => panic!("no answer within {DEADLINE:?}"),
        }
    }

    /// All that the observer holds is right, and the newest version is `newest`.
    fn is_whole(&mut self, newest: u64) {
        self.observer.ok("check");
        assert_eq!(self.observer.ok("latest"), format!("version={newest}"));
        self.observer.ok("view");
    }

    /// With memory again, all goes on where it was.
    fn goes_on(&mut self, newest: u64) {
        self.group.unlimit();
        self.observer.ok("release");
        assert_eq!(self.producer.number("publish 4", "published"), 4);
        self.producer.ok("view");
        self.is_whole(newest + 4);
    }
}

/// Version 4 is all new: 8 MiB.
fn settings(tracker: TrackerKind, capture: &str) -> String {
    format!("tracker={tracker} dense-every=3 one-in=3 pages=2048 capture={capture}")
}

fn on_all_trackers(test: impl Fn(TrackerKind, &'static str, Cgroup)) {
    let later = (TrackerKind::UffdAsync, "later");
    let now = TrackerKind::ALL.map(|tracker| (tracker, "now"));
    for (tracker, capture) in now.into_iter().chain([later]) {
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
            scene.producer.child.tell("publish 1");
        }
        assert_eq!(scene.published(), Some(0), "{tracker} {capture}");
        scene.goes_on(3);
    });
}

#[test]
fn without_the_question_for_room_the_kernel_kills_the_producer() {
    on_all_trackers(|tracker, capture, group| {
        let mut scene = Scene::begin(group, &settings(tracker, capture), "stop@harvested:4");
        scene.producer.ok("sabotage Bound");
        scene.publish_until_full();
        assert_eq!(scene.published(), None, "{tracker} {capture}");
        scene.is_whole(3);
    });
}

/// Steps of publish, how often a producer has passed them in its fourth version, and whether the
/// kernel may end it when the group becomes full there: while memory is being taken that the group
/// had when it was asked.
fn steps(capture: &str) -> Vec<(&'static str, usize, bool)> {
    let each = ["harvested", "reclaimed", "mapped", "visible", "notified"];
    let taking = |point| capture == "later" && point == "mapped";
    let mut steps = each.map(|point| (point, 4, taking(point))).to_vec();
    // Four chunks. Versions 1 and 4 are captured by several threads; later, all but the first.
    match capture {
        "later" => steps.extend([
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
            assert!(published.is_some() || may_end, "{what}: it was killed");
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

/// Steps of sharing and of compaction, and whether the kernel may end the producer when the group
/// becomes full there: while pages are being copied for which there was room.
const STEPS_BESIDES: [(&str, &str, bool); 8] = [
    ("resting:1", SHARING, false),
    ("rested:1", SHARING, false),
    ("resting:3", SHARING, false),
    ("rested:3", SHARING, false),
    ("gathering:1", COMPACTING, true),
    ("gathering:40", COMPACTING, true),
    ("gathered:1", COMPACTING, false),
    ("gathered:3", COMPACTING, false),
];
/// Of ten chunks, four come to rest in each version from the third on.
const SHARING: &str = "pages=5120 capture=now calm=1 dense-every=100 one-in=1000000";
/// Versions of few pages each, which lie scattered.
const COMPACTING: &str = "pages=4096 capture=now compact=1 dense-every=10000 one-in=300";

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
        assert!(published.is_some() || may_end, "{fault}: it was killed");
        let newest = scene.observer.number("latest", "version");
        assert!(newest >= seen, "{fault}: {newest} after {seen}");
        assert!(published.is_none_or(|published| newest == seen + published));
        scene.is_whole(newest);
        if published.is_some() {
            scene.goes_on(newest);
        }
    }
}
