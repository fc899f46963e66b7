//! Tests of `watch` in terminals: in tmux, where keys are pressed and the screen is read, and in
//! pseudoterminals that go away.

use crate::blocks::Blocks;
use crate::common::{Victim, bad, command, json, line, name, publish, runtime_dir, until};
use crate::tmux::Tmux;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use tcasm_producer::Producer;
use tcasm_tests::procfs;
use tcasm_view::colormaps::{MAPS, colour};

/// Returns the step that is shown.
fn step(screen: &str) -> u64 {
    let header = screen.lines().next().unwrap_or_default();
    let number = header
        .split("step ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn latest(name: &str) -> u64 {
    json(&["info", name, "--json"])["latest"]["version"]
        .as_u64()
        .unwrap()
}

/// Returns the process that watches, according to the producer.
fn watcher(name: &str) -> Pid {
    let pid = json(&["info", name, "--json"])["observers"][0]["pid"].as_i64();
    Pid::from_raw(pid.unwrap() as i32)
}

#[test]
fn steps_are_shown_live_until_a_pause() {
    let victim = Victim::start("live");
    let tmux = Tmux::watch(&[&victim.name]);
    let screen = tmux.until_it_says("values of height");
    for word in [
        &victim.name,
        "running",
        "height",
        "depth",
        "float64",
        "256 x 256",
        "producer",
    ] {
        assert!(screen.contains(word), "{word} in\n{screen}");
    }
    let first = step(&screen);
    tmux.until("steps go on", |screen| step(screen) > first + 20);
    tmux.press("Space");
    let paused = step(&tmux.until_it_says("PAUSED"));
    let version = latest(&victim.name);
    until("the simulation goes on", || {
        latest(&victim.name) > version + 50
    });
    assert_eq!(step(&tmux.screen()), paused);
    tmux.press("Space");
    tmux.until("steps go on again", |screen| step(screen) > paused + 50);
}

#[test]
fn field_that_is_not_shown_is_not_mapped() {
    const CHUNK: usize = 2 << 20;
    let name = name("unmapped");
    let builder = Producer::builder(&name).capacity(32 << 20);
    let mut producer = builder.create().unwrap();
    let t = producer.field::<f64, _>("t", [1000]).add().unwrap();
    // A terminal cannot show structures.
    let nodes = producer.raw::<u64>("nodes", CHUNK).add().unwrap();
    producer.raw_mut(nodes).unwrap().fill(7);
    publish(&mut producer, t, 1);
    let tmux = Tmux::watch(&[&name]);
    tmux.until_it_says("values of t");
    let planes = format!("tcasm-{name}-plane");
    let pid = watcher(&name).as_raw();
    let mapped = procfs::mapped_bytes(pid, &[" r--s ", &planes]);
    assert!((1..4 * CHUNK).contains(&mapped), "{mapped} bytes");
}

/// Returns the numbers of the colours on the screen. Returns `None` if there are no colours, or
/// colours that are not in the map.
fn numbers(screen: &str, map: usize) -> Option<Vec<u8>> {
    let (_, map) = &MAPS[map];
    let all = screen.split("[38;2;").skip(1);
    let number = |text: &str| {
        let rgb = text
            .split(&[';', 'm'][..])
            .take(3)
            .map(|n| n.parse().unwrap());
        let rgb: Vec<u8> = rgb.collect();
        (0..=u8::MAX).find(|number| colour(map, *number)[..] == rgb)
    };
    all.map(number)
        .collect::<Option<Vec<u8>>>()
        .filter(|all| !all.is_empty())
}

#[test]
fn selected_field_is_drawn_in_colours() {
    let victim = Victim::start("select");
    let tmux = Tmux::watch(&[&victim.name]);
    tmux.until_it_says("height [m]");
    tmux.press("j");
    tmux.until_it_says("depth [m]");
    // The middle of the pond is deepest, its corners are shallowest.
    until("the depth has the colours of viridis", || {
        numbers(&tmux.colours(), 0)
            .is_some_and(|all| all.iter().any(|n| *n < 16) && all.iter().any(|n| *n > 240))
    });
    tmux.press("m");
    tmux.until_it_says("magma");
    until("it has those of magma", || {
        numbers(&tmux.colours(), 1).is_some()
    });
    tmux.press("k");
    tmux.until_it_says("height [m]");
}

#[test]
fn every_size_shows_what_fits() {
    let victim = Victim::start("s");
    let tmux = Tmux::watch(&[&victim.name]);
    tmux.until_it_says("values of height");
    for (width, height) in [
        ("60", "12"),
        ("10", "3"),
        ("2", "1"),
        ("200", "60"),
        ("80", "24"),
    ] {
        tmux.resize(width, height);
        let first = width != "2";
        tmux.until("a state", |screen| {
            screen.contains(if first { "running" } else { "ru" }) || width == "40"
        });
    }
    tmux.until_it_says("values of height");
    tmux.press("q");
    tmux.assert_left(0);
}

#[test]
fn dead_producer_is_reported_and_its_next_run_is_shown() {
    let mut victim = Victim::start("died");
    let tmux = Tmux::watch(&[&victim.name]);
    tmux.until("some steps", |screen| step(screen) > 200);
    victim.kill();
    let screen = tmux.until_it_says(" lost ");
    assert!(
        step(&screen) > 200 && screen.contains('\u{2580}'),
        "{screen}"
    );
    // The last version can still be viewed.
    tmux.press("j");
    tmux.until_it_says("depth [m]");
    let last = step(&tmux.screen());
    victim.restart();
    let screen = tmux.until("the next run", |screen| screen.contains("running"));
    assert!(!screen.contains(" lost "), "{screen}");
    tmux.until("its first steps", |screen| {
        (1..last).contains(&step(screen))
    });
}

#[test]
fn kept_versions_can_be_visited() {
    let name = name("back");
    let (mut p, t) = line(&name, 64);
    for step in [10, 20, 30] {
        publish(&mut p, t, step);
    }
    let tmux = Tmux::watch(&[&name]);
    tmux.until_it_says("3 versions are kept: 1 2 3");
    tmux.press("[");
    tmux.until("version 2", |screen| step(screen) == 20);
    tmux.press("Left");
    tmux.until("version 1", |screen| step(screen) == 10);
    tmux.press("]");
    tmux.until("version 2", |screen| step(screen) == 20);
    publish(&mut p, t, 40);
    tmux.until_it_says("4 versions are kept");
    assert_eq!(step(&tmux.screen()), 20);
    drop(p);
    tmux.until_it_says("ended");
    tmux.press("Space");
    tmux.until("the last version", |screen| step(screen) == 40);
}

#[test]
fn block_that_becomes_unused_is_shown_without_values_until_it_is_used_again() {
    let name = name("unused");
    let mut blocks = Blocks::new(&name);
    for step in [0, 1] {
        blocks.publish(step);
    }
    let tmux = Tmux::watch(&[&name]);
    tmux.until_it_says("values of rho0");
    tmux.press("j");
    tmux.until_it_says("values of rho1");
    blocks.publish(2);
    tmux.until_it_says("no values in this version");
    blocks.publish(3);
    tmux.until("the block is used again", |screen| {
        step(screen) == 3 && !screen.contains("no values in this version")
    });
}

#[test]
fn watch_waits_for_a_missing_region_unless_no_wait() {
    let name = name("later");
    let tmux = Tmux::watch(&[&name, "--no-wait"]);
    let screen = tmux.until_it_says("status 3");
    assert!(screen.contains("TCASM_RUNTIME_DIR"), "{screen}");
    let tmux = Tmux::watch(&[&name, "--timeout", "0.5"]);
    let screen = tmux.until_it_says("status 3");
    assert!(screen.contains("waiting"), "{screen}");
    let tmux = Tmux::watch(&[&name]);
    tmux.until_it_says("waiting");
    let (mut p, t) = line(&name, 64);
    tmux.until_it_says("no version is published yet");
    publish(&mut p, t, 10);
    tmux.until("the first step", |screen| step(screen) == 10);
}

#[test]
fn keys_and_signals_end_watch_and_the_terminal_is_restored() {
    let victim = Victim::start("quit");
    for key in ["q", "Escape", "C-c"] {
        let tmux = Tmux::watch(&[&victim.name]);
        tmux.until_it_says("values of height");
        tmux.press(key);
        tmux.assert_left(0);
    }
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        until("nobody looks", || {
            json(&["info", &victim.name, "--json"])["observers"]
                .as_array()
                .unwrap()
                .is_empty()
        });
        let tmux = Tmux::watch(&[&victim.name]);
        tmux.until_it_says("values of height");
        kill(watcher(&victim.name), signal).unwrap();
        tmux.assert_left(0);
    }
}

