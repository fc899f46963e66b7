use super::super::record::{Commit, Level};
use super::super::scheme::Redundancy;
use super::*;

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
    for length in before..all.len() {
        std::fs::write(&manifest.path, &all[..length]).unwrap();
        assert_eq!(steps(dir.path()), [10], "{length} bytes");
    }
    // The rest of the cut line does not damage the next one.
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
