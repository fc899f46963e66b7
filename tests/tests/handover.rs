//! Fields that are handed over: their versions, their cost, errors, and kills.

use ndarray::{Array1, Ix1, Zip};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_core::sys::readable::readable;
use tcasm_core::testing::fault::run_out_of_memory_after;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{
    Builder, CaptureMode, DefineError, Field, HandOverError, HandedOver, Producer, Published,
    Receipt, Skip, ViewError,
};
use tcasm_tests::{name, page_faults, runtime_dir};

const BYTES: usize = 3 << 20;

type HandedField = Field<u64, Ix1, HandedOver>;

fn pages() -> u64 {
    (BYTES / page_size()) as u64
}

fn builder(stem: &str) -> Builder {
    Producer::builder(&name(stem)).capacity(32 << 20)
}

fn region(builder: Builder) -> (Producer, HandedField) {
    let mut p = builder.create().unwrap();
    let field = p.field("u", [BYTES / 8]).handed_over().add().unwrap();
    (p, field)
}

fn fill(p: &mut Producer, field: HandedField, value: u64) {
    let mut view = p.rewrite(field).unwrap();
    view.iter_mut().for_each(|x| x.write(value));
}

fn published(p: &mut Producer, step: u64) -> Published {
    match p.publish(step, 0.0).unwrap() {
        Receipt::Published(published) => published,
        skipped => panic!("{skipped:?}"),
    }
}

fn skip(p: &mut Producer, step: u64) -> Skip {
    match p.publish(step, 0.0).unwrap() {
        Receipt::Skipped { reason, .. } => reason,
        published => panic!("{published:?}"),
    }
}

fn all_are(version: &Version, value: u64) -> bool {
    let view = version.view().unwrap();
    let array = view.array::<u64>("u").unwrap();
    array.len() == BYTES / 8 && array.iter().all(|x| *x == value)
}

#[test]
fn handed_over_pages_are_not_copied_and_never_change_in_their_version() {
    let (mut p, field) = region(builder("handed").versions(6));
    let mut observer = Observer::attach(p.name()).unwrap();
    let mut held = Vec::new();
    for step in 1..=20 {
        fill(&mut p, field, step);
        let receipt = published(&mut p, step);
        let numbers = (receipt.bytes, receipt.handed_over, receipt.pages);
        assert_eq!(numbers, (0, pages(), pages()));
        if step == 3 || step == 7 {
            held.push((step, observer.latest().unwrap()));
        }
        assert!(p.view(field).unwrap().iter().all(|x| *x == step));
        assert!(held.iter().all(|(step, version)| all_are(version, *step)));
        assert!(p.check_store().unwrap());
    }
    let stats = p.stats();
    assert_eq!(
        (stats.handed_over, stats.bytes, stats.pages),
        (20 * pages(), 0, 0)
    );
}

#[test]
fn hand_over_causes_no_page_faults() {
    let (mut p, field) = region(builder("faults").check_hand_over(false));
    let mut most = 0;
    for step in 1..=50 {
        let before = page_faults();
        fill(&mut p, field, step);
        assert_eq!(published(&mut p, step).bytes, 0);
        // The first step is included: memory was taken when the field was added.
        most = most.max(page_faults() - before);
    }
    // A few faults are the test's own. Each step writes 768 pages.
    assert!(most < 100, "{most} faults in a step");
}

#[test]
fn published_field_is_frozen_until_it_is_begun_anew() {
    let (mut p, field) = region(builder("frozen"));
    p.view_mut(field).unwrap().fill(1); // allowed until it is published
    assert_eq!(published(&mut p, 1).handed_over, pages());
    assert!(matches!(p.view_mut(field), Err(ViewError::Frozen)));
    let buffer = field.buffer();
    assert!(matches!(p.views_mut([buffer]), Err(ViewError::Frozen)));
    assert!(p.view(field).unwrap().iter().all(|x| *x == 1));
    let error = ViewError::Frozen.to_string();
    assert!(error.contains("rewrite()"), "{error}");
    // A field that was not rewritten is not published again. A field that was begun anew can also
    // be written through views.
    assert_eq!(published(&mut p, 2).pages, 0);
    fill(&mut p, field, 2);
    p.view_mut(field).unwrap()[0] = 7;
    p.view_mut(field).unwrap()[0] -= 5;
    published(&mut p, 3);
    let mut observer = Observer::attach(p.name()).unwrap();
    assert!(all_are(&observer.latest().unwrap(), 2));
}

