//! The regions that can be looked at.

use super::Site;
use crate::region;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, Observer, Socket, runtime_dir, sockets};
use tokio::sync::Mutex;

/// A region of this user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    name: String,
    state: String,
}

/// A producer that has not answered by then is taken as stopped.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was seen stands for so long, however many pages ask: each look attaches to every region.
const FRESH: Duration = Duration::from_secs(3);

/// What was seen last, and when.
pub type Seen = Mutex<Option<(Instant, Vec<Row>)>>;

/// `GET /regions`
pub async fn list(State(site): State<Arc<Site>>) -> Result<Json<Vec<Row>>, (StatusCode, String)> {
    let failed = |why| (StatusCode::INTERNAL_SERVER_ERROR, why);
    rows(&site).await.map(Json).map_err(failed)
}

/// Returns the regions of this user, as they were a moment ago.
pub async fn rows(site: &Site) -> Result<Vec<Row>, String> {
    // Others that ask meanwhile wait for the same answer.
    let mut seen = site.regions.lock().await;
    if let Some((when, rows)) = &*seen
        && when.elapsed() < FRESH
    {
        return Ok(rows.clone());
    }
    let rows = look().await?;
    *seen = Some((Instant::now(), rows.clone()));
    Ok(rows)
}

async fn look() -> Result<Vec<Row>, String> {
    let folder = runtime_dir();
    let failed = |error| format!("cannot read {folder:?}: {error}");
    let sockets = sockets(&folder).map_err(failed)?;
    // Together: one that is stopped takes long not to answer.
    let running = sockets.into_iter().filter(|socket| !socket.kept);
    let looks: Vec<_> = running
        .map(|Socket { name, .. }| {
            let asked = name.clone();
            (name, tokio::task::spawn_blocking(move || state(&asked)))
        })
        .collect();
    let mut rows = Vec::new();
    for (name, look) in looks {
        let state = match tokio::time::timeout(PATIENCE, look).await {
            Ok(Ok(state)) => state,
            _ => "refused".to_owned(),
        };
        rows.push(Row { name, state });
    }
    Ok(rows)
}

/// As `PROTOCOL.md` names it.
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
