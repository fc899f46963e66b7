//! Views that a forked child inherits from an observer. The child cannot use them and gets an
//! error.
//!
//! In a pool of forked workers every child inherits such views. The parent may drop a version at
//! any time, and then the producer fills its frames with new bytes.

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, RegionPtr, View, ViewError};
use tcasm_producer::{CaptureMode, Field, Producer};
use tcasm_tests::views::mapped_in;
use tcasm_tests::{PublishVisible, name, procfs};

const PAGES: usize = 2048;

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Node {
    value: u64,
}

/// A producer of an array and of structures, and an observer of them.
struct Pair {
    name: String,
    producer: Producer,
    array: Field<u64, ndarray::Ix1>,
    observer: Observer,
}

impl Pair {
    fn new(what: &str) -> Pair {
        Pair::with_versions(what, 3)
    }

    fn with_versions(what: &str, versions: usize) -> Pair {
        let name = name(what);
        let bytes = PAGES * page_size();
        let builder = Producer::builder(&name)
            .capacity(2 * bytes)
            .versions(versions);
        let mut producer = builder.capture(CaptureMode::Inline).create().unwrap();
        let array = producer.field("array", [bytes / 8]).add().unwrap();
        producer.raw::<Node>("nodes", 4).add().unwrap();
        let observer = Observer::attach(&name).unwrap();
        let mut pair = Pair {
            name,
            producer,
            array,
            observer,
        };
        pair.publish(1, 0..PAGES);
        pair
    }

    /// Publishes a version with `value` at the start of each of `pages`.
    fn publish(&mut self, value: u64, pages: impl Iterator<Item = usize>) {
        let mut view = self.producer.view_mut(self.array).unwrap();
        pages.for_each(|page| view[page * page_size() / 8] = value);
        let receipt = self.producer.publish_visible(value, 0.0).unwrap();
        assert!(receipt.version().is_some(), "{receipt:?}");
    }

    fn view(&mut self) -> View {
        self.observer.latest().unwrap().view().unwrap()
    }
}

/// A forked child, and the two pipes to it and back.
struct Child {
    pid: Pid,
    go: Option<PipeWriter>,
    answer: PipeReader,
}

impl Child {
    /// Forks a child that waits for [`Child::go_on`] and then sends what `report` returns. An alarm
    /// ends it if it hangs.
    fn fork(report: impl FnOnce() -> String) -> Child {
        let ((waiting, go), (answer, mut writer)) = (pipe().unwrap(), pipe().unwrap());
        // SAFETY: the child uses what it inherited, which is what this test is about. It ends
        // without running destructors or exit handlers.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                drop(go);
                // SAFETY: the call takes an integer. The default action of this signal ends the
                // process.
                unsafe { libc::alarm(20) };
                let _ = { waiting }.read(&mut [0]);
                let _ = writer.write_all(report().as_bytes());
                // SAFETY: the call ends the process and touches no memory.
                unsafe { libc::_exit(0) }
            }
            ForkResult::Parent { child } => Child {
                pid: child,
                go: Some(go),
                answer,
            },
        }
    }

    /// Lets the child go on, and returns what it sent and how it ended.
    fn go_on(mut self) -> (String, WaitStatus) {
        // A byte, because the end of the pipe may never come: children that other tests fork at the
        // same time inherit this end of it.
        let told = self.go.take().map(|mut go| go.write_all(b"."));
        told.transpose().unwrap();
        let mut said = String::new();
        self.answer.read_to_string(&mut said).unwrap();
        (said, waitpid(self.pid, None).unwrap())
    }
}

/// Returns what the child sends. The child must exit with status 0.
fn in_child(report: impl FnOnce() -> String) -> String {
    let (said, end) = Child::fork(report).go_on();
    assert!(matches!(end, WaitStatus::Exited(_, 0)), "{end:?}: {said}");
    said
}