#[test]
fn two_handed_over_buffers_can_be_bound_in_turn() {
    let (mut p, field) = region(builder("double"));
    let mut observer = Observer::attach(p.name()).unwrap();
    let (mut now, mut next) = (field.buffer(), p.buffer_like(field).unwrap());
    for step in 1..=30 {
        let (old, new) = p.views_mut((now.read(), next.rewrite())).unwrap();
        Zip::from(&old).map_assign_into(new, |x| x + 1);
        now = next;
        next = p.bind(field, next).unwrap();
        // Not every step is published. Buffers of the others are simply written again.
        if step % 3 != 1 {
            assert_eq!(published(&mut p, step).handed_over, pages());
            assert!(all_are(&observer.latest().unwrap(), step));
        }
    }
    assert!(matches!(
        p.views_mut((now.read(), now.rewrite())),
        Err(ViewError::Twice)
    ));
}

#[test]
fn check_hand_over_sets_elements_that_were_not_written_to_nan() {
    let mut p = builder("poison").check_hand_over(true).create().unwrap();
    let field = p.field::<f64, _>("u", [1000]).handed_over().add().unwrap();
    for step in 0..4 {
        let view = p.rewrite(field).unwrap();
        Array1::from_elem(1000, step as f64).assign_to(view);
        published(&mut p, step);
        let mut view = p.rewrite(field).unwrap();
        view.iter_mut().skip(1).for_each(|x| x.write(1.0));
        let view = p.view(field).unwrap();
        assert!(view[0].is_nan() && view.iter().skip(1).all(|x| *x == 1.0));
    }
}

#[test]
fn with_every_version_pinned_publish_skips_and_nothing_is_lost() {
    let (mut p, field) = region(builder("pinned").versions(4));
    let mut observer = Observer::attach(p.name()).unwrap();
    let mut held = Vec::new();
    for step in 1..=3 {
        fill(&mut p, field, step);
        published(&mut p, step);
        held.push(observer.latest().unwrap());
    }
    for step in 4..8 {
        fill(&mut p, field, step);
        // The bound is 3: one of the four slots is kept for the frames that are rewritten.
        assert_eq!(skip(&mut p, step), Skip::Versions { bound: 3 });
        p.view_mut(field).unwrap()[0] = step; // not frozen, as it was not published
    }
    assert!(
        (1..)
            .zip(&held)
            .all(|(step, version)| all_are(version, step))
    );
    held.remove(1);
    published(&mut p, 8);
    assert!(all_are(&observer.latest().unwrap(), 7));
    assert!(all_are(&held[0], 1) && all_are(&held[1], 3));
    assert!(p.check_store().unwrap());
}

#[test]
fn at_the_bound_on_memory_publish_skips_and_nothing_is_lost() {
    // The bound allows live memory, the newest version, and one more.
    let (mut p, field) = region(builder("bound").memory(3 * BYTES as u64));
    let mut observer = Observer::attach(p.name()).unwrap();
    fill(&mut p, field, 1);
    published(&mut p, 1);
    let first = observer.latest().unwrap();
    fill(&mut p, field, 2);
    published(&mut p, 2);
    for step in 3..6 {
        fill(&mut p, field, step);
        assert!(matches!(skip(&mut p, step), Skip::Bytes { .. }));
        assert!(p.stats().held_bytes <= 3 * BYTES as u64);
    }
    assert!(all_are(&first, 1));
    drop(first);
    published(&mut p, 6);
    assert!(all_are(&observer.latest().unwrap(), 5));
}

#[test]
fn a_field_that_cannot_be_handed_over_is_a_clear_error() {
    let mut two = builder("two").versions(2).create().unwrap();
    let error = two
        .field::<u8, _>("u", [1])
        .handed_over()
        .add()
        .unwrap_err();
    let few = matches!(
        error,
        DefineError::HandOver(HandOverError::Versions { versions: 2 })
    );
    assert!(few && error.to_string().contains("versions()"), "{error}");
    // Ordinary fields can still be added.
    two.field::<u8, _>("u", [1]).add().unwrap();

    let mut small = builder("small").memory(BYTES as u64 / 2).create().unwrap();
    let error = small
        .field::<u8, _>("u", [BYTES])
        .handed_over()
        .add()
        .unwrap_err();
    let bound = matches!(error, DefineError::HandOver(HandOverError::Bytes { .. }));
    assert!(bound && error.to_string().contains("memory()"), "{error}");

    let mut full = builder("full").capacity(1 << 20).create().unwrap();
    full.field::<u8, _>("a", [1]).add().unwrap();
    let error = full
        .field::<u8, _>("u", [1])
        .handed_over()
        .add()
        .unwrap_err();
    assert!(matches!(error, DefineError::Capacity { .. }), "{error}");
}

