//! The state that requests are answered from: the hubs, and the list of regions.

use super::proof::Keys;
use super::regions::{self, Row, Seen};
use super::settings::Settings;
use super::timeouts::Timeouts;
use crate::hub::{Hub, Options};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The state that requests are answered from.
#[derive(Debug)]
pub struct Site {
    name: String,
    mirrored: String,
    options: Options,
    pub(super) timeouts: Timeouts,
    pub(super) keys: Arc<Keys>,
    hubs: Mutex<HashMap<String, Hub>>,
    pub(super) regions: Seen,
}

impl Site {
    /// Returns the state at the start, without hubs.
    pub fn new(settings: &Settings, keys: Arc<Keys>) -> Self {
        Site {
            name: settings.name.clone(),
            mirrored: settings.mirrored.clone(),
            options: settings.options,
            timeouts: settings.timeouts,
            keys,
            hubs: Mutex::default(),
            regions: Seen::default(),
        }
    }

    /// Returns the name of what a mirror gets that asks for nothing else.
    pub fn mirrored(&self) -> &str {
        &self.mirrored
    }

    /// Returns the hub of a region (`None`: the region of the command line), and starts it if there
    /// is none. Drops other hubs that have no clients, except the hub of the command line.
    pub fn hub(&self, name: Option<String>) -> io::Result<Hub> {
        let name = name.unwrap_or_else(|| self.name.clone());
        let mut hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        hubs.retain(|other, hub| *other == self.name || hub.clients() > 0);
        if let Some(hub) = hubs.get(&name) {
            return Ok(hub.clone());
        }
        let hub = Hub::start(&name, self.options)?;
        hubs.insert(name, hub.clone());
        Ok(hub)
    }
}

/// Answers `GET /regions`.
pub async fn list(State(site): State<Arc<Site>>) -> Result<Json<Vec<Row>>, (StatusCode, String)> {
    let failed = |why| (StatusCode::INTERNAL_SERVER_ERROR, why);
    regions::rows(&site.regions).await.map(Json).map_err(failed)
}
