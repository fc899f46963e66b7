//! The lines about what a program has published.

use crate::output;
use tcasm_core::format::report::Report;

/// Returns a line for each region.
pub fn lines(reports: &[Report]) -> Vec<String> {
    let several = reports.iter().any(|report| report.pid != reports[0].pid);
    let line = |report: &Report| {
        let process = match several {
            true => format!(" (process {})", report.pid),
            false => String::new(),
        };
        format!("region {}{process}: {}", report.name, text(report))
    };
    reports.iter().map(line).collect()
}

fn text(report: &Report) -> String {
    let mut parts = vec![output::count(report.versions, "version")];
    if report.versions > 0 {
        parts.push(format!(
            "steps {} to {}",
            report.first_step, report.last_step
        ));
    }
    if report.skipped > 0 {
        parts.push(format!("{} skipped", report.skipped));
    }
    if report.failed > 0 {
        parts.push(format!("{} failed", report.failed));
    }
    let (mapped, copied) = (output::bytes(report.capacity), output::bytes(report.bytes));
    parts.push(format!("{mapped} mapped, {copied} copied"));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_what_there_is_to_say() {
        let mut report = Report {
            name: "heat".to_owned(),
            pid: 7,
            capacity: 1 << 20,
            ..Report::default()
        };
        let line = |report: &Report| lines(std::slice::from_ref(report)).remove(0);
        let nothing = "region heat: 0 versions, 1.00 MiB mapped, 0 B copied";
        assert_eq!(line(&report), nothing);
        (report.versions, report.first_step, report.last_step) = (1, 5, 5);
        (report.skipped, report.bytes) = (2, 4096);
        let whole = "region heat: 1 version, steps 5 to 5, 2 skipped, 1.00 MiB mapped, 4.00 KiB \
                     copied";
        assert_eq!(line(&report), whole);
        let other = Report {
            pid: 8,
            ..report.clone()
        };
        assert!(lines(&[report, other])[1].starts_with("region heat (process 8): "));
    }
}
