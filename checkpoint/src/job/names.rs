//! The names of the files of a job's checkpoints.
//!
//! ```text
//! heat.job                              manifest, on the slow tier
//! heat.node3_00000100.h5                all blocks of node 3; also on the slow tier if drained
//! heat.node3_00000110.increment.h5      what has changed in them
//! heat.node3_00000100.parity            the parity that node 3 has of other nodes' files
//! heat.node3.prepared                   what node 3 has prepared
//! heat.0123456789abcdef.continued       what the ranks of a run continue from, on the slow tier
//! heat_00000100.job.vtkhdf              for ParaView, beside the node files
//! .heat.job.tcasm-lock                  locked by node 0 while it writes the manifest
//! .heat.node3.tcasm-lock                locked by node 3, on its own tier
//! ```

use crate::format::names::{self, Form};
use crate::options::Layout;
use xxhash_rust::xxh3::xxh3_64;

/// Returns the file name of the manifest.
pub fn manifest(group: &str) -> String {
    format!("{group}.job")
}

/// Returns the name that the checkpoints of a node have in common.
pub fn node(group: &str, node: usize) -> String {
    format!("{group}.node{node}")
}

/// Returns the file name of a node's blocks.
pub fn blocks(group: &str, number: usize, step: u64, increment: bool) -> String {
    let form = match increment {
        true => Form::Increment,
        false => Form::Full(Layout::OpenPmd),
    };
    names::file_name(&node(group, number), step, form)
}

/// Returns the file name of a node's parity.
pub fn parity(group: &str, number: usize, step: u64) -> String {
    format!("{}_{step:08}.parity", node(group, number))
}

/// Returns the file name of the list of what a node has prepared.
pub fn prepared(group: &str, number: usize) -> String {
    format!("{}.prepared", node(group, number))
}

/// Returns the file name of what the ranks of a run continue from. Names of runs may have any
/// characters, so a hash stands for them.
pub fn choice(group: &str, run: &str) -> String {
    format!("{group}.{:016x}.continued", xxh3_64(run.as_bytes()))
}

/// Returns true if `file` has such a name, for any run of the group.
pub fn is_choice(group: &str, file: &str) -> bool {
    let run = file
        .strip_prefix(group)
        .and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".continued"));
    run.is_some_and(|run| run.len() == 16 && run.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns the name of the file for ParaView.
pub fn vtkhdf(group: &str, step: u64) -> String {
    format!("{group}_{step:08}.job.vtkhdf")
}

/// Returns true if `file` has the name of a file for ParaView.
pub fn is_vtkhdf(group: &str, file: &str) -> bool {
    let parts = file
        .strip_suffix(".job.vtkhdf")
        .and_then(|rest| rest.rsplit_once('_'));
    let step = parts.and_then(|(_, step)| step.parse().ok());
    step.is_some_and(|step| vtkhdf(group, step) == file)
}

/// Returns the step of a file of a node, if it has such a name.
pub fn step_of(group: &str, number: usize, file: &str) -> Option<u64> {
    let own = node(group, number);
    if let Some((name, step, _)) = names::parse(file) {
        return (name == own).then_some(step);
    }
    let (name, step) = file.strip_suffix(".parity")?.rsplit_once('_')?;
    let step = step.parse().ok()?;
    (name == own && parity(group, number, step) == file).then_some(step)
}

/// Returns the number of the node whose file, parity or list has this name.
pub fn node_of(group: &str, file: &str) -> Option<usize> {
    let rest = file.strip_prefix(group)?.strip_prefix(".node")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let number = rest[..end].parse().ok()?;
    let is_its = step_of(group, number, file).is_some() || file == prepared(group, number);
    is_its.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_own_files_are_known_and_other_files_are_not_own() {
        for step in [0, 7, 99_999_999, 123_456_789_012] {
            for file in [
                blocks("a.b", 3, step, true),
                blocks("a.b", 3, step, false),
                parity("a.b", 3, step),
            ] {
                assert_eq!(step_of("a.b", 3, &file), Some(step), "{file}");
                assert_eq!(node_of("a.b", &file), Some(3), "{file}");
                assert_eq!(node_of("a", &file), None);
                assert_eq!(step_of("a.b", 30, &file), None);
                assert_eq!(step_of("a", 3, &file), None);
                assert!(!is_vtkhdf("a.b", &file));
            }
        }
        for other in [
            manifest("a.b"),
            prepared("a.b", 3),
            vtkhdf("a.b", 1),
            "a.b.node3_1.parity".to_owned(),
        ] {
            assert_eq!(step_of("a.b", 3, &other), None, "{other}");
        }
        assert_eq!(node_of("a.b", &prepared("a.b", 30)), Some(30));
        for other in [
            manifest("a.b"),
            vtkhdf("a.b", 1),
            "a.b.node03.prepared".to_owned(),
            "a.b.node_00000001.h5".to_owned(),
            "a.b.node3.x_00000001.h5".to_owned(),
        ] {
            assert_eq!(node_of("a.b", &other), None, "{other}");
        }
        assert_eq!(names::parse(&vtkhdf("a", 1)), None);
        assert!(is_choice("a.b", &choice("a.b", "run/7")));
        assert!(!is_choice("a", &choice("a.b", "")) && !is_choice("a", "a.7.continued"));
        assert_ne!(choice("a", "1"), choice("a", "2"));
        assert!(is_vtkhdf("a_b", &vtkhdf("a_b", 123_456_789_012)));
        assert!(!is_vtkhdf("a", &vtkhdf("a_b", 1)) && !is_vtkhdf("a", "a_1.job.vtkhdf"));
    }
}
