//! Checks whether this user can have host buffers, and how large they may be.

use crate::output;
use serde::Serialize;
use tcasm_hostbuffer::{Probe, probe};

/// The result of a trial, and the limits.
#[derive(Debug, Serialize)]
pub struct HostBuffers(Probe);

impl HostBuffers {
    /// Tries a small buffer, and loads the driver of a GPU.
    pub fn check() -> Self {
        HostBuffers(probe())
    }

    /// Returns lines of the report.
    pub fn rows(&self) -> [(&'static str, String); 2] {
        let HostBuffers(probe) = self;
        let works = match &probe.problem {
            None => "can be created and sealed".to_owned(),
            Some(problem) => format!("cannot be created: {problem}"),
        };
        let limit = |bytes: Option<u64>| bytes.map_or("unlimited".to_owned(), output::bytes);
        let gpu = match &probe.gpu_absent {
            None => "present".to_owned(),
            Some(why) => format!("absent ({why})"),
        };
        let (section, locked) = (limit(probe.section_bytes), limit(probe.locked_memory));
        let works = format!("{works}; largest section {section}, locked memory {locked}");
        [("host buffers", works), ("GPU driver", gpu)]
    }

    /// Returns what to do if no buffer can be created.
    pub fn advice(&self) -> Vec<String> {
        let problem = self.0.problem.iter();
        problem
            .map(|problem| format!("for host buffers: {problem}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_says_whether_host_buffers_work_and_why_there_is_no_gpu() {
        let [works, gpu] = HostBuffers::check().rows();
        assert!(
            works
                .1
                .starts_with("can be created and sealed; largest section "),
            "{works:?}"
        );
        assert!(
            gpu.1 == "present" || gpu.1.starts_with("absent ("),
            "{gpu:?}"
        );
        assert!(HostBuffers::check().advice().is_empty());
    }
}
