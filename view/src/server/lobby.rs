//! Connections, and a bound on those that have not proven yet that they know the token.
//!
//! Every process on this machine can connect to a port. Connections that have proven nothing wait
//! in a lobby of bounded size, for a bounded time. When the lobby is full, the oldest has to leave
//! for a new one. So untrusted peers can neither use up the descriptors of the process nor keep out
//! clients that know the token.

use super::listen::{Listener, Stream};
use super::timeouts::Timeouts;
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

/// Maximum number of guests. It is lower if the process may have fewer than 1024 descriptors.
const MOST: usize = 256;
/// Time that every guest has to prove itself, before it may have to leave for others.
const GRACE: Duration = Duration::from_millis(250);
/// Pause when the process has no descriptor left for a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The connections that have not proven yet that they know the token (the guests).
#[derive(Debug)]
pub struct Lobby {
    limit: usize,
    guests: Mutex<Guests>,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    /// The time when each guest came, and the channel that asks it to leave; oldest first.
    all: BTreeMap<u64, (Instant, watch::Sender<bool>)>,
}

/// A connection that has proven nothing yet. It leaves the lobby when this value is dropped.
#[derive(Debug)]
pub struct Guest {
    lobby: Arc<Lobby>,
    number: u64,
    until: Instant,
    out: watch::Receiver<bool>,
}

impl Lobby {
    /// Returns a lobby that uses at most a quarter of the descriptors of this process.
    pub fn new() -> Arc<Self> {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let limit = (descriptors / 4).clamp(1, MOST as u64) as usize;
        let guests = Mutex::default();
        Arc::new(Lobby { limit, guests })
    }

    /// Adds a guest, which may wait for at most `stay`.
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

    /// Waits until there is room for one more guest. If the lobby is full, asks the oldest guest to
    /// leave as soon as it has been there for `GRACE`.
    async fn make_room(&self) {
        while let Some(leaves) = self.oldest_if_full() {
            sleep_until(leaves).await;
            self.turn_out(leaves - GRACE);
        }
    }

    /// Returns the time when the oldest guest may be asked to leave, or `None` if there is room.
    fn oldest_if_full(&self) -> Option<Instant> {
        let guests = self.lock();
        let full = guests.all.len() >= self.limit;
        let (came, _) = guests.all.values().next().filter(|_| full)?;
        Some(*came + GRACE)
    }

    /// Asks the oldest guest to leave, if it came at `came` or before.
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
    /// Takes the connection out of the lobby. Call it when the peer has proven that it knows the
    /// token.
    pub fn let_in(&self) {
        self.lobby.lock().all.remove(&self.number);
    }

    /// Waits until the guest has to leave. Never returns for a guest that was let in.
    pub async fn has_to_leave(&self) {
        let mut out = self.out.clone();
        // The lobby drops the sender when the guest is let in.
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
pub async fn serve(listener: &Listener, router: Router, timeouts: Timeouts) -> Infallible {
    let lobby = Lobby::new();
    loop {
        match listener.accept().await {
            Ok(stream) => {
                lobby.make_room().await;
                let guest = Arc::new(lobby.enter(timeouts.proof));
                tokio::spawn(connection(stream, guest, router.clone(), timeouts.headers));
            }
            Err(error) => {
                // Either the peer has closed the connection, which does not matter, or descriptors
                // are lacking. Then a guest leaves, and the lack ends.
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
