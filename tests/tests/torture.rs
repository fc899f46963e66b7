//! A producer that rewrites its memory as fast as it can, observers that check every page of it,
//! and somebody who kills, stops and restarts the observers.
//!
//! `TCASM_SOAK_SECONDS` is how long the long form takes per tracker (10 minutes unless set).

use nix::sys::signal::Signal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tcasm_producer::TrackerKind;
use tcasm_tests::child::{Child, DEADLINE, Said};
use tcasm_tests::pattern::mix;
use tcasm_tests::procfs;
use tcasm_tests::puppet::number;
use tempfile::TempDir;

/// What is done to a region.
struct Torture {
    tracker: TrackerKind,
    /// When chunks are captured. Writers go on as soon as publish returns.
    capture: &'static str,
    /// The large field.
    mib: u64,
    /// The bound on what versions hold.
    memory_mib: u64,
    /// How long at least.
    time: Duration,
    /// Versions at least; of each five, one has to be checked whole.
    versions: u64,
    /// A guard that is switched off, to see that it is missed.
    sabotage: Option<&'static str>,
}

/// How it went.
#[derive(Debug, Default)]
struct Outcome {
    published: u64,
    skipped: u64,
    checked: u64,
    kills: u64,
    stops: u64,
    /// Lines of the producer that said that live memory rests on planes.
    rested: u64,
    /// What observers found wrong.
    wrong: Vec<String>,
}

const OBSERVERS: usize = 4;

/// One at a time: each of them wants the whole machine.
static ALONE: Mutex<()> = Mutex::new(());

/// The processes of a running torture.
struct Scene<'a> {
    torture: &'a Torture,
    dir: &'a Path,
    producer: Child,
    observers: Vec<Child>,
    outcome: Outcome,
    dice: u64,
    /// When the producer last said something.
    heard: Instant,
}

impl Torture {
    fn is_survived(&self) {
        let outcome = self.run();
        println!("{}, {}: {outcome:?}", self.tracker, self.capture);
        assert_eq!(outcome.wrong, [""; 0]);
        assert!(outcome.kills > 0 && outcome.stops > 0, "{outcome:?}");
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
        let mut arguments = vec!["x", &tracker, &mib, &memory, torture.capture];
        arguments.extend(torture.sabotage);
        let program = env!("CARGO_BIN_EXE_stamper");
        let mut scene = Scene {
            torture,
            dir,
            producer: Child::start(program, &arguments, dir, &[]),
            observers: Vec::new(),
            outcome: Outcome::default(),
            dice: 0,
            heard: Instant::now(),
        };
        scene.observers = (0..OBSERVERS).map(|_| scene.observer()).collect();
        scene
    }

    /// A number below `sides`.
    fn throw(&mut self, sides: usize) -> usize {
        self.dice += 1;
        mix(self.dice, 5, 5) as usize % sides
    }

    fn observer(&mut self) -> Child {
        let seed = self.throw(1 << 30).to_string();
        Child::start(env!("CARGO_BIN_EXE_verifier"), &["x", &seed], self.dir, &[])
    }

    /// Kill an observer and start another, or stop one for a while, or leave them in peace.
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

    /// Hear what everybody has said since.
    fn listen(&mut self) {
        while let Some(()) = self.hear_producer() {}
        let silence = self.heard.elapsed();
        assert!(silence < DEADLINE, "no publish returned for {silence:?}");
        let pid = self.producer.pid();
        let bound = self.torture.memory_mib << 20;
        assert!(
            procfs::plane_bytes(pid) <= bound,
            "planes hold more than the bound"
        );
        if let Some(rss) = procfs::status(pid, "VmRSS") {
            // Live memory, once more for the file under it (cow), and the planes.
            let most = bound + 2 * (self.torture.mib << 20) * 17 / 16 + (64 << 20);
            assert!(rss <= most, "{rss} bytes are resident, of {most}");
        }
        for observer in &mut self.observers {
            self.outcome.hear(observer);
        }
    }

