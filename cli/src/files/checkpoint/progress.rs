//! The output of `tcasm checkpoint`: a line for each file. On a terminal also the progress of each
//! simulation and of each copy.

use super::writer::Writer;
use crate::files::end::End;
use crate::plain::plain;
use crate::{output, region};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::Duration;
use tcasm_checkpoint::{Draining, Written};
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_observer::Version;

/// Prints lines and progress bars. Errors of the output are ignored: checkpoints are written even
/// if nobody reads the output any more.
pub struct Output {
    /// Hidden if standard error is no terminal.
    bars: MultiProgress,
}

/// The output for one region.
pub struct RegionOutput<'p> {
    progress: &'p Output,
    name: String,
    versions: ProgressBar,
    copy: ProgressBar,
    /// The number of files that could not be written since the last success.
    failing: u64,
    /// The lines about fields that are left out or rounded, as they were told.
    told: Vec<String>,
    /// True if it was told what other programs do not find in the files.
    told_place: bool,
}

impl Output {
    pub fn new() -> Self {
        let bars = MultiProgress::new();
        Output { bars }
    }

    /// Adds the progress bars of a region.
    pub fn region(&self, name: &str) -> RegionOutput<'_> {
        let versions = self.bars.add(ProgressBar::new_spinner());
        let copy = self.bars.add(ProgressBar::new(0));
        style(&versions, "{spinner} {prefix}: {wide_msg}");
        style(
            &copy,
            "  {prefix}: {msg} [{bar:30}] {bytes} of {total_bytes}",
        );
        versions.set_prefix(name.to_owned());
        copy.set_prefix(name.to_owned());
        versions.set_message("waiting for the first version");
        versions.enable_steady_tick(Duration::from_millis(200));
        RegionOutput {
            progress: self,
            name: name.to_owned(),
            versions,
            copy,
            failing: 0,
            told: Vec::new(),
            told_place: false,
        }
    }

    fn print(&self, text: &str) {
        self.bars.suspend(|| {
            let _ = output::line(text);
        });
    }
}

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

impl RegionOutput<'_> {
    /// Prints a message on standard error.
    pub fn note(&self, text: &str) {
        self.progress.bars.suspend(|| output::note(text));
    }

    /// Shows the newest version that was seen.
    pub fn saw(&self, version: &Version) {
        if !self.versions.is_hidden() {
            self.versions
                .set_message(region::stamp_text(&version.stamp()));
        }
    }

    /// Shows the progress of the copies to the slow folder.
    pub fn draining(&self, state: Option<Draining>) {
        let Some(state) = state.filter(|_| !self.copy.is_hidden()) else {
            return;
        };
        let waiting = state.outstanding;
        match (state.copying, state.trouble) {
            (_, Some(why)) => self
                .copy
                .set_message(plain(&format!("{waiting} not copied: {why}")).into_owned()),
            (Some((step, done, total)), _) => {
                self.copy.set_length(total);
                self.copy.set_position(done);
                self.copy
                    .set_message(format!("step {step}, {waiting} to copy"));
            }
            (None, _) => self.copy.set_message(format!("{} copied", state.drained)),
        }
    }

    /// Prints that a file is complete.
    pub fn wrote(&mut self, stamp: &str, written: &Written, writer: &Writer) {
        self.failing = 0;
        self.progress.print(&format!(
            "wrote {}  {stamp}  {}{}  {:.2} s{}",
            written.path.display(),
            output::bytes(written.bytes),
            direct(written.direct),
            written.duration.as_secs_f64(),
            failures(writer.failed)
        ));
    }

    /// Prints which fields are not in the checkpoints as they were, and what that means. `table` is
    /// that of the newest checkpoint. What was printed is printed again only if it changes.
    pub fn tell(&mut self, table: &FieldTable) {
        let rounded: Vec<&FieldDesc> = table.rounded().collect();
        let lost: Vec<&FieldDesc> = table.lost().collect();
        let chosen = table.lacking.iter().filter(|field| !field.lost);
        let (marked, others): (Vec<&FieldDesc>, Vec<_>) =
            chosen.partition(|field| field.not_in_checkpoints);
        for (fields, by, so) in [
            (
                marked,
                "left out, as the simulation asks",
                "it fills them after a restart",
            ),
            (
                others,
                "left out by --fields",
                "no simulation can restart from these checkpoints",
            ),
            (
                lost,
                "lost, because the simulation has unmapped or moved their memory",
                "no simulation can restart from these checkpoints",
            ),
            (
                rounded,
                "lossy, as --lossy-relative-error asks",
                "a restart from these checkpoints has to accept that",
            ),
        ] {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            if !names.is_empty() {
                let text = format!("{}: {by}: {}; {so}", self.name, names.join(", "));
                if !self.told.contains(&text) {
                    self.progress.print(&text);
                    self.told.push(text);
                }
            }
        }
    }

    /// Prints once what other programs do not find in the files.
    pub fn no_place(&mut self, text: Option<&str>) {
        if let Some(text) = text
            && !std::mem::replace(&mut self.told_place, true)
        {
            self.note(&format!("{}: {text}", self.name));
        }
    }

    /// Prints that a file could not be written. After a failure each version is another attempt, so
    /// only the 1st, 2nd, 4th, 8th, ... failure in a row is printed.
    pub fn failed(&mut self, stamp: &str, message: &str, writer: &Writer) {
        self.failing += 1;
        if !self.failing.is_power_of_two() {
            return;
        }
        let failures = failures(writer.failed);
        self.note(&format!("{stamp} is not written: {message}{failures}"));
    }

    /// Removes the progress bars and prints the last line.
    pub fn finish(&self, writer: &Writer, end: End) {
        let why = end.reason();
        let copied = writer
            .draining()
            .map_or_else(String::new, |state| format!(", {} copied", state.drained));
        self.versions.finish_and_clear();
        self.copy.finish_and_clear();
        self.progress.print(&format!(
            "{why}: {} written, {}{copied}{}",
            output::count(writer.written, "file"),
            output::bytes(writer.bytes),
            failures(writer.failed)
        ));
    }
}

/// Says how many bytes were written past the page cache.
fn direct(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        n => format!(" ({} direct)", output::bytes(n)),
    }
}

fn failures(failed: u64) -> String {
    match failed {
        0 => String::new(),
        n => format!("  ({n} failed)"),
    }
}