/// Calls every accessor of a view that reads shared memory. Each line has the name of the accessor
/// and its result.
fn ask_everything(view: &View, base: usize) -> Vec<String> {
    let line = |name: &str, error: Option<String>| {
        let error = error.map_or_else(|| "ok".to_owned(), |e| e.split('(').next().unwrap().into());
        format!("{name} {error}")
    };
    let desc = view.table().get("array").unwrap();
    let pointer = RegionPtr::<Node>::new(base as u64);
    let all: Vec<_> = desc.shape.iter().map(|n| 0..*n).collect();
    let debug = |e: &dyn std::fmt::Debug| format!("{e:?}");
    vec![
        line("array", view.array::<u64>("array").err().map(|e| debug(&e))),
        line(
            "interior",
            view.interior::<u64>("array").err().map(|e| debug(&e)),
        ),
        line(
            "part",
            view.part::<u64>("array", &all).err().map(|e| debug(&e)),
        ),
        line("bytes", view.bytes("array").err().map(|e| debug(&e))),
        line("bytes_of", view.bytes_of(desc).err().map(|e| debug(&e))),
        line("raw", view.raw::<Node>("nodes").err().map(|e| debug(&e))),
        line("deref", view.deref(pointer).err().map(|e| debug(&e))),
        line("view", view.version().view().err().map(|e| debug(&e))),
        line("view_of", view.view_of(&["array"]).err().map(|e| debug(&e))),
        line(
            "view_part",
            view.view_part("array", &all).err().map(|e| debug(&e)),
        ),
        line("changes", view.changes().err().map(|e| debug(&e))),
        line(
            "changes_since",
            view.changes_since(view.version()).err().map(|e| debug(&e)),
        ),
        line("runs", view.runs(0..4096).err().map(|e| debug(&e))),
        line("page_size", view.page_size().err().map(|e| debug(&e))),
        line(
            "read_bytes",
            view.read_bytes("array", 0, &mut [0; 8])
                .err()
                .map(|e| debug(&e)),
        ),
    ]
}

#[test]
fn every_accessor_of_an_inherited_view_is_an_error() {
    let mut pair = Pair::new("accessors");
    let (view, base) = (pair.view(), pair.producer.base());
    let answers = in_child(|| ask_everything(&view, base).join("\n"));
    for answer in answers.lines() {
        assert!(answer.ends_with(" Forked"), "{answers}");
    }
    let ours = ask_everything(&view, base);
    assert_eq!(answers.lines().count(), ours.len());
    assert!(ours.iter().all(|line| line.ends_with(" ok")), "{ours:?}");
    let error = in_child(|| pair.observer.info().unwrap_err().to_string());
    assert!(error.contains("attach anew"), "{error}");
}

#[test]
fn child_never_sees_other_bytes_under_the_number_of_a_version_that_the_parent_dropped() {
    let mut pair = Pair::new("pool");
    let view = pair.view();
    let version = view.number();
    let child = Child::fork(|| {
        let Ok(array) = view.array::<u64>("array") else {
            return "an error".to_owned();
        };
        format!("version {}: {}", view.number(), array[0])
    });
    drop(view);
    (2..9).for_each(|value| pair.publish(value, 0..PAGES));
    let (said, end) = child.go_on();
    let right = ["an error".to_owned(), format!("version {version}: 1")];
    assert!(right.contains(&said), "{said}, {end:?}");
}

#[test]
fn slices_that_were_taken_before_the_fork_fault_in_the_child() {
    let mut pair = Pair::new("slices");
    // The first view is mapped anew, later ones use the page-table cache, or several runs.
    for value in 2..8 {
        let few = value % 2 == 0;
        pair.publish(value, (0..PAGES).filter(|page| !few || page % 7 == 0));
        let view = pair.view();
        let array = view.array::<u64>("array").unwrap();
        for page in [0, 1, 700, PAGES - 1] {
            let word = &array[page * page_size() / 8];
            let old = few && page % 7 != 0;
            assert_eq!(*word, value - u64::from(old));
            let (said, end) = Child::fork(|| word.to_string()).go_on();
            let faulted = matches!(end, WaitStatus::Signaled(_, Signal::SIGSEGV, _));
            assert!(faulted, "page {page} of version {value}: {said:?}, {end:?}");
        }
    }
}

