use super::super::record::{Commit, Level};
use super::super::scheme::Redundancy;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn commit(step: u64) -> Event {
    Event::Commit(Commit {
        step,
        time: f64::NAN,
        run: "r".to_owned(),
        ranks: 4,
        redundancy: Redundancy::Xor,
        sets: vec![vec![0, 1]],
        parts: Vec::new(),
    })
}

fn steps(dir: &Path) -> Vec<u64> {
    read(dir, "heat").unwrap().steps.into_keys().collect()
}

#[test]
fn line_that_is_cut_short_anywhere_is_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(10)).unwrap();
    let before = std::fs::read(&manifest.path).unwrap().len();
    manifest.append(&commit(20)).unwrap();
    let all = std::fs::read(&manifest.path).unwrap();
    let path = manifest.path.clone();
    for length in before..all.len() {
        std::fs::write(&path, &all[..length]).unwrap();
        assert_eq!(steps(dir.path()), [10], "{length} bytes");
    }
    // The rest of the cut line does not damage the next one.
    drop(manifest);
    let mut again = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    again.append(&commit(30)).unwrap();
    assert_eq!(steps(dir.path()), [10, 30]);
}

#[test]
fn damaged_line_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    (1..4).for_each(|i| manifest.append(&commit(10 * i)).unwrap());
    let text = std::fs::read_to_string(&manifest.path).unwrap();
    let damaged = text.replace("\"step\":20", "\"step\":29");
    assert_ne!(text, damaged);
    std::fs::write(&manifest.path, damaged).unwrap();
    assert_eq!(steps(dir.path()), [10, 30]);
}

#[test]
fn commit_of_an_earlier_step_replaces_all_later_ones() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    (1..5).for_each(|i| manifest.append(&commit(10 * i)).unwrap());
    manifest.append(&Event::Drained { step: 20 }).unwrap();
    manifest.append(&commit(30)).unwrap();
    assert_eq!(steps(dir.path()), [10, 20, 30]);
    assert_eq!(manifest.contents().steps[&20].level, Level::Drained);
    assert_eq!(manifest.contents().steps[&30].level, Level::Protected);
}

#[test]
fn commits_since_the_last_drained_one_count_whether_or_not_they_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    let mut expect = |event: Event, undrained| {
        manifest.append(&event).unwrap();
        assert_eq!(manifest.contents().undrained, undrained, "{event:?}");
        assert_eq!(read(dir.path(), "heat").unwrap().undrained, undrained);
    };
    expect(commit(10), 1);
    expect(commit(20), 2);
    expect(Event::Removed { step: 10 }, 2);
    expect(commit(20), 3);
    expect(Event::Drained { step: 20 }, 0);
    expect(commit(30), 1);
}

#[test]
fn file_of_another_group_or_kind_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap());
    std::fs::copy(dir.path().join("heat.job"), dir.path().join("cold.job")).unwrap();
    std::fs::write(dir.path().join("text.job"), "some text\n").unwrap();
    for group in ["cold", "text"] {
        let error = Manifest::open(dir.path(), group, Mode::USUAL).unwrap_err();
        assert!(matches!(error, JobError::NotManifest { .. }), "{error}");
    }
}

/// A line of a random history.
fn event() -> impl Strategy<Value = Event> {
    let step = || 0..6_u64;
    prop_oneof![
        4 => (step(), any::<f64>()).prop_map(|(step, time)| match commit(step) {
            Event::Commit(commit) => Event::Commit(Commit { time, ..commit }),
            other => other,
        }),
        1 => step().prop_map(|step| Event::Drained { step }),
        2 => step().prop_map(|step| Event::Removed { step }),
    ]
}

/// Replaces the manifest, however short it is.
fn shorten(manifest: &mut Manifest) {
    let lines = manifest.live().unwrap().unwrap();
    manifest.replace(&lines).unwrap();
}

/// Returns what a reader and the next writer find, as text, in which NaN is equal to itself.
fn found(dir: &Path) -> String {
    let contents = read(dir, "heat").unwrap();
    format!("{:?} {}", contents.steps, contents.undrained)
}

proptest! {
    #[test]
    fn contents_are_the_same_after_the_manifest_is_replaced_at_any_point_of_any_history(
        before in prop::collection::vec(event(), 0..12),
        after in prop::collection::vec(event(), 0..6),
    ) {
        let [once, never] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let open = |dir: &Path| Manifest::open(dir, "heat", Mode::USUAL).unwrap();
        let append = |to: &mut Manifest, all: &[Event]| {
            all.iter().for_each(|event| to.append(event).unwrap());
        };
        let mut replaced = open(once.path());
        append(&mut replaced, &before);
        let (contents, created) = (found(once.path()), replaced.contents.created);
        shorten(&mut replaced);
        prop_assert_eq!(found(once.path()), contents);
        prop_assert_eq!(read(once.path(), "heat").unwrap().created, created);
        let lines = std::fs::read(&replaced.path).unwrap();
        shorten(&mut replaced);
        prop_assert_eq!(std::fs::read(&replaced.path).unwrap(), lines);
        append(&mut replaced, &after);
        let mut plain = open(never.path());
        append(&mut plain, &before);
        append(&mut plain, &after);
        prop_assert_eq!(found(once.path()), found(never.path()));
        drop(replaced);
        let again = open(once.path()).contents;
        prop_assert_eq!(format!("{:?} {}", again.steps, again.undrained), found(never.path()));
    }
}