#[test]
fn trim_keeps_live_memory_and_the_frames_for_the_next_rewrite() {
    let (mut p, field) = region(builder("trim").check_hand_over(false));
    fill(&mut p, field, 1);
    p.trim().unwrap();
    assert!(p.view(field).unwrap().iter().all(|x| *x == 1));
    published(&mut p, 1);
    p.trim().unwrap();
    // The version, and the spare frames for the next rewrite.
    assert_eq!(p.stats().held_bytes, 2 * BYTES as u64);
    fill(&mut p, field, 2);
    p.trim().unwrap();
    assert!(p.view(field).unwrap().iter().all(|x| *x == 2));
    assert_eq!(p.stats().held_bytes, 2 * BYTES as u64);
}

#[test]
fn forked_child_never_inherits_handed_over_memory() {
    let (mut p, field) = region(builder("fork"));
    for step in 0..7 {
        fill(&mut p, field, step);
        let at = p.view(field).unwrap().as_ptr();
        // SAFETY: the child only makes system calls that are allowed after a fork of a program with
        // threads, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let inherited = readable(at.cast());
            // SAFETY: the call ends the child and touches no memory.
            unsafe { libc::_exit(if inherited { 1 } else { 0 }) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, and `status` lives during the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "step {step}");
        published(&mut p, step);
    }
}

/// Starts this test in another process, in which it runs `inside`. `outside` gets that process and
/// reads what it prints.
fn elsewhere(test: &str, inside: impl FnOnce(), outside: impl FnOnce(std::process::Child)) {
    const MARK: &str = "TCASM_TEST_ELSEWHERE";
    if std::env::var_os(MARK).is_some() {
        return inside();
    }
    runtime_dir();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(MARK, "1");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null());
    outside(child.spawn().unwrap());
}

#[test]
fn a_producer_that_is_killed_while_it_rewrites_leaves_its_last_version_whole() {
    let inside = || {
        let (mut p, field) = region(builder("killed").check_hand_over(false));
        println!("\nname {}", p.name());
        // Publishes 1, 2, 3, ... In between it writes a value that no version may show.
        for step in 1.. {
            fill(&mut p, field, u64::MAX);
            fill(&mut p, field, step);
            published(&mut p, step);
        }
    };
    let test = "a_producer_that_is_killed_while_it_rewrites_leaves_its_last_version_whole";
    for round in 0..8 {
        elsewhere(test, inside, |mut child| {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let name = lines.find_map(|l| Some(l.ok()?.strip_prefix("name ")?.to_owned()));
            let mut observer = Observer::attach(&name.unwrap()).unwrap();
            let mut held = vec![observer.wait_newer(Duration::from_secs(20)).unwrap()];
            std::thread::sleep(Duration::from_millis(3 + 7 * round));
            held.push(observer.latest().unwrap());
            child.kill().unwrap();
            child.wait().unwrap();
            held.push(observer.latest().unwrap());
            assert!(held.iter().all(|v| all_are(v, v.step())), "round {round}");
        });
    }
}

#[test]
fn check_hand_over_makes_stores_to_a_published_field_fault() {
    let inside = || {
        let (mut p, field) = region(builder("culprit").check_hand_over(true));
        fill(&mut p, field, 1);
        let at = p.view_mut(field).unwrap().as_mut_ptr();
        // SAFETY: the pointer is to live memory of the field, which is not published yet.
        unsafe { at.write_volatile(2) };
        published(&mut p, 1);
        println!("\nname published");
        // SAFETY: this store is what the test is about. The memory is mapped read-only, so the
        // kernel stops the process.
        unsafe { at.write_volatile(3) };
        println!("\nname written");
    };
    let test = "check_hand_over_makes_stores_to_a_published_field_fault";
    elsewhere(test, inside, |child| {
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(
            said.contains("published") && !said.contains("written"),
            "{said}"
        );
        assert_eq!(out.status.signal(), Some(Signal::SIGSEGV as i32));
    });
}

/// Makes madvise(2) with MADV_POPULATE_WRITE fail in this thread from here on. So it gets no memory
/// for planes, as if the machine had none. Returning memory still works.
fn starve() {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};
    let op = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let (number, advice) = (0, 32); // offsets in seccomp_data: nr, low half of args[2]
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EFAULT as u32;
    let mut program = [
        op(BPF_LD | BPF_W | BPF_ABS, 0, 0, number),
        op(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, libc::SYS_madvise as u32),
        op(BPF_LD | BPF_W | BPF_ABS, 0, 0, advice),
        op(
            BPF_JMP | BPF_JEQ | BPF_K,
            0,
            1,
            libc::MADV_POPULATE_WRITE as u32,
        ),
        op(BPF_RET | BPF_K, 0, 0, refuse),
        op(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the filter is a valid program that lives during the calls. The kernel copies it, and
    // it holds for this thread only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        );
        assert_eq!(set, 0);
    }
}

