//! Tests of `tcasm mirror`. Another runtime folder stands for the other machine.

use crate::common::{Background, Run, Victim, bad, command, good, line, name, publish, until};
use crate::groups::Ranks;
use crate::lost::Program;
use crate::meshes::region;
use crate::view::Served;
use nix::sys::signal::Signal;
use std::io::Write;
use std::process::Command;
use tempfile::TempDir;

/// The machine with the mirror.
struct Elsewhere(TempDir);

impl Elsewhere {
    fn new() -> Elsewhere {
        Elsewhere(TempDir::new().unwrap())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("TCASM_RUNTIME_DIR", self.0.path());
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        self.command(args).output().unwrap().into()
    }

    /// Mirrors what `view` shows, or the region or group `name` there.
    fn mirror(&self, view: &Served, name: &[&str]) -> Background {
        let args = [&["mirror", view.address()], name].concat();
        let mut mirror = Background::interactive(self.command(&args));
        let said = mirror.read_line();
        if !said.starts_with("mirrors ") {
            panic!("{said}{:?}", mirror.end());
        }
        mirror
    }

    /// Waits until the mirror has this step, and returns what is printed about a field.
    fn stats(&self, name: &str, field: &str, step: u64) -> serde_json::Value {
        let mut found = serde_json::Value::Null;
        until("the mirror has the step", || {
            let run = self.run(&["stats", name, field, "--json"]);
            found = serde_json::from_str(&run.out).unwrap_or_default();
            found["step"] == step
        });
        found
    }
}

#[test]
fn mirror_has_the_bytes_of_each_version_and_ends_with_the_producer() {
    let (name, elsewhere) = (name("mirrored"), Elsewhere::new());
    let (mut producer, field) = line(&name, 300_000);
    publish(&mut producer, field, 10);
    let view = Served::start(&[&name, "--port", "0"]);
    let mirror = elsewhere.mirror(&view, &[]);
    elsewhere.stats(&name, "t", 10);
    for step in 11..20 {
        let mut values = producer.view_mut(field).unwrap();
        values[(step as usize * 7919) % 300_000] = step as f64;
        producer.publish(step, 0.5).unwrap();
        elsewhere.stats(&name, "t", step);
        let dump = ["dump", &name, "t", "--raw", "-"];
        assert!(good(&dump).bytes == elsewhere.run(&dump).bytes, "{step}");
    }
    drop(producer);
    let run = mirror.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(elsewhere.run(&["stats", &name, "t"]).code, 3);
}

#[test]
fn mirror_of_a_producer_that_is_killed_says_so() {
    let (mut victim, elsewhere) = (Victim::start("mirrored-victim"), Elsewhere::new());
    let view = Served::start(&[&victim.name, "--port", "0"]);
    let mirror = elsewhere.mirror(&view, &[]);
    victim.kill();
    let run = mirror.end();
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("the producer is lost"), "{run:?}");
}

#[test]
fn mirror_of_a_view_that_is_killed_or_ends_says_so() {
    let (name, elsewhere) = (name("unviewed"), Elsewhere::new());
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let view = Served::start(&[&name, "--port", "0"]);
        let mirror = elsewhere.mirror(&view, &[]);
        view.program.signal(signal);
        let run = mirror.end();
        assert_eq!(run.code, 10, "{run:?}");
        assert!(run.err.contains("start this command again"), "{run:?}");
    }
}

#[test]
fn signals_end_a_mirror_with_status_0_and_its_region() {
    let (name, elsewhere) = (name("interrupted"), Elsewhere::new());
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let view = Served::start(&[&name, "--port", "0"]);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mirror = elsewhere.mirror(&view, &[]);
        elsewhere.stats(&name, "t", 10);
        mirror.signal(signal);
        let run = mirror.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        assert_eq!(elsewhere.run(&["stats", &name, "t"]).code, 3);
    }
    // The simulation and the view have noticed nothing.
    publish(&mut producer, field, 11);
    let mirror = elsewhere.mirror(&view, &[]);
    elsewhere.stats(&name, "t", 11);
    drop(mirror);
}