#[test]
fn windows_with_copies_of_scattered_pages_are_not_inherited() {
    let (name, pages) = (name("copies"), 4 * 512);
    let bytes = pages * page_size();
    let builder = Producer::builder(&name)
        .capacity(bytes)
        .memory(4 * bytes as u64);
    let mut producer = builder.capture(CaptureMode::Inline).create().unwrap();
    let field = producer.field::<u8, _>("bytes", [bytes]).add().unwrap();
    let mut observer = Observer::attach(&name).unwrap();
    // Half of the chunks are copied.
    observer.set_copy_budget(bytes as u64 / 2);
    for (value, every) in [(1, 1), (2, 2)] {
        let mut view = producer.view_mut(field).unwrap();
        let heads = view.iter_mut().step_by(every * page_size());
        heads.for_each(|byte| *byte = value);
        producer.publish_visible(value.into(), 0.0).unwrap();
    }
    let view = observer.latest().unwrap().view().unwrap();
    assert_eq!(observer.stats().unwrap().copied_bytes, bytes as u64 / 2);
    assert!(mapped_in(&view) > 2 * 512, "{}", mapped_in(&view));
    let planes = || procfs::mappings(&format!("tcasm-{name}-plane")).len();
    let said = in_child(|| format!("{} {}", planes(), mapped_in(&view)));
    assert_eq!(said, "0 0");
    let error = in_child(|| observer.stats().unwrap_err().to_string());
    assert!(error.contains("attach anew"), "{error}");
    let read = view.bytes("bytes").unwrap().iter().step_by(page_size());
    let right = read
        .enumerate()
        .all(|(page, byte)| *byte == 2 - page as u8 % 2);
    assert!(right);
}

#[test]
fn child_inherits_no_mapping_of_the_region_and_can_attach_itself() {
    let mut pair = Pair::new("inherits");
    pair.observer.set_copy_budget(0);
    let mut views = Vec::new();
    for value in 2..6 {
        views = vec![pair.view()];
        pair.publish(value, (0..PAGES).step_by(3));
    }
    let theirs = format!("tcasm-{}", pair.name);
    let of_region = || {
        let maps = procfs::mappings(&theirs).len();
        maps + procfs::mappings("tcasm-lease").len()
    };
    assert!(of_region() > 4, "{} mappings", of_region());
    let windows = || views.iter().map(mapped_in).sum::<usize>();
    assert!(windows() > 4, "{}", windows());
    let said = in_child(|| format!("{} {}", of_region(), windows()));
    assert_eq!(said, "0 0");
    let said = in_child(|| {
        let mut own = Observer::attach(&pair.name).unwrap();
        let view = own.latest().unwrap().view().unwrap();
        let array = view.array::<u64>("array").unwrap();
        format!("{} {}", view.number(), array[3 * page_size() / 8])
    });
    assert_eq!(said, "5 5");
}

#[test]
fn child_drops_its_views_while_a_thread_of_the_parent_parks_windows() {
    let mut pair = Pair::with_versions("locks", 16);
    let mut versions = Vec::new();
    for value in 2..10 {
        pair.publish(value, 0..1);
        versions.push(pair.observer.latest().unwrap());
    }
    let version = versions[0].clone();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // Each version has a window, and these are more than are kept. The others are
                // unmapped while the lock is held.
                let views: Vec<View> = versions.iter().map(|v| v.view().unwrap()).collect();
                drop(views);
            }
        });
        for round in 0..300 {
            let mut view = Some(version.view().unwrap());
            let child = Child::fork(|| {
                drop(view.take());
                "dropped".to_owned()
            });
            let (said, end) = child.go_on();
            stop.store(said != "dropped", Ordering::Relaxed);
            assert_eq!(said, "dropped", "round {round}: {end:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn description_of_another_region_is_an_error_and_no_panic() {
    let mut pair = Pair::new("described");
    let view = pair.view();
    let mut desc = view.table().get("array").unwrap().clone();
    desc.offset = 1 << 40;
    let error = view.bytes_of(&desc).unwrap_err();
    assert!(matches!(error, ViewError::OtherRegion { .. }), "{error:?}");
}
