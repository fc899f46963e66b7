//! Helpers that the tests share: names, trackers, child processes.

pub mod cgroup;
pub mod check;
pub mod child;
pub mod cluster;
pub mod core_file;
pub mod deferred;
pub mod fake_cuda;
pub mod filter;
pub mod hostile;
pub mod index;
pub mod invariants;
pub mod lent;
pub mod limits;
pub mod network;
pub mod oracle;
#[path = "../../fuzz/src/lib.rs"]
pub mod outside;
pub mod pattern;
pub mod procfs;
pub mod puppet;
pub mod ranks;
pub mod reserved;
pub mod threads;
pub mod unmap;
pub mod user;
pub mod views;

use nix::sys::resource::{UsageWho, getrusage};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tcasm_producer::{CaptureMode, Producer, PublishError, Receipt, TrackerKind};

/// Returns a name for a region that no other test uses. Its folder belongs to this test process.
pub fn name(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    runtime_dir();
    format!(
        "{stem}-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Gives this process and its children a folder of their own for sockets. The folder is removed
/// when the process ends.
pub fn runtime_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        if std::env::var_os("TCASM_RUNTIME_DIR").is_none() {
            // SAFETY: every test calls this function before anything that reads the environment.
            // `OnceLock` runs this once, in one thread, and no other test code changes the
            // environment.
            unsafe { std::env::set_var("TCASM_RUNTIME_DIR", own_dir()) };
            // SAFETY: the function is a plain one and may be called at any time.
            unsafe { libc::atexit(remove_own_dir) };
        }
        tcasm_core::place::runtime_dir()
    })
}

fn own_dir() -> PathBuf {
    std::env::temp_dir().join(format!("tcasm-test-{}", std::process::id()))
}

/// Removes the folder of this process. The name has the process's own id, so a forked child does
/// not remove the folder of its parent.
extern "C" fn remove_own_dir() {
    let _ = std::fs::remove_dir_all(own_dir());
}

/// Returns the number of page faults of the calling thread so far.
pub fn page_faults() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("every kernel tells it");
    usage.minor_page_faults() + usage.major_page_faults()
}

/// Parses a capture mode: `auto`, `inline` or `deferred`.
pub fn capture_mode(text: &str) -> Result<CaptureMode, String> {
    match text {
        "auto" => Ok(CaptureMode::Auto),
        "inline" => Ok(CaptureMode::Inline),
        "deferred" => Ok(CaptureMode::Deferred),
        _ => Err(format!("Unknown: {text:?} is not a capture mode")),
    }
}

/// Runs a test with each tracker in turn. A tracker that does not work here fails the test.
pub fn on_all_trackers(test: impl Fn(TrackerKind)) {
    for tracker in [
        TrackerKind::UffdAsync,
        TrackerKind::Cow,
        TrackerKind::Compare,
    ] {
        test(tracker);
    }
}

/// Publishing for tests that read a version right after it was published.
pub trait PublishVisible {
    /// Publishes, and waits until observers can see the version, if there is one.
    fn publish_visible(&mut self, step: u64, time: f64) -> Result<Receipt, PublishError>;
}

impl PublishVisible for Producer {
    fn publish_visible(&mut self, step: u64, time: f64) -> Result<Receipt, PublishError> {
        let receipt = self.publish(step, time)?;
        if let Receipt::Published(published) = &receipt {
            assert_eq!(published.wait_visible(child::DEADLINE), Ok(true));
            assert!(published.is_visible());
        }
        Ok(receipt)
    }
}