    /// One line of the producer, if there is one.
    fn hear_producer(&mut self) -> Option<()> {
        let line = match self.producer.hear(Duration::ZERO) {
            Said::Line(line) => line,
            Said::Nothing => return None,
            Said::Ended => panic!("the producer ended: {:?}", self.producer.wait()),
        };
        self.heard = Instant::now();
        assert!(
            number(&line, "held") <= Some(self.torture.memory_mib << 20),
            "{line}"
        );
        assert_eq!(number(&line, "errors"), Some(0), "{line}");
        self.outcome.rested += u64::from(number(&line, "resting") > Some(0));
        match line.split(' ').next() {
            Some("published") => self.outcome.published += 1,
            Some("skipped") => self.outcome.skipped += 1,
            _ => panic!("{line}"),
        }
        Some(())
    }

    /// While nobody else runs, publish goes on returning.
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

    /// Let the stream end: observers finish what they have begun, and end as well.
    fn end(mut self) -> Outcome {
        self.producer.finish();
        assert!(self.producer.wait().success());
        for mut observer in self.observers.drain(..) {
            let status = observer.wait();
            self.outcome.hear(&mut observer);
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
    /// Whether as much was published and checked as was asked for.
    fn is_enough(&self, torture: &Torture) -> bool {
        self.published >= torture.versions && self.checked >= torture.versions / 5
    }

    fn hear(&mut self, observer: &mut Child) {
        loop {
            match observer.hear(Duration::ZERO) {
                Said::Line(line) if line.starts_with("checked") => self.checked += 1,
                Said::Line(line) => self.wrong.push(line),
                Said::Nothing => return,
                Said::Ended => break,
            }
        }
        let status = observer.wait();
        if !status.success() && self.wrong.is_empty() {
            self.wrong.push(format!("an observer ended with {status}"));
        }
    }
}

fn torture(tracker: TrackerKind, time: Duration, versions: u64) {
    let torture = Torture {
        tracker,
        capture: "auto",
        mib: 256,
        memory_mib: 1200,
        time,
        versions,
        sabotage: None,
    };
    torture.is_survived();
}

const SHORT: Duration = Duration::from_secs(15);

#[test]
fn no_observer_ever_sees_a_torn_page_with_uffd_async() {
    torture(TrackerKind::UffdAsync, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_cow() {
    torture(TrackerKind::Cow, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_with_compare() {
    torture(TrackerKind::Compare, SHORT, 200);
}

#[test]
fn no_observer_ever_sees_a_torn_page_where_chunks_are_captured_after_publish() {
    let torture = Torture {
        tracker: TrackerKind::UffdAsync,
        capture: "later",
        mib: 48,
        memory_mib: 400,
        time: SHORT,
        versions: 200,
        sabotage: None,
    };
    torture.is_survived();
}

#[test]
#[ignore = "takes half an hour"]
fn soak_no_observer_ever_sees_a_torn_page() {
    let wanted = std::env::var("TCASM_SOAK_SECONDS");
    let seconds = wanted.ok().and_then(|s| s.parse().ok()).unwrap_or(600);
    for tracker in TrackerKind::ALL {
        torture(tracker, Duration::from_secs(seconds), 4 * seconds);
    }
}

/// The same on a small region with a guard switched off must find something wrong.
fn is_missed(guard: &'static str, capture: &'static str, memory_mib: u64) {
    let torture = Torture {
        tracker: TrackerKind::UffdAsync,
        capture,
        mib: 16,
        memory_mib,
        time: DEADLINE,
        versions: 0,
        sabotage: Some(guard),
    };
    let outcome = torture.run();
    // Pages or stamps that are wrong, changes that are not told, or tables that were never written.
    let signs = ["torn", "the stamp is not", "untold", "index is damaged"];
    let found = |line: &String| signs.iter().any(|sign| line.contains(sign));
    let noticed = outcome.wrong.iter().any(found);
    assert!(noticed, "{guard} is off, and nobody noticed: {outcome:?}");
}

#[test]
fn without_the_look_at_pins_pages_are_torn() {
    is_missed("PinCheck", "now", 44);
}

#[test]
fn without_care_for_slots_in_use_pages_are_torn() {
    is_missed("SlotInUse", "now", 44);
}

#[test]
fn without_the_order_of_publish_pages_are_torn() {
    is_missed("VisibleLast", "now", 44);
}

#[test]
fn without_keeping_what_was_harvested_skipped_changes_are_lost() {
    is_missed("KeepHarvest", "now", 44);
}

#[test]
fn without_saving_before_releasing_pages_are_torn() {
    is_missed("SaveFirst", "later", 100);
}
