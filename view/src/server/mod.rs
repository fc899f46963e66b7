//! The server of the live view: one page, its files, a WebSocket for the data that the page shows,
//! and one for programs that mirror a region elsewhere. `PROTOCOL.md` defines the messages.

mod access;
mod assets;
mod greeting;
mod listen;
mod lobby;
pub mod proof;
mod regions;
mod relay;
pub mod secret;
mod settings;
mod site;
mod socket;
mod timeouts;
mod visitor;

pub use access::{Access, Refused};
pub use listen::{Endpoint, FIRST_PORT, ServeError};
pub use relay::{LOST, NO_REGION};
pub use settings::Settings;
pub use timeouts::Timeouts;
pub use visitor::Visitor;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use listen::Listener;
use proof::Keys;
use site::Site;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime;

/// Time between two checks whether the server has to end.
const STOP: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    runtime: runtime::Runtime,
    listener: Listener,
    keys: Arc<Keys>,
    settings: Settings,
}

impl Server {
    /// Listens at the place in the settings. Connections wait until `run` is called.
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(Listener::bind(&settings.endpoint))?;
        let keys = Keys::new(&settings.secret, &listener.place(), secret::random()?);
        Ok(Server {
            runtime,
            listener,
            keys: Arc::new(keys),
            settings,
        })
    }

    /// Returns the address and port where the server listens, or `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Port(_, address) => Some(*address),
            Listener::Socket(..) => None,
        }
    }

    /// Returns the path of the Unix socket where the server listens, or `None` for a port.
    pub fn socket(&self) -> Option<&Path> {
        match &self.listener {
            Listener::Port(..) => None,
            Listener::Socket(_, file) => Some(&file.path),
        }
    }

    /// Returns the token of the address. It is the same for all servers of a user at the same
    /// place.
    pub fn token(&self) -> &str {
        self.keys.token()
    }

    /// Returns the address to open in a browser. `host` is the name of this machine in the network.
    /// A Unix socket is reached through a tunnel, which begins at [`FIRST_PORT`] of the user's
    /// machine.
    pub fn url(&self, host: &str) -> String {
        let place = match self.address() {
            Some(address) => reachable(address, host),
            None => format!("127.0.0.1:{FIRST_PORT}"),
        };
        // Browsers do not send the part after the `#`.
        format!("http://{place}/#token={}", self.token())
    }

    /// Serves until `stop` returns true. Gives the calling thread a low priority, from now on: it
    /// gets the processor time that others leave.
    pub fn run(self, stop: impl Fn() -> bool) {
        tcasm_core::sys::thread::set_background();
        let site = Arc::new(Site::new(&self.settings, self.keys.clone()));
        let access = Access::new(self.keys, self.listener.is_local());
        let serve = lobby::serve(&self.listener, router(site, access), self.settings.timeouts);
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

/// Returns the address as others can use it. For a server that listens at all addresses of the
/// machine, this is the name of the machine.
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
        .route("/regions", get(site::list))
        .route("/relay", get(relay::open))
        .route("/ws", get(socket::open))
        .layer(from_fn_with_state(Arc::new(access), access::check))
        .layer(from_fn(access::harden))
        .with_state(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_address_can_be_reached_from_elsewhere() {
        let seen = |address: &str| reachable(address.parse().unwrap(), "node042");
        for all in ["0.0.0.0:80", "[::]:80"] {
            assert_eq!(seen(all), "node042:80");
        }
        for one in ["127.0.0.1:8337", "[::1]:8337", "192.0.2.1:80"] {
            assert_eq!(seen(one), one);
        }
    }
}
