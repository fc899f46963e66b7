//! Finds what a name on the command line means: a region, or a group of regions.
//!
//! A region that can be attached to comes first. If there is none, `heat` means the group of the
//! regions `heat.0`, `heat.1` and so on.

use crate::failure::{Code, Failure};
use tcasm_core::group::region_name;
use tcasm_observer::{AttachError, GroupError, GroupObserver, Observer};

/// The most names that a message lists.
const FEW: usize = 4;

/// A region or a group.
pub enum Named {
    Region(Observer),
    Group(GroupObserver),
}

/// Attaches to what `name` means.
pub fn attach(name: &str) -> Result<Named, Failure> {
    let error = match Observer::attach(name) {
        Ok(observer) => return Ok(Named::Region(observer)),
        Err(error) => error,
    };
    if !is_missing(&error) {
        return Err(error.into());
    }
    match group(name)? {
        Some(group) => Ok(Named::Group(group)),
        None => Err(error.into()),
    }
}

/// Attaches to the group `name`, if there are regions of it.
pub fn group(name: &str) -> Result<Option<GroupObserver>, GroupError> {
    match GroupObserver::attach(name) {
        Ok(group) => Ok(Some(group)),
        Err(GroupError::NotFound { .. } | GroupError::Name(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if the region may appear later: it does not exist, or its producer is dead.
pub fn is_missing(error: &AttachError) -> bool {
    use AttachError::{Dead, Ended, NotFound};
    matches!(error, NotFound { .. } | Dead { .. } | Ended { .. })
}

/// Returns the failure of a command that takes single regions only.
pub fn refusal(group: &GroupObserver) -> Failure {
    let (name, ranks) = (group.name(), group.members().len());
    let names: Vec<String> = group
        .members()
        .take(FEW)
        .map(|(rank, _)| region_name(name, rank))
        .collect();
    let more = match ranks - names.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let text = format!(
        "{name:?} is a group of {ranks} regions, and this command takes single regions: {}{more}",
        names.join(", ")
    );
    Failure::new(Code::Usage, text)
}
