//! Device memory that processes open by handles, with a driver that has no GPU. No GPU is used.

use std::path::PathBuf;
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::fake_cuda;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cuda_ipc");
const BYTES: usize = 3 << 20;

/// A folder with a driver.
struct World {
    dir: TempDir,
}

/// Drivers since CUDA 11, which count how often memory is open, and drivers before.
const DRIVERS: [&[&str]; 2] = [&[], &["-DOLD_DRIVER"]];

impl World {
    fn new(definitions: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        fake_cuda::compile(dir.path(), definitions);
        World { dir }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a process with these limits and settings, which writes its own log.
    fn start(&self, name: &str, limits: [&str; 2], more: &[(&str, &str)]) -> Child {
        let (folder, log) = (self.dir.path(), self.log(name));
        let mut settings = vec![
            ("LD_LIBRARY_PATH", folder.to_str().unwrap()),
            ("FAKE_CUDA_LOG", log.to_str().unwrap()),
        ];
        settings.extend(more);
        let child = Child::start(PROGRAM, &limits, folder, &settings);
        child.hear_line("ok");
        child
    }

    /// Starts an owner and a peer that keeps everything.
    fn pair(&self) -> [Child; 2] {
        ["owner", "peer"].map(|name| self.start(name, ["true", "0"], &[]))
    }

    /// Returns the calls of a process that open and close memory.
    fn opens(&self, name: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.log(name)).unwrap_or_default();
        let names = log.lines().filter_map(|line| line.split(' ').next());
        let own = names.filter(|name| name.starts_with("open") || name.starts_with("close"));
        own.map(String::from).collect()
    }
}

/// Returns the answer to a command.
fn ask(child: &mut Child, line: &str) -> String {
    answer(child, line, "ok ")
}

/// Returns the reason why a command fails.
fn fails(child: &mut Child, line: &str) -> String {
    answer(child, line, "error ")
}

fn answer(child: &mut Child, line: &str, beginning: &str) -> String {
    child.send(line);
    let answer = child.hear_line("");
    let rest = answer.strip_prefix(beginning).map(String::from);
    rest.unwrap_or_else(|| panic!("{line}: {answer}"))
}

/// Allocates memory with this value, and returns its address and its description.
fn exported(owner: &mut Child, bytes: usize, value: u8) -> (String, String) {
    let at = ask(owner, &format!("alloc {bytes}"));
    ask(owner, &format!("fill {at} {bytes} {value}"));
    let text = ask(owner, &format!("export {at} {bytes}"));
    (at, text)
}

/// Returns the length of opened memory, its first and last byte, and whether it is current.
fn look(peer: &mut Child, memory: &str) -> String {
    ask(peer, &format!("look {memory}"))
}

#[test]
fn two_processes_have_one_memory_and_the_second_request_opens_nothing() {
    for driver in DRIVERS {
        let world = World::new(driver);
        let [mut owner, mut peer] = world.pair();
        let (at, text) = exported(&mut owner, BYTES, 7);
        let first = ask(&mut peer, &format!("open 1 {text}"));
        assert_eq!(look(&mut peer, &first), format!("{BYTES} 7 7 true"));
        ask(&mut peer, &format!("write {first} 9"));
        assert_eq!(ask(&mut owner, &format!("at {at}")), "9");
        ask(&mut peer, &format!("release {first}"));
        // A part of the same allocation, not from its beginning.
        let inside = u64::from_str_radix(&at, 16).unwrap() + 1000;
        ask(&mut owner, &format!("fill {inside:x} 500 4"));
        let part = ask(&mut owner, &format!("export {inside:x} 500"));
        let second = ask(&mut peer, &format!("open 1 {part}"));
        assert_eq!(look(&mut peer, &second), "500 4 4 true");
        assert_eq!(ask(&mut peer, "stats"), "1 1 0 0 1 0");
        assert_eq!(world.opens("peer"), ["open"]);
        // Memory in use outlives the cache.
        assert_eq!(ask(&mut peer, "end"), "ended");
        assert_eq!(world.opens("peer"), ["open"]);
        assert_eq!(ask(&mut peer, &format!("release {second}")), "released");
        assert_eq!(world.opens("peer"), ["open", "close"]);
    }
}

