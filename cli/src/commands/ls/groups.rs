//! Groups as single rows.

use super::row::{KEPT, Ranks, Row, absent};
use crate::agreed;
use std::collections::BTreeMap;
use tcasm_core::group::{Member, agreed_region, rank_of};
use tcasm_observer::GroupObserver;

/// Replaces the rows of the ranks of each group by one row. Memory that is kept of dead ranks stays
/// as it is.
pub fn collapsed(rows: Vec<Row>) -> Vec<Row> {
    let is_member = |row: &&Row| row.state != KEPT && of_own_name(row).is_some();
    let members = rows.iter().filter(is_member);
    let groups: BTreeMap<String, Member> = members
        .filter_map(|row| Some((row.member.as_ref()?.group.clone(), row.member.clone()?)))
        .collect();
    let mut ranks: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut all = Vec::new();
    for row in rows {
        // The group's row shows what this region has.
        if groups.keys().any(|group| agreed_region(group) == row.name) {
            continue;
        }
        // A rank that has not published yet, or is dead, is known by its name only.
        let of = |group: &&String| row.state != KEPT && rank_of(group, &row.name).is_some();
        match groups.keys().find(of).cloned() {
            Some(group) => ranks.entry(group).or_default().push(row),
            None => all.push(row),
        }
    }
    all.extend(
        ranks
            .into_iter()
            .map(|(name, ranks)| group(&groups[&name], &ranks)),
    );
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns the place of a region in a group, if it has the name that belongs to it.
fn of_own_name(row: &Row) -> Option<&Member> {
    row.member
        .as_ref()
        .filter(|member| member.region() == row.name)
}

fn group(member: &Member, ranks: &[Row]) -> Row {
    let running = |row: &&Row| row.alive && row.state == "running";
    let present = ranks.iter().filter(running).count();
    let state = match ranks.iter().any(|row| !row.alive) {
        true => "lost",
        false if present == member.local_ranks as usize => "running",
        false => "incomplete",
    };
    let mut attached = GroupObserver::attach(&member.group).ok();
    let latest = attached.as_mut().and_then(|group| group.latest().ok());
    let agreed = attached
        .as_mut()
        .and_then(|group| agreed::of(group).ok().flatten());
    Row {
        alive: present > 0,
        step: latest.as_ref().map(|version| version.step()),
        time: latest.as_ref().map(|version| version.time()),
        held_bytes: ranks.iter().map(|row| row.held_bytes).sum(),
        observers: ranks.iter().filter_map(|row| row.observers).max(),
        ranks: Some(Ranks {
            present,
            wanted: member.local_ranks,
            all: member.ranks,
        }),
        agreed,
        ..absent(&member.group, state)
    }
}
