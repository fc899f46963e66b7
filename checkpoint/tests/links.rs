//! Folders that other users may write to. Links in them cause no write, no truncation and no
//! removal of a file elsewhere. New files have the mode that was requested.

mod common;

use common::{PLAIN, STAMP, Version, field, names_in};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Mode, Options, SeriesOptions, Settings, TimeSeries, WriteError,
};
use tcasm_core::field::DType;
use tcasm_core::format::stamp::Stamp;
use tempfile::TempDir;

/// The uid of another user, nobody.
const OTHER: u32 = 65534;
const PRECIOUS: &[u8] = b"precious";

/// A folder that all users may write to, and a file of ours elsewhere.
struct Shared {
    dir: TempDir,
}

impl Shared {
    fn new() -> Shared {
        let shared = Shared {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(shared.folder()).unwrap();
        // Without the sticky bit. With it some kernels do not follow links of other users at all.
        fs::set_permissions(shared.folder(), Permissions::from_mode(0o777)).unwrap();
        fs::write(shared.victim(), PRECIOUS).unwrap();
        shared
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("folder")
    }

    fn victim(&self) -> PathBuf {
        self.dir.path().join("victim")
    }

    /// Returns the path of a file that does not exist, outside the folder.
    fn nothing(&self) -> PathBuf {
        self.dir.path().join("nothing")
    }

    /// Creates a link of another user. If the test does not run as root, the link is our own.
    fn link(&self, name: &str, to: &Path) {
        let link = self.folder().join(name);
        symlink(to, &link).unwrap();
        if nix::unistd::geteuid().is_root() {
            lchown(&link, Some(OTHER), Some(OTHER)).unwrap();
        }
    }

    /// Returns a folder with a link to our file, and one with a link to no file.
    fn links(&self, name: &str) -> [Shared; 2] {
        let [existing, dangling] = [Shared::new(), Shared::new()];
        existing.link(name, &existing.victim());
        dangling.link(name, &dangling.nothing());
        [existing, dangling]
    }

    fn assert_untouched(&self) {
        assert_eq!(fs::read(self.victim()).unwrap(), PRECIOUS);
        assert!(!self.nothing().exists(), "a file was made through a link");
    }
}

fn version() -> Version {
    Version::of([field("t", DType::F64, &[4])])
}

fn at(step: u64) -> Stamp {
    Stamp { step, ..STAMP }
}

fn write(to: &mut Checkpointer, step: u64) -> Result<PathBuf, WriteError> {
    let written = to.write(&version().snapshot(at(step)))?;
    Ok(written.path)
}

fn says_link(error: &WriteError) {
    let text = error.to_string();
    assert!(
        text.contains("symbolic link") && text.contains("remove it"),
        "{text}"
    );
}

#[test]
fn a_link_in_place_of_the_lock_is_refused() {
    for shared in Shared::new().links(".run.tcasm-lock") {
        let error = Checkpointer::new(shared.folder(), "run", PLAIN).unwrap_err();
        says_link(&error);
        shared.assert_untouched();
    }
    for shared in Shared::new().links(".run.vtkhdf.tcasm-lock") {
        let path = shared.folder().join("run.vtkhdf");
        says_link(&TimeSeries::open(path, "run", SeriesOptions::default()).unwrap_err());
        shared.assert_untouched();
    }
}

#[test]
fn a_lock_is_not_truncated() {
    let shared = Shared::new();
    let lock = shared.folder().join(".run.tcasm-lock");
    fs::hard_link(shared.victim(), &lock).unwrap();
    Checkpointer::new(shared.folder(), "run", PLAIN).unwrap();
    shared.assert_untouched();
}

#[test]
fn a_link_in_place_of_a_manifest_is_refused() {
    for shared in Shared::new().links("run.manifest") {
        let opened = Checkpointer::new(shared.folder(), "run", PLAIN);
        let error = opened.and_then(|mut to| write(&mut to, 1)).unwrap_err();
        says_link(&error);
        shared.assert_untouched();
    }
}

/// Checks that a manifest of another user that links to one of ours is not appended to.
#[test]
fn a_link_to_another_manifest_is_refused() {
    let (ours, shared) = (Shared::new(), Shared::new());
    write(
        &mut Checkpointer::new(ours.folder(), "run", PLAIN).unwrap(),
        1,
    )
    .unwrap();
    let manifest = ours.folder().join("run.manifest");
    let before = fs::read(&manifest).unwrap();
    shared.link("run.manifest", &manifest);
    says_link(&Checkpointer::new(shared.folder(), "run", PLAIN).unwrap_err());
    assert_eq!(fs::read(&manifest).unwrap(), before);
}

#[test]
fn a_fifo_in_place_of_a_lock_or_a_manifest_is_refused() {
    for name in [".run.tcasm-lock", "run.manifest"] {
        let shared = Shared::new();
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(&shared.folder().join(name), mode).unwrap();
        let error = Checkpointer::new(shared.folder(), "run", PLAIN).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}

#[test]
fn a_link_in_place_of_a_file_is_replaced_and_not_followed() {
    for name in ["run_00000001.vtkhdf", "run.vtkhdf.series"] {
        for shared in Shared::new().links(name) {
            // The file of the link is no checkpoint, so it is not listed.
            let mut to = Checkpointer::new(shared.folder(), "run", PLAIN).unwrap();
            let path = write(&mut to, 1).unwrap();
            shared.assert_untouched();
            let replaced = shared.folder().join(name).symlink_metadata().unwrap();
            assert!(replaced.is_file(), "{name}");
            Checkpoint::open(path).unwrap().verify().unwrap();
        }
    }
    for shared in Shared::new().links("out.vtkhdf") {
        let path = shared.folder().join("out.vtkhdf");
        tcasm_checkpoint::write(&path, &version().snapshot(STAMP), &PLAIN).unwrap();
        shared.assert_untouched();
        assert!(path.symlink_metadata().unwrap().is_file());
    }
}

#[test]
fn a_link_to_a_folder_for_rows_is_refused() {
    let shared = Shared::new();
    let elsewhere = shared.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    shared.link("run.steps", &elsewhere);
    let path = shared.folder().join("run.vtkhdf");
    let mut series = TimeSeries::open(path, "test", SeriesOptions::default()).unwrap();
    let appended = series.append(&version().snapshot(STAMP), |_| true);
    assert!(appended.is_err());
    assert_eq!(names_in(&elsewhere), [] as [&str; 0]);
}

/// Checks this because the names once were a process id and a small number.
#[test]
fn names_of_temporary_files_cannot_be_predicted() {
    let shared = Shared::new();
    let slow = Shared::new();
    let files = ["run_00000001.vtkhdf", "run.vtkhdf.series"];
    for (name, number) in files
        .iter()
        .flat_map(|name| (0..200).map(move |n| (name, n)))
    {
        let temporary = format!(".{name}.tcasm-{}-{number}.tmp", std::process::id());
        for shared in [&shared, &slow] {
            shared.link(&temporary, &shared.nothing());
        }
    }
    let settings = Settings {
        options: PLAIN,
        slow: Some(slow.folder()),
        ..Settings::new(shared.folder())
    };
    let mut to = open_without_cleanup(settings);
    write(&mut to, 1).unwrap();
    let state = to.wait_drained(Duration::from_secs(60)).unwrap();
    assert_eq!((state.outstanding, state.trouble), (0, None));
    for shared in [&shared, &slow] {
        shared.assert_untouched();
        let file = shared.folder().join("run_00000001.vtkhdf");
        Checkpoint::open(file).unwrap().verify().unwrap();
    }
}

/// Opens a checkpointer while the folders are empty. Opening removes temporary files of killed
/// runs, so the links are put in place afterwards.
fn open_without_cleanup(settings: Settings) -> Checkpointer {
    let folders = [settings.fast.clone(), settings.slow.clone().unwrap()];
    let aside = |folder: &Path| folder.with_extension("aside");
    for folder in &folders {
        fs::rename(folder, aside(folder)).unwrap();
        fs::create_dir(folder).unwrap();
    }
    let to = Checkpointer::open("run", settings).unwrap();
    to.wait_drained(Duration::from_secs(60));
    for folder in &folders {
        for name in names_in(&aside(folder)) {
            fs::rename(aside(folder).join(&name), folder.join(&name)).unwrap();
        }
    }
    to
}

#[test]
fn checkpoints_are_private_unless_a_mode_is_given() {
    let private = 0o600 & !umask();
    for (mode, bits) in [(Mode::PRIVATE, private), (Mode::Exactly(0o664), 0o664)] {
        let (fast, slow) = (Shared::new(), Shared::new());
        let options = Options { mode, ..PLAIN };
        let settings = Settings {
            slow: Some(slow.folder()),
            most_files: 2,
            options,
            ..Settings::new(fast.folder())
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        write(&mut to, 1).unwrap();
        let first = std::iter::once(0..8);
        let increment = to.fill_increment(&version().snapshot(at(2)), |_| first.clone().collect());
        to.commit(increment.unwrap()).unwrap();
        to.wait_drained(Duration::from_secs(60));
        drop(to);
        for folder in [fast.folder(), slow.folder()] {
            assert_eq!(names_in(&folder).len(), 5, "{:?}", names_in(&folder));
            assert_modes(&folder, bits);
        }
    }
    assert_eq!(Options::default().mode, Mode::PRIVATE);
}

fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u32::from_str_radix(line.unwrap().trim(), 8).unwrap()
}

fn assert_modes(folder: &Path, bits: u32) {
    for name in names_in(folder) {
        let metadata = fs::metadata(folder.join(&name)).unwrap();
        assert_eq!(metadata.mode() & 0o777, bits, "{name}");
    }
}

#[test]
fn a_time_series_has_the_mode_that_it_is_given() {
    let shared = Shared::new();
    let options = SeriesOptions {
        mode: Mode::Exactly(0o640),
        chapter: 2,
        ..SeriesOptions::default()
    };
    let path = shared.folder().join("run.vtkhdf");
    let mut series = TimeSeries::open(&path, "test", options).unwrap();
    for step in 1..4 {
        let version = version();
        series
            .append(&version.snapshot(at(step)), |_| true)
            .unwrap();
    }
    let rows = shared.folder().join("run.steps");
    assert_eq!(fs::metadata(&rows).unwrap().mode() & 0o777, 0o750);
    assert_modes(&rows, 0o640);
    fs::set_permissions(&rows, Permissions::from_mode(0o640)).unwrap();
    assert_modes(&shared.folder(), 0o640);
}