#[test]
fn memory_that_was_freed_and_allocated_again_at_its_address_is_never_a_hit() {
    for driver in DRIVERS {
        let world = World::new(driver);
        let [mut owner, mut peer] = world.pair();
        // The same length, a larger one, a smaller one.
        let mut address = None;
        for (n, bytes) in [BYTES, BYTES, 2 * BYTES, BYTES].into_iter().enumerate() {
            let value = 10 + n as u8;
            let (at, text) = exported(&mut owner, bytes, value);
            assert_eq!(*address.get_or_insert(at.clone()), at);
            for _ in 0..2 {
                let memory = ask(&mut peer, &format!("open 1 {text}"));
                let seen = look(&mut peer, &memory);
                assert_eq!(seen, format!("{bytes} {value} {value} true"));
                ask(&mut peer, &format!("release {memory}"));
            }
            ask(&mut owner, &format!("free {at}"));
        }
        assert_eq!(ask(&mut peer, "stats"), "4 4 0 3 1 1");
        // A stale handle is closed before other memory is opened.
        let expected = ["open", "close", "open", "close", "open", "close", "open"];
        assert_eq!(world.opens("peer"), expected);
    }
}

#[test]
fn stale_memory_in_use_stays_until_it_is_released() {
    for driver in DRIVERS {
        let world = World::new(driver);
        let [mut owner, mut peer] = world.pair();
        let (at, text) = exported(&mut owner, BYTES, 1);
        let old = ask(&mut peer, &format!("open 1 {text}"));
        ask(&mut owner, &format!("free {at}"));
        let (_, text) = exported(&mut owner, BYTES, 2);
        if driver.is_empty() {
            let new = ask(&mut peer, &format!("open 1 {text}"));
            assert_eq!(look(&mut peer, &new), format!("{BYTES} 2 2 true"));
        } else {
            let error = fails(&mut peer, &format!("open 1 {text}"));
            let why = "memory of it that is in use (CUDA error 208 (CUDA_ERROR_ALREADY_MAPPED))";
            assert!(error.contains(why), "{error}");
        }
        let seen = look(&mut peer, &old);
        assert_eq!(
            seen,
            format!("{BYTES} 1 1 false"),
            "its memory is there, but not current"
        );
        ask(&mut peer, &format!("release {old}"));
        let new = ask(&mut peer, &format!("open 1 {text}"));
        assert_eq!(look(&mut peer, &new), format!("{BYTES} 2 2 true"));
        let opens = world.opens("peer");
        let expected: &[&str] = match driver {
            [] => &["open", "open", "close"],
            _ => &["open", "close", "open"],
        };
        assert_eq!(opens, expected);
    }
}

#[test]
fn two_peers_with_memory_at_one_address_are_not_mistaken_for_each_other() {
    let world = World::new(&[]);
    let [mut owner, mut peer] = world.pair();
    let mut other = world.start("other", ["true", "0"], &[]);
    let (at, text) = exported(&mut owner, BYTES, 1);
    let (other_at, other_text) = exported(&mut other, BYTES, 2);
    assert_eq!(at, other_at);
    // The second number stands for both processes in turn, as after a restart.
    for (number, text, value) in [(1, &text, 1), (2, &other_text, 2), (2, &text, 1)] {
        let memory = ask(&mut peer, &format!("open {number} {text}"));
        let seen = look(&mut peer, &memory);
        assert_eq!(seen, format!("{BYTES} {value} {value} true"));
        ask(&mut peer, &format!("release {memory}"));
    }
    assert_eq!(ask(&mut peer, "stats"), "0 3 0 1 2 2");
    assert_eq!(world.opens("peer"), ["open", "open", "close", "open-again"]);
}

#[test]
fn limits_and_a_driver_without_room_close_what_was_not_used_for_longest() {
    let world = World::new(&[]);
    let mut owner = world.start("owner", ["true", "0"], &[]);
    let texts: Vec<String> = (0..3).map(|n| exported(&mut owner, BYTES, n).1).collect();
    let most_open = [("FAKE_CUDA_MOST_OPEN", "2")];
    for (name, most, settings) in [("limited", "2", &[][..]), ("small", "0", &most_open)] {
        let mut peer = world.start(name, ["true", most], settings);
        for text in &texts {
            let memory = ask(&mut peer, &format!("open 1 {text}"));
            ask(&mut peer, &format!("release {memory}"));
        }
        assert_eq!(ask(&mut peer, "stats"), "0 3 1 0 2 2", "{name}");
        assert_eq!(world.opens(name), ["open", "open", "close", "open"]);
        for n in [1, 2] {
            ask(&mut peer, &format!("open 1 {}", texts[n]));
        }
        let error = fails(&mut peer, &format!("open 1 {}", texts[0]));
        let why = match most {
            "0" => "in use (CUDA error 2 (CUDA_ERROR_OUT_OF_MEMORY))",
            _ => "the cache is full: 2 allocations of peer 1 with 6291456 bytes are in use",
        };
        assert!(error.contains(why), "{error}");
        assert_eq!(ask(&mut peer, "stats"), "2 3 1 0 2 0");
    }
}

