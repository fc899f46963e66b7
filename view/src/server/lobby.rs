//! Connections, and a bound on those that have not proven yet that they know the token.
//!
//! Everybody on this machine can connect to a port. Those who have proven nothing wait in a lobby
//! of bounded size, for a bounded time: the oldest has to leave when a new one comes. So strangers
//! can neither use up the descriptors of the process nor keep out those who know the token.

use super::listen::{Listener, Stream};
use super::patience::Patience;
use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::resource::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// Most guests, where the process may have many descriptors.
const MOST: usize = 256;
/// Time that every guest has to prove itself before it may have to leave for others.
const GRACE: Duration = Duration::from_millis(250);
/// Pause when the process has no descriptor left for a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The guests.
#[derive(Debug)]
pub struct Lobby {
    limit: usize,
    guests: Mutex<Guests>,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    /// In the order of their coming.
    all: BTreeMap<u64, (Instant, watch::Sender<bool>)>,
}

/// A connection that has proven nothing yet. It leaves the lobby when this is dropped.
#[derive(Debug)]
pub struct Guest {
    lobby: Arc<Lobby>,
    number: u64,
    until: Instant,
    out: watch::Receiver<bool>,
}

impl Lobby {
    /// A lobby that takes no more than a quarter of the descriptors of this process.
    pub fn new() -> Arc<Self> {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let limit = (descriptors / 4).clamp(1, MOST as u64) as usize;
        let guests = Mutex::default();
        Arc::new(Lobby { limit, guests })
    }

    /// Lets a guest wait, at most so long.
    fn enter(self: &Arc<Self>, stay: Duration) -> Guest {
        let (sender, out) = watch::channel(false);
        let (mut guests, now) = (self.lock(), Instant::now());
        let number = guests.next;
        guests.next += 1;
        guests.all.insert(number, (now, sender));
        Guest {
            lobby: self.clone(),
            number,
            until: now + stay,
            out,
        }
    }

    /// Waits until there is room for one more: the oldest guests leave, but not before their grace.
    async fn make_room(&self) {
        while let Some(leaves) = self.oldest_if_full() {
            sleep_until(leaves).await;
            self.turn_out(leaves - GRACE);
        }
    }

    /// Returns when the oldest guest may be asked to leave, if one has to.
    fn oldest_if_full(&self) -> Option<Instant> {
        let guests = self.lock();
        let full = guests.all.len() >= self.limit;
        let (came, _) = guests.all.values().next().filter(|_| full)?;
        Some(*came + GRACE)
    }

    /// Asks the oldest guest to leave, if it came at this time or before.
    fn turn_out(&self, came: Instant) {
        let mut guests = self.lock();
        if let Some(oldest) = guests.all.first_entry()
            && oldest.get().0 <= came
        {
            let (_, sender) = oldest.remove();
            let _ = sender.send(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// Takes the connection out of the lobby: whoever is at its other end knows the token.
    pub fn let_in(&self) {
        self.lobby.lock().all.remove(&self.number);
    }

    /// Waits until the guest has to leave. Never, once it was let in.
    pub async fn has_to_leave(&self) {
        let mut out = self.out.clone();
        // The sender goes with the place in the lobby.
        let asked = timeout_at(self.until, out.wait_for(|out| *out));
        let is_let_in = matches!(asked.await, Ok(Err(_)));
        if is_let_in {
            pending::<()>().await;
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.let_in();
    }
}

/// Accepts connections and answers their requests.
pub async fn serve(listener: &Listener, router: Router, patience: Patience) -> Infallible {
    let lobby = Lobby::new();
    loop {
        match listener.accept().await {
            Ok(stream) => {
                lobby.make_room().await;
                let guest = Arc::new(lobby.enter(patience.proof));
                tokio::spawn(connection(stream, guest, router.clone(), patience.headers));
            }
            Err(error) => {
                // A connection that went away meanwhile is nothing; a lack of descriptors ends.
                tracing::debug!("cannot accept a connection: {error}");
                lobby.turn_out(Instant::now());
                sleep(PAUSE).await;
            }
        }
    }
}

/// Serves one connection until it ends or has to leave.
async fn connection(stream: Box<dyn Stream>, guest: Arc<Guest>, router: Router, headers: Duration) {
    let answer = TowerToHyperService::new(router);
    let service = {
        let guest = guest.clone();
        service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(guest.clone());
            answer.call(request)
        })
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(headers)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!("a connection ended: {error}");
        },
        () = guest.has_to_leave() => {}
    }
}
