//! Control characters in text from regions and files: no command prints them unescaped.

use crate::checkpoint::attached;
use crate::common::{Background, Run, command, name, publish, tcasm, until};
use crate::watch::in_bare_terminal;
use hdf5::types::VarLenUnicode;
use ndarray::Ix1;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::Signal;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_producer::{DType, Field, FieldDesc, Kind, Producer};
use xxhash_rust::xxh3::xxh3_64;

/// Returns true if a terminal interprets the character. The list does not use the code of the
/// command, so that it can check that.
fn is_bad(c: char) -> bool {
    let c = u32::from(c);
    let direction = [0x61c, 0x200e, 0x200f].contains(&c) || (0x202a..=0x202e).contains(&c);
    c < 0x20 || (0x7f..0xa0).contains(&c) || direction || (0x2066..=0x2069).contains(&c)
}

/// Returns all such characters, each after a letter, without NUL, which strings in HDF5 cannot
/// hold.
fn hostile() -> String {
    let all = (1..0x2070)
        .filter_map(char::from_u32)
        .filter(|c| is_bad(*c));
    all.map(|c| format!("Q{c}")).collect::<String>() + "Q\x1b]0;owned\x07\nforged line"
}

/// Returns a shorter text, for names of files.
fn hostile_name() -> &'static str {
    "Q\x1b[31m\x07\r\nQ\u{9b}2J\u{202e}\x7f"
}

fn assert_plain(what: &str, text: &str) {
    let raw = text.chars().find(|c| is_bad(*c) && *c != '\n');
    assert_eq!(raw, None, "{what} prints it unescaped: {text:?}");
    let forged = text.lines().find(|line| line.starts_with("forged line"));
    assert_eq!(forged, None, "{what} prints a forged line: {text:?}");
}

/// Runs the command, which may fail, and checks that its output has no control characters.
fn checked(args: &[&OsStr]) -> Run {
    let run: Run = command(&[]).args(args).output().unwrap().into();
    check(&format!("{args:?}"), &run);
    run
}

fn check(what: &str, run: &Run) {
    assert_plain(what, &run.out);
    assert_plain(what, &run.err);
    assert!(run.code >= 0, "{what}: {run:?}");
}

fn told(args: &[&str], part: &str) {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let run = checked(&args);
    let all = run.out.clone() + &run.err;
    assert!(all.contains(part), "{args:?} does not print it: {run:?}");
}

/// Creates a region in which every string is hostile.
fn region(name: &str) -> (Producer, Field<f64, Ix1>) {
    let bad = hostile();
    let builder = Producer::builder(name).capacity(1 << 16);
    let builder = builder.versions(64).history(60);
    let mut producer = builder.attr(&bad, bad.as_str()).create().unwrap();
    let field = producer.field::<f64, _>("t", [64]).unit(&bad);
    let field = field.attr(&bad, bad.as_str()).add().unwrap();
    producer.define(&structures(&bad)).unwrap();
    publish(&mut producer, field, 10);
    (producer, field)
}

/// Creates a region of particles, in which every string is hostile that can be.
fn particles(name: &str) -> Producer {
    let bad = hostile();
    let mut p = Producer::builder(name).capacity(1 << 16).create().unwrap();
    let x = p.field::<f64, _>("x", [4, 3]).vector().unit(&bad);
    let x = x.add().unwrap();
    let dots = p.particles("dots", &x).attr(&bad, bad.as_str());
    let dots = dots.add().unwrap();
    let mass = p.field::<f64, _>("mass", [4]).on(&dots).unit(&bad);
    mass.attr(&bad, bad.as_str()).add().unwrap();
    p.publish(10, 0.1).unwrap();
    p
}

/// Describes raw structures of a type that is called `type_name`.
fn structures(type_name: &str) -> FieldDesc {
    let mut desc = FieldDesc::new("nodes", DType::U8, &[3]);
    desc.components = 8;
    desc.offset = 1 << 14;
    desc.kind = Kind::Raw {
        type_name: type_name.to_owned(),
        align: 8,
    };
    desc
}

const ESCAPED: &str = r"Q\u{1b}";

