//! The list of regions that the server can show.

use crate::region;
use serde::Serialize;
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, Observer, Socket, runtime_dir, sockets};
use tokio::sync::Mutex;

/// A region of this user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    name: String,
    state: String,
}

/// Timeout for the answer of a producer. One that takes longer counts as stopped.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// Time for which a list is used again, however many pages ask. Each new list attaches to every
/// region.
const FRESH: Duration = Duration::from_secs(3);

/// The last list, and the time when it was made.
pub type Seen = Mutex<Option<(Instant, Vec<Row>)>>;

/// Returns the regions of this user. The list is at most [`FRESH`] old.
pub async fn rows(seen: &Seen) -> Result<Vec<Row>, String> {
    // Pages that ask meanwhile wait for this lock, and get the same list.
    let mut seen = seen.lock().await;
    if let Some((when, rows)) = &*seen
        && when.elapsed() < FRESH
    {
        return Ok(rows.clone());
    }
    let rows = query().await?;
    *seen = Some((Instant::now(), rows.clone()));
    Ok(rows)
}

async fn query() -> Result<Vec<Row>, String> {
    let folder = runtime_dir();
    let failed = |error| format!("cannot read {folder:?}: {error}");
    let sockets = sockets(&folder).map_err(failed)?;
    // Query all at once, because a stopped producer takes the whole timeout.
    let running = sockets.into_iter().filter(|socket| !socket.kept);
    let queries: Vec<_> = running
        .map(|Socket { name, .. }| {
            let asked = name.clone();
            (name, tokio::task::spawn_blocking(move || state(&asked)))
        })
        .collect();
    let mut rows = Vec::new();
    for (name, query) in queries {
        let state = match tokio::time::timeout(TIME_LIMIT, query).await {
            Ok(Ok(state)) => state,
            _ => "refused".to_owned(),
        };
        rows.push(Row { name, state });
    }
    Ok(rows)
}

/// Returns the state of a region, by its name in `PROTOCOL.md`.
fn state(name: &str) -> String {
    let state = match Observer::attach(name) {
        Ok(observer) => observer.status().map(region::State::from).ok(),
        Err(AttachError::Dead { .. } | AttachError::Ended { .. }) => Some(region::State::Lost),
        Err(_) => None,
    };
    match state.map(serde_json::to_value) {
        Some(Ok(serde_json::Value::String(state))) => state,
        _ => "refused".to_owned(),
    }
}
