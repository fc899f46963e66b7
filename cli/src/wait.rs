//! Waits for the region that a command follows. The rule is the same for all commands:
//!
//! - A command that follows a region (`view`, `watch`, `info --watch`, `export --follow`,
//!   `checkpoint`, `keep`) waits until the region exists, and says so on standard error.
//!   `--timeout` and `--no-wait` limit the wait.
//! - Any other command looks once. If there is no such region, it fails at once.

use crate::args::WaitArgs;
use crate::failure::Failure;
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, Observer};

/// The interval at which loops check for signals.
pub const POLL: Duration = Duration::from_millis(100);

/// Attaches to the region `name`. If it does not exist, calls `say` with a message for the user,
/// and waits as long as `wait` allows. Returns `None` if `end` returns true meanwhile.
pub fn attach(
    name: &str,
    wait: &WaitArgs,
    end: impl Fn() -> bool,
    say: impl FnOnce(&str),
) -> Result<Option<Observer>, Failure> {
    let deadline = wait.limit().map(|limit| Instant::now() + limit);
    let mut say = Some(say);
    while !end() {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match Observer::attach_wait(name, left.min(POLL)) {
            Ok(observer) => return Ok(Some(observer)),
            Err(error) if is_missing(&error) && left > POLL => {
                if let Some(say) = say.take() {
                    say(&waiting(name, &error));
                }
            }
            Err(error) => return Err(error.into()),
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
        Err(error) if is_missing(&error) => say(&waiting(name, &error)),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    Ok(true)
}

/// Returns true if the region may appear later: it does not exist, or its producer is dead.
fn is_missing(error: &AttachError) -> bool {
    use AttachError::{Dead, Ended, NotFound};
    matches!(error, NotFound { .. } | Dead { .. } | Ended { .. })
}

fn waiting(name: &str, error: &AttachError) -> String {
    format!("{error}; waiting for {name:?} (--timeout SECONDS and --no-wait limit this)")
}
