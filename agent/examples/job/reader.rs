//! An observer that answers questions.

use crate::{Failure, fields, say};
use std::io::BufRead;
use std::time::Duration;
use tcasm_observer::{GroupError, GroupObserver};

pub fn read(group: &str) -> Result<(), Failure> {
    let mut observer = None;
    for line in std::io::stdin().lock().lines() {
        match answer(group, &line?, &mut observer) {
            Ok(text) => say(&format!("ok {text}")),
            Err(error) => say(&format!("error {error}")),
        }
    }
    Ok(())
}

pub fn follow(group: &str) -> Result<(), Failure> {
    let mut observer = loop {
        match GroupObserver::attach(group) {
            Ok(observer) => break observer,
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    loop {
        match observer.wait_newer(Duration::from_secs(1)) {
            Ok(version) => say(&format!("latest step {}", version.step())),
            Err(GroupError::EndOfStream { .. }) => return Ok(()),
            // Ranks may come, or come back.
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn answer(
    group: &str,
    which: &str,
    observer: &mut Option<GroupObserver>,
) -> Result<String, Failure> {
    if observer.is_none() {
        *observer = Some(GroupObserver::attach(group)?);
    }
    let observer = observer.as_mut().ok_or("no observer")?;
    if which == "steps" {
        let common = observer.steps()?.common;
        let steps: Vec<String> = common.iter().map(u64::to_string).collect();
        return Ok(format!("steps={}", steps.join(",")));
    }
    let version = match which {
        "agreed" => observer.agreed()?,
        _ => observer.latest()?,
    };
    let (blocks, wrong) = fields::check(&version)?;
    let (step, run) = (version.step(), version.run());
    let members: Vec<String> = version
        .members()
        .map(|(rank, _)| rank.to_string())
        .collect();
    let (ranks, of) = (members.len(), members.join(","));
    Ok(format!(
        "run={run} step={step} ranks={ranks} of={of} blocks={blocks} wrong={wrong}"
    ))
}