/// Appends lines that say nothing, until the manifest has more than `bytes` bytes.
fn lengthen(manifest: &mut Manifest, bytes: u64) {
    let line = line::encode(&Event::Removed { step: 1 }).unwrap();
    let count = bytes / line.len() as u64 + 1;
    manifest
        .file
        .write_all(&line.repeat(count as usize))
        .unwrap();
    manifest.length += count * line.len() as u64;
}

#[test]
fn manifest_is_replaced_only_if_it_is_long_and_few_of_its_lines_count() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(10)).unwrap();
    let length = |manifest: &Manifest| std::fs::metadata(&manifest.path).unwrap().len();
    lengthen(&mut manifest, LONG / 2);
    manifest.shorten().unwrap();
    assert!(length(&manifest) > LONG / 2);
    lengthen(&mut manifest, LONG / 2);
    manifest.shorten().unwrap();
    assert!(length(&manifest) < 1000);
    assert_eq!(steps(dir.path()), [10]);
    // All these lines count.
    for step in 11.. {
        manifest.append(&commit(step)).unwrap();
        if length(&manifest) > LONG {
            break;
        }
    }
    let before = std::fs::read(&manifest.path).unwrap();
    manifest.shorten().unwrap();
    assert_eq!(std::fs::read(&manifest.path).unwrap(), before);
    assert!(manifest.long > 3 * LONG);
}

#[test]
fn manifest_with_lines_of_newer_programs_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    let line = line::encode(&serde_json::json!({"event": "pinned", "step": 10})).unwrap();
    manifest.file.write_all(&line).unwrap();
    manifest.length += line.len() as u64;
    lengthen(&mut manifest, LONG);
    let before = std::fs::read(&manifest.path).unwrap();
    manifest.shorten().unwrap();
    assert_eq!(std::fs::read(&manifest.path).unwrap(), before);
    manifest.append(&commit(10)).unwrap();
    assert_eq!(steps(dir.path()), [10]);
}

#[test]
fn whole_line_that_is_not_understood_stays_in_the_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(10)).unwrap();
    let newer = BTreeMap::from([("event", "commit"), ("redundancy", "of a newer program")]);
    let mut bytes = std::fs::read(&manifest.path).unwrap();
    bytes.extend(line::encode(&newer).unwrap());
    std::fs::write(&manifest.path, &bytes).unwrap();
    drop(manifest);
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    assert_eq!(manifest.live().unwrap(), None);
    manifest.append(&commit(20)).unwrap();
    assert!(std::fs::read(&manifest.path).unwrap().starts_with(&bytes));
    assert_eq!(steps(dir.path()), [10, 20]);
}

#[test]
fn reader_that_has_the_old_file_open_reads_it_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    (1..4).for_each(|i| manifest.append(&commit(10 * i)).unwrap());
    let old = File::open(&manifest.path).unwrap();
    let before = std::fs::read(&manifest.path).unwrap();
    shorten(&mut manifest);
    manifest.append(&commit(40)).unwrap();
    assert_eq!(regular::read_open(&old, MOST_BYTES).unwrap(), before);
    assert_eq!(steps(dir.path()), [10, 20, 30, 40]);
}

#[test]
fn nothing_is_appended_to_a_file_that_has_lost_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(10)).unwrap();
    let (path, other) = (manifest.path.clone(), dir.path().join("other"));
    std::fs::copy(&path, &other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    let error = manifest.append(&commit(20)).unwrap_err().to_string();
    assert!(error.contains("removed or replaced"), "{error}");
    // A folder that has got another path is still the same.
    let moved = dir.path().join("moved");
    let slow = dir.path().join("slow");
    std::fs::create_dir(&slow).unwrap();
    let mut manifest = Manifest::open(&slow, "heat", Mode::USUAL).unwrap();
    std::fs::rename(&slow, &moved).unwrap();
    std::fs::create_dir(&slow).unwrap();
    manifest.append(&commit(10)).unwrap();
    shorten(&mut manifest);
    manifest.append(&commit(20)).unwrap();
    assert_eq!(steps(&moved), [10, 20]);
    assert_eq!(std::fs::read_dir(&slow).unwrap().count(), 0);
}

/// Over NFS, a host that is cut off loses its lock, and a job on other hosts takes it.
#[test]
fn lines_that_another_process_has_appended_are_not_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(10)).unwrap();
    let mut other = File::options().append(true).open(&manifest.path).unwrap();
    other
        .write_all(&line::encode(&commit(20)).unwrap())
        .unwrap();
    let before = std::fs::read(&manifest.path).unwrap();
    let lines = manifest.live().unwrap().unwrap();
    let errors = [manifest.append(&commit(30)), manifest.replace(&lines)];
    for error in errors.map(|done| done.unwrap_err().to_string()) {
        assert!(error.contains("written by another process"), "{error}");
    }
    assert_eq!(std::fs::read(&manifest.path).unwrap(), before);
    assert_eq!(steps(dir.path()), [10, 20]);
    // A line of which only a part was written is cut off.
    let half = &before[..before.len() - 5];
    std::fs::write(&manifest.path, half).unwrap();
    drop(manifest);
    let mut manifest = Manifest::open(dir.path(), "heat", Mode::USUAL).unwrap();
    manifest.append(&commit(30)).unwrap();
    assert_eq!(steps(dir.path()), [10, 30]);
}

/// Without a lock, another process may append to the old file.
#[test]
fn manifest_that_another_process_may_write_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Manifest::open(dir.path(), "heat", Mode::USUAL);
    let first = open().unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("another checkpointer"), "{error}");
    drop(first);
    open().unwrap();
}
