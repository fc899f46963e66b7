//! What the run tells while it goes: a line for each file, and on a terminal how far the simulation is.

use super::End;
use super::writer::Writer;
use crate::{output, region};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{Write, stderr, stdout};
use std::time::Duration;
use tcasm_checkpoint::Written;
use tcasm_observer::Version;

/// Tells. A reader that went away is no reason to stop writing checkpoints.
pub struct Progress {
    /// Hides itself where there is no terminal.
    bar: ProgressBar,
}

impl Progress {
    pub fn new(name: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        bar.set_message("waiting for the first version");
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    /// A version came by.
    pub fn saw(&self, version: &Version) {
        if !self.bar.is_hidden() {
            self.bar.set_message(region::stamp(version));
        }
    }

    /// A file is on the disk.
    pub fn wrote(&self, version: &Version, written: &Written, writer: &Writer) {
        self.line(&format!(
            "wrote {}  {}  {}  {:.2} s{}",
            written.path.display(),
            region::stamp(version),
            output::bytes(written.bytes),
            written.duration.as_secs_f64(),
            failures(writer.failed)
        ));
    }

    /// A file could not be written.
    pub fn failed(&self, stamp: &str, message: &str, writer: &Writer) {
        let failures = failures(writer.failed);
        self.bar
            .suspend(|| complain(&format!("{stamp} is not written: {message}{failures}")));
    }

    /// The last line.
    pub fn finish(&self, writer: &Writer, end: End) {
        let why = match end {
            End::OfStream => "the simulation has ended",
            End::ProducerLost => "the simulation has died",
            End::Interrupted => "interrupted",
        };
        let files = if writer.written == 1 { "file" } else { "files" };
        self.bar.finish_and_clear();
        self.line(&format!(
            "{why}: {} {files} written, {}{}",
            writer.written,
            output::bytes(writer.bytes),
            failures(writer.failed)
        ));
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(stdout(), "{text}");
        });
    }
}

/// Tell what is wrong, without ending.
pub fn complain(text: &str) {
    let _ = writeln!(stderr(), "tcasm: {text}");
}

fn failures(failed: u64) -> String {
    match failed {
        0 => String::new(),
        n => format!("  ({n} failed)"),
    }
}