#[test]
fn every_command_escapes_strings_of_a_region() {
    let name = name("escapes");
    let (_producer, _) = region(&name);
    told(&["info", &name], ESCAPED);
    told(&["info", &name, "--json"], r"Q\u001b");
    told(&["stats", &name, "t"], ESCAPED);
    told(&["stats", &name, "t", "--json"], r"Q\u001b");
    told(&["dump", &name, "t"], "float64");
    told(&["dump", &name, "nodes"], ESCAPED);
    told(&["dump", &name, "nodes", "--npy", "-"], ESCAPED);
    told(&["dump", &name, "nodes", "--slice", "0"], ESCAPED);
    told(&["stats", &name, "nodes"], ESCAPED);
    told(&["stats", &name, "nodes", "--slice", "0"], ESCAPED);
    told(&["ls"], &name);
    told(&["ls", "--json"], &name);
    let run = tcasm(&["info", &name, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(info["fields"][0]["unit"], json!(hostile()));
    // Fields and regions with hostile names that do not exist.
    for args in [
        ["stats", &name],
        ["dump", &name],
        ["stats", "\u{202e}no"],
        ["info", "\x1b"],
    ] {
        checked(&[args[0].as_ref(), args[1].as_ref(), hostile_name().as_ref()]);
    }
}

#[test]
fn every_command_escapes_strings_of_a_mesh() {
    let name = name("escapes-mesh");
    let _producer = particles(&name);
    told(&["info", &name], ESCAPED);
    let run = tcasm(&["info", &name, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(info["meshes"][0]["attrs"][hostile()], json!(hostile()));
    check("info --json", &run);
    told(&["stats", &name, "mass"], ESCAPED);
    told(&["dump", &name, "mass"], "float64");
    let own = tempfile::tempdir().unwrap();
    for file in ["one.vtkhdf", "one.h5"] {
        let file = own.path().join(file);
        let file = file.to_str().unwrap();
        told(&["export", &name, file], "wrote ");
        told(&["verify", file], "step 10");
    }
}

#[test]
fn watch_draws_no_control_characters() {
    let (name, mesh) = (name("escapes-watch"), name("escapes-watch-mesh"));
    let _producers = (region(&name), particles(&mesh));
    draws_no_control_characters(&name);
    draws_no_control_characters(&mesh);
}

/// Checks what `tcasm watch` draws of a region whose units are hostile.
fn draws_no_control_characters(name: &str) {
    let (mut master, mut child) = in_bare_terminal(name);
    let mut drawn = Vec::new();
    until("it draws", || {
        let mut there = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
        if poll(&mut there, 300_u16).unwrap() == 0 {
            return String::from_utf8_lossy(&drawn).contains("running");
        }
        let mut some = [0; 4096];
        let count = master.read(&mut some).unwrap();
        drawn.extend_from_slice(&some[..count]);
        false
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let drawn = String::from_utf8_lossy(&drawn);
    assert!(drawn.contains('Q'), "the unit is drawn: {drawn:?}");
    // The sequences of the program itself begin with ESC; none of them sets a title.
    let obeyed = |c: char| is_bad(c) && !['\x1b', '\r', '\n'].contains(&c);
    assert_eq!(drawn.chars().find(|c| obeyed(*c)), None, "{drawn:?}");
    assert!(!drawn.contains("\x1b]0;"), "{drawn:?}");
}

#[test]
fn names_of_programs_that_observe_are_escaped() {
    let name = name("escapes-program");
    let (_producer, _) = region(&name);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("Q\x1b[31m\n\u{9b}");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tcasm"), &program).unwrap();
    let mut observer = Command::new(&program);
    observer.args(["info", &name, "--watch", "--json"]);
    let observer = Background::from(observer);
    attached(&name, observer.pid());
    let run = checked(&["info".as_ref(), name.as_ref()]);
    assert!(run.out.contains(r"Q\u{1b}[31m\n\u{9b}"), "{run:?}");
    let run = checked(&["info".as_ref(), name.as_ref(), "--json".as_ref()]);
    let info: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let mut rows = info["observers"].as_array().unwrap().iter();
    let row = rows.find(|row| row["pid"] == observer.pid()).unwrap();
    assert_eq!(row["program"], "Q\x1b[31m\n\u{9b}");
}

/// Creates a folder with a hostile name.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join(hostile_name());
    fs::create_dir(&folder).unwrap();
    (own, folder)
}

#[test]
fn every_command_escapes_names_of_files() {
    let name = name("escapes-files");
    let (mut producer, t) = region(&name);
    let (_own, folder) = folder();
    let file = folder.join("out.vtkhdf");
    let run = checked(&["export".as_ref(), name.as_ref(), file.as_ref()]);
    assert!(run.out.contains(r"Q\u{1b}[31m"), "{run:?}");
    checked(&[
        "dump".as_ref(),
        name.as_ref(),
        "t".as_ref(),
        "--raw".as_ref(),
        folder.as_ref(),
    ]);
    checked(&[
        "export".as_ref(),
        name.as_ref(),
        "/\x1b/none.vtkhdf".as_ref(),
    ]);
    let checkpoints = folder.join("tier");
    fs::create_dir(&checkpoints).unwrap();
    let mut keep = command(&["checkpoint", &name, "--every", "1", "--fast"]);
    keep.arg(&checkpoints);
    let keep = Background::from(keep);
    let mut step = 20;
    until("it writes", || {
        step += 10;
        publish(&mut producer, t, step);
        fs::read_dir(&checkpoints)
            .unwrap()
            .flatten()
            .any(|entry| entry.path().extension().is_some_and(|e| e == "vtkhdf"))
    });
    keep.signal(Signal::SIGTERM);
    let run = keep.end();
    check("checkpoint", &run);
    assert!(run.out.contains(r"Q\u{1b}[31m"), "{run:?}");
    let restored = folder.join("restored.vtkhdf");
    let run = checked(&[
        "restore".as_ref(),
        checkpoints.as_ref(),
        "--out".as_ref(),
        restored.as_ref(),
    ]);
    assert!(run.out.contains(r"Q\u{1b}[31m"), "{run:?}");
    let run = checked(&["verify".as_ref(), checkpoints.as_ref(), folder.as_ref()]);
    assert!(
        (run.out.clone() + &run.err).contains(r"Q\u{1b}[31m"),
        "{run:?}"
    );
    checked(&["checkpoints".as_ref(), checkpoints.as_ref()]);
    checked(&["checkpoints".as_ref(), folder.join("none").as_ref()]);
    checked(&[
        "view".as_ref(),
        name.as_ref(),
        "--socket".as_ref(),
        folder.as_ref(),
    ]);
    checked(&["info".as_ref(), name.as_ref(), OsStr::new("--\x1b[31m")]);
}

/// Replaces every string attribute of a file and of its groups and datasets.
fn spoil(file: &Path) -> usize {
    let file = hdf5::File::open_rw(file).unwrap();
    let bad: VarLenUnicode = hostile().parse().unwrap();
    let mut places: Vec<String> = vec!["/".to_owned()];
    let mut count = 0;
    while let Some(path) = places.pop() {
        let group = file.group(&path).unwrap();
        for member in group.member_names().unwrap() {
            let below = format!("{}/{member}", path.trim_end_matches('/'));
            match file.group(&below) {
                Ok(_) => places.push(below),
                Err(_) => count += spoil_attributes(&file.dataset(&below).unwrap(), &bad),
            }
        }
        count += spoil_attributes(&group, &bad);
    }
    count
}

fn spoil_attributes(at: &hdf5::Location, bad: &VarLenUnicode) -> usize {
    let mut count = 0;
    for name in at.attr_names().unwrap() {
        let attr = at.attr(&name).unwrap();
        let text = attr.dtype().unwrap().to_descriptor();
        let is_text = text.is_ok_and(|t| {
            format!("{t:?}").contains("Str")
                || format!("{t:?}").contains("Unicode")
                || format!("{t:?}").contains("Ascii")
        });
        if is_text && attr.is_scalar() {
            drop(attr);
            at.delete_attr(&name).unwrap();
            let attr = at
                .new_attr::<VarLenUnicode>()
                .create(name.as_str())
                .unwrap();
            attr.write_scalar(bad).unwrap();
            count += 1;
        }
    }
    count
}

#[test]
fn strings_of_files_and_manifests_are_escaped() {
    let name = name("escapes-forged");
    let (_producer, _) = region(&name);
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("heat_00000010.vtkhdf");
    let (file_name, folder) = (file.to_str().unwrap(), own.path().to_str().unwrap());
    assert_eq!(tcasm(&["export", &name, file_name]).code, 0);
    assert!(spoil(&file) > 0, "no string was replaced");
    let out = own.path().join("out.vtkhdf");
    for args in [
        vec!["verify", file_name],
        vec!["verify", folder],
        vec!["restore", folder, "--out", out.to_str().unwrap()],
    ] {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        checked(&args);
    }

    let bad = hostile();
    let entry = json!({
        "event": "complete", "step": 10, "version": 1, "time": 0.5, "kind": "full",
        "file": format!("{bad}_00000010.vtkhdf"), "bytes": 8, "id": bad, "seal": bad,
    });
    let events = [
        json!({"event": "begin", "format": 1, "run": bad, "region": bad, "created": 0}),
        entry,
        json!({"event": "failed", "step": 20, "why": bad}),
    ];
    let lines = events.map(|event| {
        let text = event.to_string();
        format!("{text}#{:016x}\n", xxh3_64(text.as_bytes()))
    });
    fs::write(own.path().join("heat.manifest"), lines.concat()).unwrap();
    told(&["checkpoints", folder], ESCAPED);
    told(&["checkpoints", folder, "--json"], r"Q\u001b");
    let run = tcasm(&["checkpoints", folder, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(all[0]["region"], json!(bad));
}
