//! A producer that rewrites its memory as fast as it can, and observers that check every page of
//! it. The test kills, stops and restarts the observers.
//!
//! `TCASM_SOAK_SECONDS` is the time that the soak test takes per tracker (10 minutes unless set).

use nix::sys::signal::Signal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tcasm_producer::TrackerKind;
use tcasm_tests::child::{Child, DEADLINE, HUGE_PAGES, Received};
use tcasm_tests::pattern::mix;
use tcasm_tests::procfs;
use tcasm_tests::puppet::number;
use tempfile::TempDir;

/// The kinds of memory in a run.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// True if live memory may consist of huge pages.
    huge: bool,
    /// True if live memory may be shared with planes.
    shared: bool,
    /// The nodes of memory that the producer pretends to have. With 1 it has those of the machine.
    nodes: usize,
}

const USUAL: Memory = Memory {
    huge: true,
    shared: true,
    nodes: 1,
};
const SMALL_PAGES: Memory = Memory {
    huge: false,
    ..USUAL
};
const NO_SHARING: Memory = Memory {
    shared: false,
    ..USUAL
};
const TWO_NODES: Memory = Memory { nodes: 2, ..USUAL };

/// The settings of one run.
struct Torture {
    tracker: TrackerKind,
    /// The capture mode. Writers go on as soon as `publish` returns.
    capture: &'static str,
    memory: Memory,
    /// The size of the large field, in MiB.
    mib: u64,
    /// The bound on the memory of versions, in MiB.
    memory_mib: u64,
    /// The shortest time of the run.
    time: Duration,
    /// The least number of versions. One of five has to be checked as a whole.
    versions: u64,
    /// A guard that is switched off, which the observers must notice.
    sabotage: Option<&'static str>,
}

/// The results of one run.
#[derive(Debug, Default)]
struct Outcome {
    published: u64,
    skipped: u64,
    checked: u64,
    kills: u64,
    stops: u64,
    /// The number of lines in which the producer reported that live memory is shared with planes.
    sharing: u64,
    /// The number of lines in which it reported that live memory has huge pages.
    huge: u64,
    /// The number of calls of the pretended machine.
    asked: u64,
    /// The number of pretended nodes on which frames were placed.
    nodes: u64,
    /// The errors that observers found.
    wrong: Vec<String>,
}

const OBSERVERS: usize = 4;

/// The lock that makes the tests run one at a time. Each of them needs the whole machine.
static ALONE: Mutex<()> = Mutex::new(());

/// The processes of a run.
struct Scene<'a> {
    torture: &'a Torture,
    dir: &'a Path,
    producer: Child,
    observers: Vec<Child>,
    outcome: Outcome,
    dice: u64,
    /// The time of the last line of the producer.
    received: Instant,
}

impl Torture {
    fn is_survived(&self) -> Outcome {
        let outcome = self.run();
        println!(
            "{}, {}, {:?}: {outcome:?}",
            self.tracker, self.capture, self.memory
        );
        assert_eq!(outcome.wrong, [""; 0]);
        assert!(outcome.kills > 0 && outcome.stops > 0, "{outcome:?}");
        self.check_nodes(&outcome);
        outcome
    }

    /// Checks that frames were placed on all pretended nodes, if there are several.
    fn check_nodes(&self, outcome: &Outcome) {
        let several = self.memory.nodes > 1;
        let wanted = if several { self.memory.nodes as u64 } else { 0 };
        assert_eq!(outcome.asked > 0, several, "{outcome:?}");
        assert_eq!(outcome.nodes, wanted, "nodes with frames: {outcome:?}");
    }

    fn run(&self) -> Outcome {
        let _alone = ALONE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let dir = TempDir::new().unwrap();
        let mut scene = Scene::set(self, dir.path());
        let start = Instant::now();
        let mut halted = false;
        while start.elapsed() < self.time || !scene.outcome.is_enough(self) {
            assert!(
                start.elapsed() < self.time + 4 * DEADLINE,
                "{:?}",
                scene.outcome
            );
            scene.disturb();
            scene.listen();
            if !scene.outcome.wrong.is_empty() {
                return scene.outcome;
            }
            if !halted && start.elapsed() > self.time / 2 {
                scene.halt_all_observers();
                halted = true;
            }
        }
        scene.end()
    }
}

impl<'a> Scene<'a> {
    fn set(torture: &'a Torture, dir: &'a Path) -> Self {
        let tracker = torture.tracker.to_string();
        let (mib, memory) = (torture.mib.to_string(), torture.memory_mib.to_string());
        let nodes = torture.memory.nodes.to_string();
        let mut arguments = vec!["x", &tracker, &mib, &memory, torture.capture, &nodes];
        arguments.extend(torture.sabotage);
        let program = env!("CARGO_BIN_EXE_stamper");
        let sharing = ["0", "1"][usize::from(torture.memory.shared)];
        let env = [
            HUGE_PAGES[usize::from(torture.memory.huge)],
            ("TCASM_SHARED_BACKING", sharing),
        ];
        let mut scene = Scene {
            torture,
            dir,
            producer: Child::start(program, &arguments, dir, &env),
            observers: Vec::new(),
            outcome: Outcome::default(),
            dice: 0,
            received: Instant::now(),
        };
        scene.observers = (0..OBSERVERS).map(|_| scene.observer()).collect();
        scene
    }