#[test]
fn watch_can_be_suspended_and_continued() {
    let victim = Victim::start("stop");
    let tmux = Tmux::run("sh -i");
    let watch = format!("{} watch {}", env!("CARGO_BIN_EXE_tcasm"), victim.name);
    // Keys that come before the first output would be echoed above it.
    tmux.until_it_says("before");
    tmux.command(&["send-keys", &watch, "Enter"]);
    tmux.until_it_says("values of height");
    tmux.press("C-z");
    tmux.until("the shell", |screen| {
        screen.starts_with("before\n") && screen.contains("Stopped")
    });
    tmux.command(&["send-keys", "fg", "Enter"]);
    let screen = tmux.until_it_says("values of height");
    tmux.until("steps go on", |now| step(now) > step(&screen));
}

/// Runs `tcasm watch` in a terminal from which nobody reads. No other process has it open, so it
/// goes away when the returned master is dropped.
pub fn in_bare_terminal(name: &str) -> (PtyMaster, Child) {
    let own = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let master = posix_openpt(own).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let slave = nix::fcntl::open(ptsname_r(&master).unwrap().as_str(), own, Mode::empty()).unwrap();
    let end = || Stdio::from(slave.try_clone().unwrap());
    let mut stty = Command::new("stty");
    stty.args(["cols", "120", "rows", "40"]).stdin(end());
    assert!(stty.status().unwrap().success());
    let mut command = command(&["watch", name]);
    command.stdin(end()).stdout(end()).stderr(end());
    (master, command.spawn().unwrap())
}