#[test]
fn without_leave_pinned_memory_is_closed_with_its_last_user() {
    let world = World::new(&["-DOLD_DRIVER"]);
    let mut owner = world.start("owner", ["true", "0"], &[]);
    let (_, text) = exported(&mut owner, BYTES, 1);
    let mut peer = world.start("peer", ["false", "0"], &[]);
    for round in 1..3 {
        let both = [0, 1].map(|_| ask(&mut peer, &format!("open 1 {text}")));
        assert_eq!(world.opens("peer").len(), 2 * round - 1);
        for memory in both {
            ask(&mut peer, &format!("release {memory}"));
        }
        assert_eq!(world.opens("peer").len(), 2 * round);
    }
}

#[test]
fn memory_that_cannot_be_exported_or_opened_is_an_error_with_the_reason() {
    let world = World::new(&[]);
    let [mut owner, mut peer] = world.pair();
    let (at, text) = exported(&mut owner, BYTES, 1);
    let (beyond, cut) = (BYTES + 1, &text[..text.len() - 2]);
    let cases = [
        (
            format!("export {at} {beyond}"),
            "are not in the allocation of 3145728 bytes",
        ),
        (format!("export {at} 0"), "0 bytes at"),
        (
            "export 1000 10".into(),
            "cuMemGetAddressRange refused 10 bytes at 0x1000: CUDA error 500",
        ),
        (
            format!("open 1 {text}"),
            "this process has exported the memory",
        ),
    ];
    for (line, why) in cases {
        let error = fails(&mut owner, &line);
        assert!(error.contains(why), "{line}: {error}");
    }
    let error = fails(&mut peer, &format!("open 1 {cut}"));
    assert!(error.contains("has 128 bytes, and not 127"), "{error}");
    ask(&mut owner, &format!("free {at}"));
    let freed = "cuIpcOpenMemHandle refused 3145728 bytes";
    let error = fails(&mut peer, &format!("open 1 {text}"));
    assert!(
        error.contains(freed) && error.contains("CUDA_ERROR_INVALID_HANDLE"),
        "{error}"
    );
    assert_eq!(ask(&mut peer, "stats"), "0 0 0 0 0 0");
    assert_eq!(world.opens("peer"), [""; 0]);
}

#[test]
fn owner_that_dies_leaves_what_is_open_and_is_forgotten() {
    let world = World::new(&[]);
    let [mut owner, mut peer] = world.pair();
    let (_, text) = exported(&mut owner, BYTES, 5);
    let (_, unused) = exported(&mut owner, BYTES, 6);
    let held = ask(&mut peer, &format!("open 1 {text}"));
    let other = ask(&mut peer, &format!("open 1 {unused}"));
    ask(&mut peer, &format!("release {other}"));
    owner.kill();
    ask(&mut peer, "forget 1");
    assert_eq!(world.opens("peer"), ["open", "open", "close"]);
    assert_eq!(look(&mut peer, &held), format!("{BYTES} 5 5 false"));
    ask(&mut peer, &format!("release {held}"));
    assert_eq!(world.opens("peer").len(), 4);
    let error = fails(&mut peer, &format!("open 1 {text}"));
    assert!(error.contains("CUDA_ERROR_INVALID_HANDLE"), "{error}");
    assert_eq!(ask(&mut peer, "stats"), "0 2 0 2 0 0");
}

#[test]
fn forked_child_opens_and_closes_nothing() {
    let world = World::new(&[]);
    let [mut owner, mut peer] = world.pair();
    let (_, text) = exported(&mut owner, BYTES, 5);
    let held = ask(&mut peer, &format!("open 1 {text}"));
    let before = std::fs::read(world.log("peer")).unwrap();
    assert_eq!(ask(&mut peer, &format!("fork {text}")), "true");
    assert_eq!(std::fs::read(world.log("peer")).unwrap(), before);
    assert_eq!(look(&mut peer, &held), format!("{BYTES} 5 5 true"));
}

#[test]
fn host_memory_is_registered_with_a_device_and_given_back() {
    let world = World::new(&[]);
    let mut process = world.start("process", ["true", "0"], &[]);
    // This driver's addresses of the device are greater by one.
    assert_eq!(ask(&mut process, "register"), "1 true");
    let names = ["register", "unregister", "release"];
    // The thread that follows the address space may be the last to let go.
    poll_until("each call was made once", || {
        let calls = fake_cuda::calls(&world.log("process"), names);
        assert!(calls.iter().all(|count| *count <= 1), "{calls:?}");
        (calls == [1, 1, 1]).then_some(())
    });
}
