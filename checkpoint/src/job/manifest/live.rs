//! The lines of a manifest that still count.

use super::super::record::{Event, Level};
use super::Contents;
use crate::format::line;
use std::collections::BTreeMap;
use std::io;

impl Contents {
    /// Returns lines that give a manifest these contents, which `bytes` give it too. Lines of
    /// commits are taken as they are, also if a newer program has written more into them. Returns
    /// `None` if a newer program has written lines whose meaning is not known here.
    pub(super) fn lines(&self, bytes: &[u8], group: &str) -> io::Result<Option<Vec<u8>>> {
        let mut begins = Vec::new();
        let mut commits = BTreeMap::new();
        for text in bytes.split_inclusive(|b| *b == b'\n') {
            match line::decode(text) {
                Some(Event::Unknown) => return Ok(None),
                None if line::text(text).is_some() => return Ok(None),
                Some(Event::Begin { .. }) => begins.push(text),
                // The last commit of a step is the one that counts, if the step is there at all.
                Some(Event::Commit(commit)) if commit.check(group).is_ok() => {
                    commits.insert(commit.step, text);
                }
                _ => {}
            }
        }
        let [begin] = begins[..] else {
            return Ok(None);
        };
        let mut lines = begin.to_vec();
        for (step, found) in &self.steps {
            let Some(commit) = commits.get(step) else {
                return Ok(None);
            };
            lines.extend_from_slice(commit);
            if found.level == Level::Drained {
                lines.extend(line::encode(&Event::Drained { step: *step })?);
            }
        }
        let commits = self.undrained;
        lines.extend(line::encode(&Event::Undrained { commits })?);
        Ok(Some(lines))
    }
}
