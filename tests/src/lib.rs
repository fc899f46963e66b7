//! What the tests share: names, trackers, child processes.

pub mod cgroup;
pub mod child;
pub mod core_file;
pub mod filter;
pub mod hostile;
pub mod invariants;
pub mod later;
pub mod limits;
pub mod oracle;
#[path = "../../fuzz/src/lib.rs"]
pub mod outside;
pub mod pattern;
pub mod procfs;
pub mod puppet;
pub mod threads;
pub mod unmap;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tcasm_producer::{CaptureMode, Producer, PublishError, Receipt, TrackerKind};

/// A region name that no other test uses, in a folder of this test process.
pub fn name(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    runtime_dir();
    format!(
        "{stem}-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Give this process, and its children, a folder of their own for sockets; it goes when the process ends.
pub fn runtime_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        if std::env::var_os("TCASM_RUNTIME_DIR").is_none() {
            // SAFETY: every test of the process comes through here first, and `OnceLock` lets one in at a time; nothing else
            // in the tests changes the environment.
            unsafe { std::env::set_var("TCASM_RUNTIME_DIR", own_dir()) };
            // SAFETY: a plain function, which may be called at any time.
            unsafe { libc::atexit(remove_own_dir) };
        }
        tcasm_core::place::runtime_dir()
    })
}

fn own_dir() -> PathBuf {
    std::env::temp_dir().join(format!("tcasm-test-{}", std::process::id()))
}

/// By the process's own id, so that a forked child removes nothing of its parent's.
extern "C" fn remove_own_dir() {
    let _ = std::fs::remove_dir_all(own_dir());
}

/// `auto`, `now` or `later`.
pub fn capture_mode(text: &str) -> Result<CaptureMode, String> {
    match text {
        "auto" => Ok(CaptureMode::Auto),
        "now" => Ok(CaptureMode::Now),
        "later" => Ok(CaptureMode::Later),
        _ => Err(format!("Unknown: {text:?} is no mode of capture")),
    }
}

/// Run a test with each tracker in turn. A tracker that does not work here fails the test.
pub fn on_all_trackers(test: impl Fn(TrackerKind)) {
    for tracker in [
        TrackerKind::UffdAsync,
        TrackerKind::Cow,
        TrackerKind::Compare,
    ] {
        test(tracker);
    }
}

/// For tests that look at a version right after it was published.
pub trait PublishVisible {
    /// Publish, and wait until observers can see the version, if there is one.
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