/// Returns true if the main thread is blocked in `write`.
fn is_writing(child: &Child) -> bool {
    let pid = child.id();
    let call = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/syscall")).unwrap();
    call.starts_with(&format!("{} ", nix::libc::SYS_write))
}

fn assert_ends(mut child: Child, code: i32) {
    let mut status = None;
    until("it ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(code), "{status:?}");
}

/// Reads the output until it contains `word` and then pauses for 300 ms.
fn read_until_quiet(master: &mut PtyMaster, word: &str) {
    let mut drawn = Vec::new();
    until(word, || {
        let mut some = [0; 4096];
        let mut there = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
        if poll(&mut there, 300_u16).unwrap() == 0 {
            return String::from_utf8_lossy(&drawn).contains(word);
        }
        let count = master.read(&mut some).unwrap();
        drawn.extend_from_slice(&some[..count]);
        false
    });
}

#[test]
fn watch_ends_with_its_terminal_when_nothing_is_drawn() {
    let name = name("gone");
    let (mut p, t) = line(&name, 64);
    publish(&mut p, t, 10);
    let (mut master, mut child) = in_bare_terminal(&name);
    read_until_quiet(&mut master, "running");
    drop(p);
    read_until_quiet(&mut master, "ended");
    // This is not the controlling terminal of the process, so no signal arrives.
    drop(master);
    until("it ends", || child.try_wait().unwrap().is_some());
}

#[test]
fn blocked_terminal_does_not_keep_watch_from_ending() {
    let victim = Victim::start("stuck");
    let (_master, child) = in_bare_terminal(&victim.name);
    until("it is blocked in a write", || is_writing(&child));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_ends(child, 0);
}

#[test]
fn watch_without_a_terminal_names_the_alternative() {
    let victim = Victim::start("pipe");
    let error = bad(&["watch", &victim.name], 2);
    assert!(error.contains("tcasm info --watch"), "{error}");
    bad(&["watch", &victim.name, "--rate", "0"], 2);
}
