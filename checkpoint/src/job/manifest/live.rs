//! The lines of a manifest that still count.

use super::super::record::{Event, Level};
use super::Contents;
use crate::format::line;
use std::collections::BTreeMap;
use std::io;

/// Returns the lines of a manifest that has the same `contents` as the lines in `bytes`. Lines of
/// commits are taken as they are, also if a newer program has written more into them. Returns
/// `None` if a newer program has written lines whose meaning is not known here.
pub fn lines(bytes: &[u8], contents: &Contents) -> io::Result<Option<Vec<u8>>> {
    let mut begins = Vec::new();
    let mut commits = BTreeMap::new();
    for text in bytes.split_inclusive(|b| *b == b'\n') {
        match line::decode(text) {
            Some(Event::Unknown) => return Ok(None),
            Some(Event::Begin { .. }) => begins.push(text),
            // The last commit of a step is the one that counts, if the step is there at all.
            Some(Event::Commit(commit)) => drop(commits.insert(commit.step, text)),
            _ => {}
        }
    }
    let [begin] = begins[..] else {
        return Ok(None);
    };
    let mut lines = begin.to_vec();
    for (step, found) in &contents.steps {
        let Some(commit) = commits.get(step) else {
            return Ok(None);
        };
        lines.extend_from_slice(commit);
        if found.level == Level::Drained {
            lines.extend(line::encode(&Event::Drained { step: *step })?);
        }
    }
    let commits = contents.undrained;
    lines.extend(line::encode(&Event::Undrained { commits })?);
    Ok(Some(lines))
}
