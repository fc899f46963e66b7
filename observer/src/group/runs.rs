//! The ranks of one run, among regions that ranks of several runs have left.

use super::version::GroupVersion;
use crate::version::Version;
use tcasm_core::group::Member;

/// The ranks with their newest versions.
type Newest = [(u32, Version)];

/// Returns all ranks of one run on this host: the live ones, or those of the latest run, which may
/// have ended. Returns `None` if neither are all of their run.
pub(super) fn whole_run(group: &str, newest: &Newest, live: &[u32]) -> Option<Vec<u32>> {
    let is_live = |(rank, _): &&(u32, Version)| live.contains(rank);
    let live = newest.iter().filter(is_live).cloned().collect();
    [live, of_latest_run(newest)].into_iter().find_map(|run| {
        let whole = GroupVersion::new(group, run, String::new).ok()?;
        Some(whole.members().map(|(rank, _)| rank).collect())
    })
}

/// Returns the ranks that are of the same run as the one whose region was created last.
fn of_latest_run(newest: &Newest) -> Vec<(u32, Version)> {
    let created = |(_, version): &&(u32, Version)| version.session().info.created;
    let latest = newest.iter().max_by_key(created);
    let Some(run) = latest.and_then(|(_, version)| run_of(version)) else {
        return Vec::new();
    };
    let is_of_run = |(_, version): &&(u32, Version)| run_of(version).is_some_and(|of| of == run);
    newest.iter().filter(is_of_run).cloned().collect()
}

/// Returns the name of the run that a version says it is of.
fn run_of(version: &Version) -> Option<String> {
    let member = Member::from_attrs(&version.table().attrs);
    member.ok().map(|member| member.run)
}
