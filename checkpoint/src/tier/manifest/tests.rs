//! Tests of manifests: what is appended is read back, whatever happens to the file.

use super::*;
use crate::error::ReadError;
use crate::tier::contents::{Entry, Item, Kind};

fn entry(step: u64) -> Entry {
    Entry {
        step,
        version: step + 1,
        time: 0.1 * step as f64,
        kind: Kind::Increment { base: 3 },
        file: format!("run_{step:08}.increment.h5"),
        bytes: 17,
        id: "abc".to_owned(),
        base_id: "abb".to_owned(),
        seal: "00ff".to_owned(),
        relative_error: (step == 5).then_some(1e-3),
    }
}

fn open(dir: &Path, name: &str, run: Option<&str>) -> Result<Manifest, WriteError> {
    Manifest::open(dir, name, run, Mode::PRIVATE)
}

fn written(dir: &Path, events: Vec<Event>) -> PathBuf {
    let mut manifest = open(dir, "run", None).unwrap();
    events.into_iter().for_each(|e| manifest.append(e).unwrap());
    manifest.path
}

#[test]
fn appended_events_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(
        dir.path(),
        vec![
            Event::Complete(entry(5)),
            Event::Complete(Entry {
                time: f64::INFINITY,
                kind: Kind::Full,
                ..entry(6)
            }),
            Event::Drained { step: 5 },
            Event::Complete(entry(7)),
            Event::Failed {
                step: 8,
                why: "no \"room\"\n".to_owned(),
            },
            Event::Removed {
                step: 7,
                why: String::new(),
            },
        ],
    );
    let contents = Contents::read(&path).unwrap();
    assert_eq!(
        (contents.region.as_str(), contents.newest()),
        ("run", Some(6))
    );
    assert_eq!(
        contents.items[&5],
        Item {
            entry: entry(5),
            drained: true
        }
    );
    assert!(contents.items[&6].entry.time.is_nan() && !contents.items[&6].drained);
    assert_eq!(contents.failed, Some((8, "no \"room\"\n".to_owned())));
    assert!(contents.damaged.is_empty());
}

#[test]
fn incomplete_last_line_is_cut_off_before_the_next_append() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), vec![Event::Complete(entry(5))]);
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    for end in first..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let mut manifest = open(dir.path(), "run", None).unwrap();
        assert!(manifest.contents().items.is_empty(), "cut after {end}");
        manifest.append(Event::Complete(entry(9))).unwrap();
        let contents = Contents::read(&path).unwrap();
        assert_eq!((contents.newest(), contents.damaged.len()), (Some(9), 0));
    }
}

#[test]
fn flipped_bit_loses_only_its_own_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(
        dir.path(),
        (1..=3).map(|n| Event::Complete(entry(n))).collect(),
    );
    let whole = fs::read(&path).unwrap();
    let starts: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(i, _)| i + 1)
        .collect();
    for at in starts[1]..starts[2] - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let contents = Contents::read(&path).unwrap();
        let steps: Vec<u64> = contents.items.keys().copied().collect();
        assert_eq!(steps, [1, 3], "byte {at}");
        assert!(contents.damaged.contains(&3));
    }
}

#[test]
fn lines_that_name_files_elsewhere_or_of_other_runs_are_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let others = [
        "../run_00000005.increment.h5",
        "/tmp/run_00000005.increment.h5",
        "sub/run_00000005.increment.h5",
        "walk_00000005.increment.h5",
        "run_00000006.increment.h5",
        "notes.txt",
        "",
    ];
    let mut events: Vec<_> = others
        .map(|file| {
            let file = file.to_owned();
            Event::Complete(Entry { file, ..entry(5) })
        })
        .to_vec();
    events.push(Event::Complete(entry(7)));
    let contents = Contents::read(&written(dir.path(), events)).unwrap();
    assert_eq!(contents.items.keys().collect::<Vec<_>>(), [&7]);
    assert_eq!(contents.damaged.len(), others.len());
}

#[test]
fn manifest_is_created_with_its_first_event() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = open(dir.path(), "run", None).unwrap();
    assert!(manifest.is_there() && !manifest.path.exists());
    manifest.append(Event::Complete(entry(5))).unwrap();
    assert!(manifest.is_there() && manifest.path.exists());
    let again = open(dir.path(), "run", Some(&manifest.contents().run)).unwrap();
    assert_eq!(again.contents(), manifest.contents());
}

#[test]
fn manifest_of_another_run_and_other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), vec![Event::Complete(entry(5))]);
    let error = open(dir.path(), "run", Some("other")).unwrap_err();
    assert!(matches!(error, WriteError::OtherRun { .. }), "{error}");
    fs::rename(&path, dir.path().join(file_name("walk"))).unwrap();
    let error = open(dir.path(), "walk", None).unwrap_err();
    assert!(matches!(error, WriteError::OtherRun { .. }), "{error}");
    for other in [
        "name: run\nsteps: 7\n",
        "name: run",
        "{\"event\":\"wedding\"}\n",
    ] {
        fs::write(&path, other).unwrap();
        let error = open(dir.path(), "run", None).unwrap_err();
        assert!(
            matches!(error, WriteError::Manifest(ReadError::NotManifest(_))),
            "{error}"
        );
        assert_eq!(
            fs::read(&path).unwrap(),
            other.as_bytes(),
            "the file is unchanged"
        );
    }
}

#[test]
fn manifest_keeps_its_first_run_and_region() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), vec![Event::Complete(entry(5))]);
    let before = Contents::read(&path).unwrap();
    let begin = Event::Begin {
        format: FORMAT,
        run: "other".to_owned(),
        region: "walk".to_owned(),
        created: 0,
    };
    let file = "walk_00000006.vtkhdf".to_owned();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(encode(&begin).unwrap());
    bytes.extend(encode(&Event::Complete(Entry { file, ..entry(6) })).unwrap());
    bytes.extend(encode(&Event::Complete(entry(7))).unwrap());
    fs::write(&path, bytes).unwrap();
    let after = Contents::read(&path).unwrap();
    assert_eq!((&after.run, &after.region), (&before.run, &before.region));
    assert_eq!(after.items.keys().collect::<Vec<_>>(), [&5, &7]);
    assert_eq!(after.damaged, [3, 4], "both lines are reported");
    assert!(open(dir.path(), "run", Some(&before.run)).is_ok());
}

#[test]
fn unknown_events_are_ignored_and_newer_formats_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), vec![Event::Complete(entry(5))]);
    let add = |text: &str| {
        let line = format!("{text}#{:016x}\n", xxh3_64(text.as_bytes()));
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(line.as_bytes());
        fs::write(&path, bytes).unwrap();
    };
    add("{\"event\":\"weighed\",\"grams\":12}");
    assert_eq!(Contents::read(&path).unwrap().newest(), Some(5));
    add("{\"event\":\"begin\",\"format\":2,\"run\":\"a\",\"region\":\"run\",\"created\":0}");
    assert!(matches!(
        Contents::read(&path),
        Err(ReadError::TooNew { found: 2, .. })
    ));
}
