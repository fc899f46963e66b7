//! The output of `tcasm export --follow`: only exceptional events, and on a terminal the progress.

use super::missed::Missed;
use super::sink::Appended;
use crate::files::args::Interval;
use crate::{output, region};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::Duration;
use tcasm_observer::Version;

/// Prints the progress and counts versions.
pub struct FollowOutput {
    /// Hidden if standard error is no terminal.
    line: ProgressBar,
    pub appended: u64,
    bytes: u64,
    failed: u64,
    /// The number of attempts that failed since the last success.
    failing: u64,
    missed: Missed,
    /// The file that versions are appended to.
    file: PathBuf,
    /// The lines that say where the fields are, as they were printed last.
    places: String,
}

impl FollowOutput {
    pub fn new(name: &str, file: PathBuf) -> Self {
        let line = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}") {
            line.set_style(style);
        }
        line.set_prefix(name.to_owned());
        line.set_message("waiting for the first version");
        line.enable_steady_tick(Duration::from_millis(200));
        FollowOutput {
            line,
            appended: 0,
            bytes: 0,
            failed: 0,
            failing: 0,
            missed: Missed::default(),
            file,
            places: String::new(),
        }
    }

    /// Notes the next version, of those that `interval` selects from.
    pub fn saw(&mut self, version: &Version, interval: Interval) {
        self.missed.see(version.stamp(), interval);
        if !self.line.is_hidden() {
            let (count, bytes) = (self.appended, output::bytes(self.bytes));
            let stamp = region::stamp_text(&version.stamp());
            self.line
                .set_message(format!("{stamp}  {count} appended, {bytes}"));
        }
    }

    pub fn appended(&mut self, appended: Appended) {
        self.appended += 1;
        self.bytes += appended.bytes;
        self.failing = 0;
        if self.file != appended.path {
            let path = appended.path.display();
            self.print(&format!("the field table has changed: going on in {path}"));
            self.file = appended.path;
        }
        if self.places != appended.places {
            appended.places.lines().for_each(|line| self.print(line));
            self.places = appended.places;
        }
    }

    /// Prints that a version could not be appended.
    pub fn failed(&mut self, stamp: &str, message: &str) {
        self.failed += 1;
        self.attempt_failed(&format!("{stamp} is not appended: {message}"));
    }

    /// Prints that a version could not be appended, and will be tried again.
    pub fn failed_for_now(&mut self, stamp: &str, message: &str) {
        self.attempt_failed(&format!(
            "{stamp} is not appended yet: {message}; trying again until that succeeds, or until \
             SIGTERM or SIGINT"
        ));
    }

    /// Prints why an attempt failed. Many may follow, so only the 1st, 2nd, 4th, 8th, ... failure
    /// in a row is printed.
    fn attempt_failed(&mut self, text: &str) {
        self.failing += 1;
        if self.failing.is_power_of_two() {
            self.note(text);
        }
    }

    /// Removes the progress line and prints what was appended and what is missing.
    pub fn finish(&self, why: &str) {
        self.line.finish_and_clear();
        let counted = |n: u64, what: &str| match n {
            0 => String::new(),
            n => format!(", {n} {what}"),
        };
        self.print(&format!(
            "{why}: {} appended to {}, {}{}{}",
            output::count(self.appended, "version"),
            self.file.display(),
            output::bytes(self.bytes),
            counted(self.missed.due, "missing"),
            counted(self.failed, "failed"),
        ));
        for line in self.missed.lines() {
            self.print(&line);
        }
    }

    /// Prints a message on standard error.
    pub fn note(&self, text: &str) {
        self.line.suspend(|| output::note(text));
    }

    /// Prints a line. Errors are ignored: versions are appended even if nobody reads the output.
    fn print(&self, text: &str) {
        self.line.suspend(|| {
            let _ = output::line(text);
        });
    }
}