    /// Returns a number below `sides`.
    fn throw(&mut self, sides: usize) -> usize {
        self.dice += 1;
        mix(self.dice, 5, 5) as usize % sides
    }

    fn observer(&mut self) -> Child {
        let seed = self.throw(1 << 30).to_string();
        Child::start(env!("CARGO_BIN_EXE_verifier"), &["x", &seed], self.dir, &[])
    }

    /// Kills an observer and starts another, or stops one for a while, or does nothing.
    fn disturb(&mut self) {
        let victim = self.throw(OBSERVERS);
        match self.throw(20) {
            0 => {
                self.listen();
                self.observers[victim] = self.observer();
                self.outcome.kills += 1;
            }
            1..=3 => {
                self.observers[victim].signal(Signal::SIGSTOP);
                let ms = self.throw(200) as u64;
                std::thread::sleep(Duration::from_millis(ms));
                self.observers[victim].signal(Signal::SIGCONT);
                self.outcome.stops += 1;
            }
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }

    /// Reads all lines that the programs have printed since.
    fn listen(&mut self) {
        while let Some(()) = self.hear_producer() {}
        let silence = self.received.elapsed();
        assert!(silence < DEADLINE, "no publish returned for {silence:?}");
        let pid = self.producer.pid();
        let bound = self.torture.memory_mib << 20;
        let held = procfs::plane_bytes(pid);
        if held > bound {
            // The planes are looked at one after the other, and memory may have moved meanwhile.
            self.producer.stop();
            let stopped = procfs::plane_bytes(pid);
            self.producer.signal(Signal::SIGCONT);
            eprintln!("planes: {held} bytes, {stopped} of the stopped producer, of {bound}");
            assert!(stopped <= bound, "planes hold {stopped} bytes of {bound}");
        }
        if let Some(rss) = procfs::status(pid, "VmRSS") {
            // Live memory, the same again for the file under it (cow), and the planes.
            let most = bound + 2 * (self.torture.mib << 20) * 17 / 16 + (64 << 20);
            assert!(rss <= most, "{rss} bytes are resident, of {most}");
        }
        for observer in &mut self.observers {
            self.outcome.receive(observer);
        }
    }

    /// Reads one line of the producer, if there is one.
    fn hear_producer(&mut self) -> Option<()> {
        let line = match self.producer.receive(Duration::ZERO) {
            Received::Line(line) => line,
            Received::Nothing => return None,
            Received::Ended => panic!("the producer ended: {:?}", self.producer.wait()),
        };
        self.received = Instant::now();
        assert!(
            number(&line, "held") <= Some(self.torture.memory_mib << 20),
            "{line}"
        );
        assert_eq!(number(&line, "errors"), Some(0), "{line}");
        self.outcome.sharing += u64::from(number(&line, "shared") > Some(0));
        self.outcome.huge += u64::from(number(&line, "huge") > Some(0));
        self.outcome.asked = number(&line, "asked").unwrap_or(0);
        self.outcome.nodes = number(&line, "nodes").unwrap_or(0);
        match line.split(' ').next() {
            Some("published") => self.outcome.published += 1,
            Some("skipped") => self.outcome.skipped += 1,
            _ => panic!("{line}"),
        }
        Some(())
    }

    /// Checks that `publish` goes on returning while all observers are stopped.
    fn halt_all_observers(&mut self) {
        self.observers
            .iter()
            .for_each(|o| o.signal(Signal::SIGSTOP));
        self.listen();
        let calls = |outcome: &Outcome| outcome.published + outcome.skipped;
        let wanted = calls(&self.outcome) + 20;
        while calls(&self.outcome) < wanted {
            self.listen();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.observers
            .iter()
            .for_each(|o| o.signal(Signal::SIGCONT));
    }

    /// Ends the stream. The observers finish what they have begun, and end as well.
    fn end(mut self) -> Outcome {
        self.producer.finish();
        assert!(self.producer.wait().success());
        for mut observer in self.observers.drain(..) {
            let status = observer.wait();
            self.outcome.receive(&mut observer);
            if self.outcome.wrong.is_empty() && !status.success() {
                self.outcome
                    .wrong
                    .push(format!("an observer ended with {status}"));
            }
        }
        self.outcome
    }
}

impl Outcome {
    /// Returns true if enough versions were published and checked.
    fn is_enough(&self, torture: &Torture) -> bool {
        self.published >= torture.versions && self.checked >= torture.versions / 5
    }

    fn receive(&mut self, observer: &mut Child) {
        loop {
            match observer.receive(Duration::ZERO) {
                Received::Line(line) if line.starts_with("checked") => self.checked += 1,
                Received::Line(line) => self.wrong.push(line),
                Received::Nothing => return,
                Received::Ended => break,
            }
        }
        let status = observer.wait();
        if !status.success() && self.wrong.is_empty() {
            self.wrong.push(format!("an observer ended with {status}"));
        }
    }
}

/// Runs a large region.
fn torture(tracker: TrackerKind, memory: Memory, time: Duration, versions: u64) {
    let torture = Torture {
        tracker,
        capture: "auto",
        memory,
        mib: 256,
        memory_mib: 1200,
        time,
        versions,
        sabotage: None,
    };
    let outcome = torture.is_survived();
    let possible = memory.huge && tracker == TrackerKind::UffdAsync;
    assert!(!possible || outcome.huge > 0, "nothing was gathered");
    assert!(
        memory.shared || outcome.sharing == 0,
        "something was shared"
    );
}

const SHORT: Duration = Duration::from_secs(15);

#[test]
fn no_observer_ever_sees_a_torn_page_with_uffd_async() {
    torture(TrackerKind::UffdAsync, USUAL, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_uffd_async_and_small_pages() {
    torture(TrackerKind::UffdAsync, SMALL_PAGES, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_uffd_async_and_no_sharing() {
    torture(TrackerKind::UffdAsync, NO_SHARING, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_uffd_async_and_two_nodes() {
    torture(TrackerKind::UffdAsync, TWO_NODES, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_cow() {
    torture(TrackerKind::Cow, USUAL, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_compare() {
    torture(TrackerKind::Compare, USUAL, SHORT, 200);
}

/// Runs a small region in a mode of capture, with each kind of memory.
fn torture_small(capture: &'static str, memory_mib: u64) {
    for memory in [USUAL, SMALL_PAGES, NO_SHARING, TWO_NODES] {
        let torture = Torture {
            tracker: TrackerKind::UffdAsync,
            capture,
            memory,
            mib: 48,
            memory_mib,
            time: SHORT / 2,
            versions: 100,
            sabotage: None,
        };
        torture.is_survived();
    }
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_deferred_capture() {
    torture_small("deferred", 400);
}

#[test]
fn no_observer_ever_sees_a_torn_page_of_assembled_chunks() {
    torture_small("auto-assembled", 800);
}

#[test]
#[ignore = "takes half an hour; run by `make soak`"]
fn soak_no_observer_ever_sees_a_torn_page() {
    let wanted = std::env::var("TCASM_SOAK_SECONDS");
    let seconds = wanted.ok().and_then(|s| s.parse().ok()).unwrap_or(600);
    for tracker in TrackerKind::ALL {
        torture(tracker, USUAL, Duration::from_secs(seconds), 4 * seconds);
    }
    for memory in [SMALL_PAGES, NO_SHARING, TWO_NODES] {
        let time = Duration::from_secs(seconds / 2);
        torture(TrackerKind::UffdAsync, memory, time, 2 * seconds);
    }
}

/// Runs the same on a small region with a guard switched off, with and without huge pages. The
/// observers must find an error.
fn is_noticed(guard: &'static str, capture: &'static str, memory_mib: u64) {
    for huge in [true, false] {
        is_noticed_with(huge, guard, capture, memory_mib);
    }
}

fn is_noticed_with(huge: bool, guard: &'static str, capture: &'static str, memory_mib: u64) {
    let torture = Torture {
        tracker: TrackerKind::UffdAsync,
        capture,
        memory: if huge { USUAL } else { SMALL_PAGES },
        mib: 16,
        memory_mib,
        time: DEADLINE,
        versions: 0,
        sabotage: Some(guard),
    };
    let outcome = torture.run();
    // Wrong pages or stamps, changes that are not reported, or tables that were never written.
    let signs = [
        "torn",
        "the stamp is not",
        "is not reported",
        "index is damaged",
    ];
    let found = |line: &String| signs.iter().any(|sign| line.contains(sign));
    let noticed = outcome.wrong.iter().any(found);
    assert!(
        noticed,
        "{guard} is off, huge pages: {huge}, and no observer noticed: {outcome:?}"
    );
}

#[test]
fn without_the_guard_pin_check_pages_are_torn() {
    is_noticed("PinCheck", "inline", 44);
}

#[test]
fn without_the_guard_frame_in_use_pages_are_torn() {
    is_noticed("FrameInUse", "inline", 44);
}

#[test]
fn without_the_guard_visible_last_pages_are_torn() {
    is_noticed("VisibleLast", "inline", 44);
}

#[test]
fn without_the_guard_keep_harvest_changes_of_skipped_versions_are_lost() {
    is_noticed("KeepHarvest", "inline", 44);
}

#[test]
fn without_the_guard_save_first_pages_are_torn() {
    is_noticed("SaveFirst", "deferred", 100);
}
