//! The server of the live view: one page, its files, and a WebSocket that brings what it shows. `PROTOCOL.md` has the messages.

mod access;
mod assets;
mod greeting;
mod listen;
mod lobby;
mod patience;
pub mod proof;
mod regions;
pub mod secret;
mod socket;

pub use access::{Access, Refused};
pub use listen::{FIRST_PORT, Place, ServeError};
pub use patience::Patience;

use crate::hub::{Hub, Options};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use listen::Listener;
use proof::Keys;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The region that the page shows first.
    pub name: String,
    /// Where it listens.
    pub place: Place,
    /// The user's secret, from which the token of the address is derived.
    pub secret: String,
    /// How eagerly it works.
    pub options: Options,
    /// How long it waits for pages.
    pub patience: Patience,
}

/// How often it is looked whether the server shall end.
const STOP: Duration = Duration::from_millis(50);

/// What requests are answered from.
#[derive(Debug)]
struct Site {
    name: String,
    options: Options,
    patience: Patience,
    keys: Arc<Keys>,
    hubs: Mutex<HashMap<String, Hub>>,
    regions: regions::Seen,
}

/// A server that listens.
pub struct Server {
    runtime: runtime::Runtime,
    listener: Listener,
    keys: Arc<Keys>,
    settings: Settings,
}

impl Server {
    /// Listen.
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(Listener::bind(&settings.place))?;
        let keys = Keys::new(&settings.secret, &listener.place(), secret::random()?);
        Ok(Server {
            runtime,
            listener,
            keys: Arc::new(keys),
            settings,
        })
    }

    /// The address and port where it listens, unless that is a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Port(_, address) => Some(*address),
            Listener::Socket(..) => None,
        }
    }

    /// The Unix socket where it listens, if it does.
    pub fn socket(&self) -> Option<&Path> {
        match &self.listener {
            Listener::Port(..) => None,
            Listener::Socket(_, file) => Some(&file.path),
        }
    }

    /// What opens the page. It is the same for all servers of a user at the same place.
    pub fn token(&self) -> &str {
        self.keys.token()
    }

    /// What to open in a browser. `host` is this machine for others. A Unix socket is reached through a
    /// tunnel, which begins at the usual port of the user's machine.
    pub fn url(&self, host: &str) -> String {
        let place = match self.address() {
            Some(address) => reachable(address, host),
            None => format!("127.0.0.1:{FIRST_PORT}"),
        };
        // Browsers send nothing of what follows the `#`.
        format!("http://{place}/#token={}", self.token())
    }

    /// Serve until `stop` says so. The calling thread gets what processor time others leave from now on.
    pub fn run(self, stop: impl Fn() -> bool) {
        tcasm_core::sys::thread::set_background();
        let site = Arc::new(Site::new(&self.settings, self.keys.clone()));
        let access = Access::new(self.keys, self.listener.is_local());
        let serve = lobby::serve(&self.listener, router(site, access), self.settings.patience);
        let stopped = async {
            while !stop() {
                tokio::time::sleep(STOP).await;
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                never = serve => match never {},
                () = stopped => {}
            }
        });
    }
}

/// Who listens at all addresses of the machine has none that others could use: there it is the machine's name.
fn reachable(address: SocketAddr, host: &str) -> String {
    match address.ip().is_unspecified() {
        true => format!("{host}:{}", address.port()),
        false => address.to_string(),
    }
}

fn router(site: Arc<Site>, access: Access) -> Router {
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{*name}", get(assets::asset))
        .route("/colormaps", get(assets::colormaps))
        .route("/regions", get(regions::list))
        .route("/ws", get(socket::open))
        .layer(from_fn_with_state(Arc::new(access), access::check))
        .layer(from_fn(access::harden))
        .with_state(site)
}

impl Site {
    fn new(settings: &Settings, keys: Arc<Keys>) -> Self {
        Site {
            name: settings.name.clone(),
            options: settings.options,
            patience: settings.patience,
            keys,
            hubs: Mutex::default(),
            regions: regions::Seen::default(),
        }
    }

    /// The hub of a region. Those that nobody looks at any more are given up, but for the one of the command line.
    fn hub(&self, name: Option<String>) -> io::Result<Hub> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_to_open_is_one_that_can_be_reached() {
        let seen = |address: &str| reachable(address.parse().unwrap(), "node042");
        for all in ["0.0.0.0:80", "[::]:80"] {
            assert_eq!(seen(all), "node042:80");
        }
        for one in ["127.0.0.1:8337", "[::1]:8337", "192.0.2.1:80"] {
            assert_eq!(seen(one), one);
        }
    }
}
