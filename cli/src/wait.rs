//! Waits for the region that a command follows. The rule is the same for all commands:
//!
//! - A command that follows a region (`view`, `watch`, `info --watch`, `export --follow`,
//!   `checkpoint`, `keep`) waits until the region exists, and says so on standard error.
//!   `--timeout` and `--no-wait` limit the wait.
//! - Any other command looks once. If there is no such region, it fails at once.

use crate::args::WaitArgs;
use crate::failure::Failure;
use crate::named::{self, Named, is_missing};
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, GroupError, Observer};

/// The interval at which loops check for signals.
pub const POLL: Duration = Duration::from_millis(100);

/// Attaches to the region `name`. If it does not exist, calls `say` with a message for the user,
/// and waits as long as `wait` allows. Returns `None` if `end` returns true meanwhile. Fails if
/// `name` is a group.
pub fn attach(
    name: &str,
    wait: &WaitArgs,
    end: impl Fn() -> bool,
    say: impl FnOnce(&str),
) -> Result<Option<Observer>, Failure> {
    match attach_any(name, wait, end, say)? {
        Some(Named::Region(observer)) => Ok(Some(observer)),
        Some(Named::Group(group)) => Err(named::refusal(&group)),
        None => Ok(None),
    }
}

/// Does the same for a region or a group.
pub fn attach_any(
    name: &str,
    wait: &WaitArgs,
    end: impl Fn() -> bool,
    say: impl FnOnce(&str),
) -> Result<Option<Named>, Failure> {
    let deadline = wait.limit().map(|limit| Instant::now() + limit);
    let mut say = Some(say);
    while !end() {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let error = match Observer::attach_wait(name, left.min(POLL)) {
            Ok(observer) => return Ok(Some(Named::Region(observer))),
            Err(error) if is_missing(&error) => error,
            Err(error) => return Err(error.into()),
        };
        match named::group(name) {
            Ok(Some(group)) => return Ok(Some(Named::Group(group))),
            Err(GroupError::Attach(error)) if !is_missing(&error) => return Err(error.into()),
            _ if left <= POLL => return Err(error.into()),
            _ => {}
        }
        if let Some(say) = say.take() {
            say(&waiting(name, &error));
        }
    }
    Ok(None)
}

/// Does the same as [`attach`] for commands that attach later, and show meanwhile that the region
/// does not exist yet: if there is no limit, returns at once. Returns false if `end` returns true.
pub fn expect(
    name: &str,
    wait: &WaitArgs,
    end: impl Fn() -> bool,
    say: impl FnOnce(&str),
) -> Result<bool, Failure> {
    if wait.limit().is_some() {
        return Ok(attach(name, wait, end, say)?.is_some());
    }
    match Observer::attach(name) {
        Err(error) if is_missing(&error) => match named::group(name) {
            Ok(Some(group)) => return Err(named::refusal(&group)),
            _ => say(&waiting(name, &error)),
        },
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    Ok(true)
}

fn waiting(name: &str, error: &AttachError) -> String {
    format!("{error}; waiting for {name:?} (--timeout SECONDS and --no-wait limit this)")
}
