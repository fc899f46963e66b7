//! Sends the versions of a region, or the steps of a group, to a program that mirrors them on
//! another machine.

use super::access::KnowsToken;
use super::lobby::Guest;
use super::site::Site;
use super::socket::{RegionQuery, admit, close, limited};
use super::timeouts::Timeouts;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use tcasm_observer::{AttachError, GroupError, GroupObserver, ObserveError, Observer, Version};
use tcasm_relay::{Outgoing, RelayError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

/// The messages that wait to be sent. More would only take memory.
const WAITING: usize = 2;
/// The most bytes of a message. Even a slow connection takes one in a second.
const MOST: usize = 64 << 10;
/// The interval at which the thread looks whether the connection is still there.
const POLL: Duration = Duration::from_millis(100);

/// The time that the other side gets to close the connection.
const LAST: Duration = Duration::from_secs(1);

/// The code of the close frame of a relay: there is no such region.
pub const NO_REGION: u16 = 4003;
/// The code of the close frame of a relay: the producer is lost.
pub const LOST: u16 = 4004;

/// Answers `GET /relay`, by the rules of `GET /ws`.
pub async fn open(
    State(site): State<Arc<Site>>,
    Extension(guest): Extension<Arc<Guest>>,
    Query(asked): Query<RegionQuery>,
    knows: Option<Extension<KnowsToken>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let known = knows.map(|_| asked.region);
    limited(upgrade).on_upgrade(async move |mut socket| {
        let region = match known {
            Some(region) => Some(Ok(region)),
            None => admit(&mut socket, guest, &site).await,
        };
        match region {
            Some(Ok(region)) => relay(socket, region, &site).await,
            Some(Err(why)) => {
                let refused = End::new(close_code::POLICY, why);
                end(&mut socket, refused, site.timeouts.send).await;
            }
            None => {}
        }
    })
}

/// Why a relay ends: the code of the close frame, and its text.
struct End {
    code: u16,
    why: String,
}

impl End {
    fn new(code: u16, why: impl ToString) -> End {
        let why = why.to_string();
        End { code, why }
    }
}

/// Relays a region or group until it ends, or the receiver is gone.
async fn relay(mut socket: WebSocket, region: Option<String>, site: &Site) {
    let name = region.unwrap_or_else(|| site.mirrored().to_owned());
    let (sender, mut messages) = channel(WAITING);
    // The thread ends when the channel is closed.
    let thread = spawn_blocking(move || follow(&name, &sender));
    if let Err(why) = send_all(&mut socket, &mut messages, site.timeouts).await {
        tracing::debug!("dropped a mirror: {why}");
        return;
    }
    let why = thread.await;
    let why = why.unwrap_or_else(|_| End::new(close_code::ERROR, "the relay has failed"));
    end(&mut socket, why, site.timeouts.send).await;
}

/// Sends messages until there are no more. An error says why the receiver is gone.
async fn send_all(
    socket: &mut WebSocket,
    messages: &mut Receiver<Vec<u8>>,
    timeouts: Timeouts,
) -> Result<(), String> {
    let (mut heard, mut asked) = (Instant::now(), false);
    loop {
        let limit = if asked {
            timeouts.silence
        } else {
            timeouts.quiet
        };
        let message = tokio::select! {
            biased;
            received = socket.recv() => match received {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                    (heard, asked) = (Instant::now(), false);
                    continue;
                }
                Some(Ok(Message::Close(_))) | None => return Err("it has ended".to_owned()),
                Some(Ok(_)) => return Err("it sends something".to_owned()),
                Some(Err(error)) => return Err(error.to_string()),
            },
            message = messages.recv() => match message {
                Some(message) => Message::Binary(message.into()),
                None => return Ok(()),
            },
            () = sleep_until(heard + limit) => match asked {
                true => return Err("it does not answer".to_owned()),
                false => Message::Ping(Bytes::new()),
            },
        };
        asked |= matches!(message, Message::Ping(_));
        match timeout(timeouts.send, socket.send(message)).await {
            Ok(sent) => sent.map_err(|error| error.to_string())?,
            Err(_) => return Err("it does not read".to_owned()),
        }
    }
}

/// Closes the connection, sends the reason, and waits for the other side to close it.
async fn end(socket: &mut WebSocket, end: End, limit: Duration) {
    close(socket, end.code, &end.why, limit).await;
    // If something has come that was not read, the system would take back what was sent.
    let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
    let _ = timeout(LAST, rest).await;
}

