//! The server of the live view: one page, its files, and a WebSocket that brings what it shows. `PROTOCOL.md` has the messages.

mod access;
mod assets;
mod regions;
mod socket;
pub mod token;

pub use access::{Access, Refused};
pub use socket::Patience;

use crate::hub::{Hub, Options};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The region that the page shows first.
    pub name: String,
    /// Where it listens.
    pub address: IpAddr,
    /// The port; 0 for any. None: the first free one from [`FIRST_PORT`] on.
    pub port: Option<u16>,
    /// What a browser must know.
    pub token: String,
    /// How eagerly it works.
    pub options: Options,
    /// How long it waits for pages.
    pub patience: Patience,
}

/// Where free ports are looked for.
pub const FIRST_PORT: u16 = 8337;
/// How many are tried.
const PORTS: u16 = 20;
/// How often it is looked whether the server shall end.
const STOP: Duration = Duration::from_millis(50);

/// Why nothing is served.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ServeError {
    #[error("port {port} of {address} is taken; give another one, or --port 0 for any")]
    Taken { address: IpAddr, port: u16 },
    #[error(
        "the ports {first} to {last} of {address} are taken; give another one, or --port 0 for any"
    )]
    AllTaken {
        address: IpAddr,
        first: u16,
        last: u16,
    },
    #[error(
        "cannot listen on {0}: {1}; give an address of this machine, and a port that this user may use"
    )]
    Listen(SocketAddr, io::Error),
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
}

/// What requests are answered from.
#[derive(Debug)]
struct Site {
    name: String,
    options: Options,
    patience: Patience,
    hubs: Mutex<HashMap<String, Hub>>,
    regions: regions::Seen,
}

/// A server that listens.
pub struct Server {
    runtime: runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

impl Server {
    /// Listen.
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(listen(settings.address, settings.port))?;
        let address = listener.local_addr()?;
        Ok(Server {
            runtime,
            listener,
            address,
            settings,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser. `host` is this machine for others.
    pub fn url(&self, host: &str) -> String {
        let place = reachable(self.address, host);
        format!("http://{place}/?token={}", self.settings.token)
    }

    /// Serve until `stop` says so. The calling thread gets what processor time others leave from now on.
    pub fn run(self, stop: impl Fn() -> bool) -> Result<(), ServeError> {
        tcasm_core::sys::thread::set_background();
        let site = Arc::new(Site::new(&self.settings));
        let access = Access::new(self.settings.token, self.address.ip().is_loopback());
        let serve = axum::serve(self.listener, router(site, access));
        let stopped = async {
            while !stop() {
                tokio::time::sleep(STOP).await;
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                result = async { serve.await } => Ok(result?),
                () = stopped => Ok(()),
            }
        })
    }
}

/// Who listens at all addresses of the machine has none that others could use: there it is the machine's name.
fn reachable(address: SocketAddr, host: &str) -> String {
    match address.ip().is_unspecified() {
        true => format!("{host}:{}", address.port()),
        false => address.to_string(),
    }
}

async fn listen(address: IpAddr, port: Option<u16>) -> Result<TcpListener, ServeError> {
    let (first, last) = port.map_or((FIRST_PORT, FIRST_PORT + PORTS - 1), |port| (port, port));
    for port in first..=last {
        let place = SocketAddr::new(address, port);
        match TcpListener::bind(place).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(ServeError::Listen(place, error)),
        }
    }
    Err(match port {
        Some(port) => ServeError::Taken { address, port },
        None => ServeError::AllTaken {
            address,
            first,
            last,
        },
    })
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
    fn new(settings: &Settings) -> Self {
        Site {
            name: settings.name.clone(),
            options: settings.options,
            patience: settings.patience,
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