#[test]
fn group_is_mirrored_with_all_its_ranks() {
    let (group, elsewhere) = (name("mirrored-ranks"), Elsewhere::new());
    let mut ranks = Ranks::new(&group);
    ranks.publish_all(1);
    let view = Served::start(&[&group, "--port", "0"]);
    let mirror = elsewhere.mirror(&view, &[&group]);
    mirror.signal(Signal::SIGTERM);
    assert_eq!(mirror.end().code, 0);
    // Without a name, it is what the view shows.
    let mirror = elsewhere.mirror(&view, &[]);
    for step in 2..6 {
        ranks.publish_all(step);
        let found = elsewhere.stats(&group, "u", step);
        let here = good(&["stats", &group, "u", "--json"]);
        let here: serde_json::Value = serde_json::from_str(&here.out).unwrap();
        assert_eq!(found, here);
        elsewhere.stats(&group, "list", step);
    }
    drop(ranks);
    let run = mirror.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

#[test]
fn meshes_and_lengths_are_mirrored() {
    let (name, elsewhere) = (name("mirrored-meshes"), Elsewhere::new());
    let (mut producer, atoms, x) = region(&name);
    let mut publish = |step: u64, length| {
        producer.set_len(atoms, length).unwrap();
        producer.view_mut(x).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
    };
    publish(1, 7);
    let view = Served::start(&[&name, "--port", "0"]);
    let _mirror = elsewhere.mirror(&view, &[]);
    for (step, length) in [(2, 0), (3, 100), (4, 99)] {
        publish(step, length);
        elsewhere.stats(&name, "rho", step);
        let here = good(&["info", &name, "--json"]).out;
        let there = elsewhere.run(&["info", &name, "--json"]).out;
        let [here, there] = [here, there].map(|text| {
            let info: serde_json::Value = serde_json::from_str(&text).unwrap();
            info["meshes"].clone()
        });
        assert_eq!(here, there, "step {step}");
        let dump = ["dump", &name, "x", "--raw", "-"];
        let bytes = elsewhere.run(&dump).bytes;
        assert_eq!(bytes.len(), length * 24, "step {step}");
        assert!(good(&dump).bytes == bytes, "step {step}");
    }
}

#[test]
fn field_that_is_lost_is_not_in_the_mirror() {
    let (name, elsewhere) = (name("mirrored-loss"), Elsewhere::new());
    let mut program = Program::new(&name);
    program.publish(1);
    let view = Served::start(&[&name, "--port", "0"]);
    let _mirror = elsewhere.mirror(&view, &[]);
    elsewhere.stats(&name, "u", 1);
    program.unmap();
    program.publish(2);
    elsewhere.stats(&name, "t", 2);
    let run = elsewhere.run(&["stats", &name, "u"]);
    assert_eq!(run.code, 7, "{run:?}");
}

#[test]
fn what_cannot_be_mirrored_has_its_own_status() {
    let (name, elsewhere) = (name("unmirrored"), Elsewhere::new());
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let view = Served::start(&[&name, "--port", "0"]);
    let url = view.address();
    let (place, token) = url.split_once("/#token=").unwrap();
    let digit = if token.starts_with('0') { '1' } else { '0' };
    let other = format!("{place}/#token={digit}{}", &token[1..]);
    let told = bad(&["mirror", &other], 5);
    assert!(told.contains("does not know this token"), "{told}");
    let told = bad(&["mirror", url, "no-such-region"], 3);
    assert!(told.contains("no-such-region"), "{told}");
    let told = bad(&["mirror", url, "a/b"], 5);
    assert!(told.contains("not usable"), "{told}");
    let nobody = format!("http://127.0.0.1:1/#token={token}");
    let told = bad(&["mirror", &nobody], 10);
    assert!(told.contains("whether `tcasm view` runs there"), "{told}");
    for wrong in [place, token, "", "https://127.0.0.1:8337/#token=00"] {
        bad(&["mirror", wrong], 2);
    }
    // On the same machine, the name is taken.
    let told = bad(&["mirror", url], 1);
    assert!(told.contains("cannot create the mirror region"), "{told}");
    drop(elsewhere);
}

#[test]
fn address_is_read_from_standard_input() {
    let (name, elsewhere) = (name("told"), Elsewhere::new());
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let view = Served::start(&[&name, "--port", "0"]);
    let mut mirror = Background::interactive(elsewhere.command(&["mirror", "-"]));
    let mut input = mirror.child().stdin.take().unwrap();
    writeln!(input, "{}", view.address()).unwrap();
    assert!(mirror.read_line().starts_with("mirrors "));
    elsewhere.stats(&name, "t", 10);
}