/// Sends the newest versions of a region or group, one after the other. Returns why there are no
/// more.
fn follow(name: &str, to: &Sender<Vec<u8>>) -> End {
    let mut source = match Source::attach(name) {
        Ok(source) => source,
        Err(end) => return end,
    };
    let mut sent = Vec::new();
    while !to.is_closed() {
        match source.newer() {
            Ok(Some(versions)) => match send_step(&versions, &sent, to) {
                Ok(()) => sent = versions,
                Err(error) => return End::new(close_code::ERROR, error),
            },
            Ok(None) => {}
            Err(end) => return end,
        }
    }
    End::new(close_code::NORMAL, "the receiver is gone")
}

/// Sends what differs from the versions that were sent before.
fn send_step(
    versions: &[(u32, Version)],
    sent: &[(u32, Version)],
    to: &Sender<Vec<u8>>,
) -> Result<(), RelayError> {
    let numbers: Vec<u32> = versions.iter().map(|(number, _)| *number).collect();
    // An error of the channel says that the receiver is gone, which the caller notices.
    let _ = to.blocking_send(tcasm_relay::step(&numbers));
    for (number, version) in versions {
        let before = sent.iter().find(|(other, _)| other == number);
        let outgoing = Outgoing::new(*number, version, before.map(|(_, version)| version))?;
        let mut outgoing = outgoing.at_most(MOST);
        while let Some(message) = outgoing.next_message()? {
            if to.blocking_send(message).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The region or group that is relayed.
enum Source {
    Region(Observer),
    Group(GroupObserver),
}

impl Source {
    fn attach(name: &str) -> Result<Source, End> {
        use AttachError::{Dead, Ended, NotFound};
        let missing = match Observer::attach(name) {
            Ok(observer) => return Ok(Source::Region(observer)),
            Err(error @ (NotFound { .. } | Dead { .. } | Ended { .. })) => error,
            Err(error) => return Err(End::new(attach_code(&error), error)),
        };
        match GroupObserver::attach(name) {
            Ok(group) => Ok(Source::Group(group)),
            Err(GroupError::NotFound { .. } | GroupError::Name(_)) => {
                Err(End::new(attach_code(&missing), missing))
            }
            Err(GroupError::Attach(error)) => Err(End::new(attach_code(&error), error)),
            Err(error) => Err(End::new(group_code(&error), error)),
        }
    }

    /// Waits for a moment for newer versions than the last ones. Returns them with the numbers of
    /// their regions, or `None` if there are none yet.
    fn newer(&mut self) -> Result<Option<Vec<(u32, Version)>>, End> {
        match self {
            Source::Region(observer) => match observer.wait_newer(POLL) {
                Ok(version) => Ok(Some(vec![(0, version)])),
                Err(ObserveError::NotReady) => Ok(None),
                Err(error) => Err(End::new(observe_code(&error), error)),
            },
            Source::Group(group) => {
                use GroupError::{Absent, Attach, NotReady, OtherRun};
                match group.wait_newer(POLL) {
                    Ok(version) => Ok(Some(members(&version))),
                    // Ranks begin or end, one after the other.
                    Err(NotReady { .. } | Absent { .. } | OtherRun { .. } | Attach(_)) => Ok(None),
                    Err(error) => Err(End::new(group_code(&error), error)),
                }
            }
        }
    }
}

fn members(of: &tcasm_observer::GroupVersion) -> Vec<(u32, Version)> {
    let members = of.members();
    members
        .map(|(rank, version)| (rank, version.clone()))
        .collect()
}

fn attach_code(error: &AttachError) -> u16 {
    match error {
        AttachError::NotFound { .. } => NO_REGION,
        AttachError::Dead { .. } | AttachError::Ended { .. } => LOST,
        AttachError::Name(_) | AttachError::NotAllowed { .. } | AttachError::OtherUser { .. } => {
            close_code::POLICY
        }
        _ => close_code::ERROR,
    }
}

fn observe_code(error: &ObserveError) -> u16 {
    match error {
        ObserveError::EndOfStream => close_code::NORMAL,
        ObserveError::ProducerLost => LOST,
        ObserveError::Revoked => close_code::POLICY,
        _ => close_code::ERROR,
    }
}

fn group_code(error: &GroupError) -> u16 {
    match error {
        GroupError::EndOfStream { .. } => close_code::NORMAL,
        GroupError::Lost { .. } => LOST,
        _ => close_code::ERROR,
    }
}