#[test]
fn without_memory_publish_skips_and_nothing_is_lost() {
    let (mut p, field) = region(builder("starved").versions(6));
    let mut observer = Observer::attach(p.name()).unwrap();
    fill(&mut p, field, 1);
    published(&mut p, 1);
    let first = observer.latest().unwrap();
    // What is left is the version and the spare frames for the next rewrite. These are certain.
    // Other free frames have no memory any more.
    p.trim().unwrap();
    std::thread::scope(|scope| {
        let starved = scope.spawn(|| {
            starve();
            for step in 2..6 {
                fill(&mut p, field, step);
                assert!(matches!(skip(&mut p, step), Skip::NoMemory { .. }));
            }
            let field = p.field::<u8, _>("w", [1 << 20]).handed_over().add();
            let error = field.unwrap_err();
            let told = matches!(error, DefineError::HandOver(HandOverError::NoMemory(_)));
            assert!(told, "{error}");
            assert_eq!(p.stats().held_bytes, 2 * BYTES as u64);
        });
        starved.join().unwrap();
    });
    assert!(all_are(&first, 1));
    published(&mut p, 6);
    assert!(all_are(&observer.latest().unwrap(), 5) && all_are(&first, 1));
    assert!(p.check_store().unwrap());
}

#[test]
fn pages_handed_to_a_version_that_is_given_up_go_into_the_next() {
    let inside = || {
        for begun_anew in [false, true] {
            let deferred = builder("given-up")
                .capture(CaptureMode::Deferred)
                .wait_for_capture(true);
            let (mut p, field) = region(deferred);
            let mut observer = Observer::attach(p.name()).unwrap();
            // This field begins at the first chunk behind `u`, and is one chunk long.
            let plain = p.field::<u64, _>("a", [page_size() * 64]).add().unwrap();
            let single = p.field::<u64, _>("w", [1000]).handed_over().add().unwrap();
            for step in 1..=4 {
                // Chunks are deferred from the second version on. All versions are held, so each
                // takes new memory.
                p.view_mut(plain).unwrap().fill(step);
                fill(&mut p, field, step);
                fill(&mut p, single, step);
                // Copies into new memory fail, but spare planes get their memory.
                run_out_of_memory_after(if step == 4 { 0 } else { u64::MAX });
                let receipt = published(&mut p, step);
                let visible = receipt.wait_visible(Duration::from_secs(20));
                run_out_of_memory_after(u64::MAX);
                if step < 4 {
                    assert_eq!(visible, Ok(true));
                    std::mem::forget(observer.latest().unwrap());
                    continue;
                }
                assert!(receipt.deferred > 0 && visible.is_err(), "{visible:?}");
            }
            if begun_anew {
                fill(&mut p, field, 5);
            }
            let receipt = published(&mut p, 5);
            assert_eq!(receipt.wait_visible(Duration::from_secs(20)), Ok(true));
            assert_eq!(receipt.handed_over, pages() + 2);
            assert!(all_are(
                &observer.latest().unwrap(),
                if begun_anew { 5 } else { 4 }
            ));
            let newest = observer.latest().unwrap().view().unwrap();
            for name in ["a", "w"] {
                assert!(
                    newest.array::<u64>(name).unwrap().iter().all(|x| *x == 4),
                    "{name}"
                );
            }
            assert!(p.check_store().unwrap());
        }
        println!("\nname all");
    };
    let test = "pages_handed_to_a_version_that_is_given_up_go_into_the_next";
    elsewhere(test, inside, |child| {
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && said.contains("name all"), "{said}");
    });
}

#[test]
fn unused_end_of_the_last_chunk_takes_no_memory() {
    let mut p = builder("rest").create().unwrap();
    p.field::<u8, _>("u", [page_size() + 1])
        .handed_over()
        .add()
        .unwrap();
    p.trim().unwrap();
    assert_eq!(p.stats().held_bytes, 2 * page_size() as u64);
    // The next field lies behind the whole chunk.
    let next = p.field::<u8, _>("a", [1]).add().unwrap();
    let at = p.view(next).unwrap().as_ptr() as usize;
    assert_eq!(at - p.base(), 512 * page_size());
}
