//! The connection with a page, over a WebSocket.

use super::access::KnowsToken;
use super::greeting;
use super::lobby::Guest;
use super::regions::{self, Row};
use super::site::Site;
use super::timeouts::Timeouts;
use crate::frame::Writer;
use crate::hub::{Client, Hub, Update};
use crate::request::{ClientMessage, MAX_MESSAGE};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tcasm_core::place::check_name;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// The query of a request for a WebSocket.
#[derive(Debug, Deserialize)]
pub struct RegionQuery {
    pub(super) region: Option<String>,
}

/// Answers `GET /ws`. A program has the token in its request. A page does not: it proves over the
/// WebSocket that it knows the token.
pub async fn open(
    State(site): State<Arc<Site>>,
    Extension(guest): Extension<Arc<Guest>>,
    Query(asked): Query<RegionQuery>,
    knows: Option<Extension<KnowsToken>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = limited(upgrade);
    if knows.is_none() {
        return upgrade.on_upgrade(move |socket| greet(socket, guest, site));
    }
    match hub(&site, asked.region) {
        Ok(hub) => upgrade.on_upgrade(async move |socket| show(socket, &hub, &site).await),
        Err((status, why)) => (status, why).into_response(),
    }
}

/// Limits what a client can send at once.
pub(super) fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
}

/// Lets a client in if it proves that it knows the token. Returns the region that it asks for, or
/// why it is refused; `None` if the connection has to make room for others.
pub(super) async fn admit(
    socket: &mut WebSocket,
    guest: Arc<Guest>,
    site: &Site,
) -> Option<Result<Option<String>, String>> {
    let region = tokio::select! {
        region = greeting::greet(socket, &site.keys) => region,
        () = guest.has_to_leave() => return None,
    };
    Some(region.inspect(|_| guest.let_in()))
}

/// Lets a page in if it proves that it knows the token, and serves it until it is gone.
async fn greet(mut socket: WebSocket, guest: Arc<Guest>, site: Arc<Site>) {
    let Some(region) = admit(&mut socket, guest, &site).await else {
        return;
    };
    let hub = region.and_then(|region| hub(&site, region).map_err(|(_, why)| why));
    match hub {
        Ok(hub) => show(socket, &hub, &site).await,
        Err(why) => refuse(socket, why, site.timeouts.send).await,
    }
}

fn hub(site: &Site, region: Option<String>) -> Result<Hub, (StatusCode, String)> {
    if let Some(Err(error)) = region.as_deref().map(check_name) {
        return Err((StatusCode::BAD_REQUEST, error.to_string()));
    }
    site.hub(region).map_err(|error| {
        let text = format!("cannot follow the region: {error}");
        (StatusCode::SERVICE_UNAVAILABLE, text)
    })
}

/// Serves a page until it is gone.
async fn show(socket: WebSocket, hub: &Hub, site: &Arc<Site>) {
    if let Some(why) = Page::new(socket, hub, site).serve().await {
        tracing::debug!("dropped a page of {:?}: {why}", hub.name());
    }
}

/// Closes the connection of a page that is refused, and sends the reason.
async fn refuse(mut socket: WebSocket, why: String, limit: Duration) {
    close(&mut socket, close_code::POLICY, &why, limit).await;
}

/// Closes a connection with a code, and sends the reason.
pub(super) async fn close(socket: &mut WebSocket, code: u16, why: &str, limit: Duration) {
    // A close frame has room for 123 bytes.
    let reason: String = why.chars().filter(char::is_ascii).take(120).collect();
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let _ = timeout(limit, socket.send(Message::Close(Some(frame)))).await;
}

/// A page that is connected.
struct Page {
    socket: WebSocket,
    client: Client,
    news: Arc<Notify>,
    writer: Writer,
    /// Number of the frame that was sent and that the page has not drawn yet.
    under_way: Option<u64>,
    /// The time of the last message from the page.
    heard: Instant,
    /// True if a ping was sent since the last message from the page.
    asked: bool,
    timeouts: Timeouts,
    site: Arc<Site>,
    /// The list of regions that waits to be sent.
    regions: Arc<Mutex<Option<Vec<Row>>>>,
    /// The task that looks up the regions.
    lookup: Option<JoinHandle<()>>,
}

/// The next event of a connection.
enum Event {
    /// The page sent a message.
    Received(Message),
    /// The hub has an update, or the list of regions is ready.
    News,
    /// The page has sent nothing for a while.
    Quiet,
    /// The connection has ended; with the reason, if the page did not close it.
    Gone(Option<String>),
}

/// A text message of the server.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ServerMessage<'t> {
    Region(&'t crate::region::Region),
    Series(&'t crate::hub::Series),
    Regions { regions: &'t [Row] },
}

impl Page {
    fn new(socket: WebSocket, hub: &Hub, site: &Arc<Site>) -> Self {
        let news = Arc::new(Notify::new());
        let bell = news.clone();
        Page {
            socket,
            client: hub.client(move || bell.notify_one()),
            news,
            writer: Writer::default(),
            under_way: None,
            heard: Instant::now(),
            asked: false,
            timeouts: site.timeouts,
            site: site.clone(),
            regions: Arc::default(),
            lookup: None,
        }
    }

    /// Serves the page until it is gone. Returns the reason, unless the page closed the connection.
    async fn serve(mut self) -> Option<String> {
        loop {
            let quiet = match self.event().await {
                Event::Received(message) => match self.handle(message) {
                    Ok(()) => false,
                    Err(why) => {
                        refuse(self.socket, why.clone(), self.timeouts.send).await;
                        return Some(why);
                    }
                },
                Event::News => false,
                Event::Quiet => true,
                Event::Gone(why) => return why,
            };
            match timeout(self.timeouts.send, self.send_news(quiet)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_) => return Some("the page does not read".to_owned()),
            }
        }
    }

    /// Waits for the next event.
    async fn event(&mut self) -> Event {
        let Timeouts { quiet, silence, .. } = self.timeouts;
        let limit = if self.asked { silence } else { quiet };
        let message = tokio::select! {
            // Take a message before the timeout: this thread may not have run for a long time.
            biased;
            message = self.socket.recv() => message,
            () = self.news.notified() => return Event::News,
            () = sleep_until(self.heard + limit) => {
                let silent = Event::Gone(Some("the page does not answer".to_owned()));
                let asked = std::mem::replace(&mut self.asked, true);
                return if asked { silent } else { Event::Quiet };
            }
        };
        (self.heard, self.asked) = (Instant::now(), false);
        match message {
            Some(Ok(message)) => Event::Received(message),
            Some(Err(error)) => Event::Gone(Some(error.to_string())),
            None => Event::Gone(None),
        }
    }

    /// Handles a message of the page. An error ends the connection.
    fn handle(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Text(text) => match ClientMessage::parse(&text).map_err(|e| e.to_string())? {
                ClientMessage::View(request) => self.client.request(*request),
                ClientMessage::Drawn { frame } if self.under_way == Some(frame) => {
                    self.under_way = None
                }
                ClientMessage::Drawn { .. } => {}
                ClientMessage::Regions => self.look_up(),
            },
            Message::Binary(_) => return Err("a binary message; send it as text".to_owned()),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
        Ok(())
    }

    /// Starts to look up the regions, unless a lookup is running. It takes long if a producer does
    /// not answer.
    fn look_up(&mut self) {
        if self.lookup.as_ref().is_some_and(|last| !last.is_finished()) {
            return;
        }
        let (site, news, found) = (self.site.clone(), self.news.clone(), self.regions.clone());
        self.lookup = Some(tokio::spawn(async move {
            if let Ok(rows) = regions::rows(&site.regions).await {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
                news.notify_one();
            }
        }));
    }

    /// Sends pending updates. Sends a frame only when the page has drawn the one before. With
    /// `ask`, sends a ping first.
    async fn send_news(&mut self, ask: bool) -> Result<(), axum::Error> {
        if ask {
            self.socket.send(Message::Ping(Bytes::new())).await?;
        }
        let regions = self
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(regions) = regions {
            self.send(&ServerMessage::Regions { regions: &regions })
                .await?;
        }
        let update = match self.under_way {
            None => self.client.take(),
            Some(_) => self.client.take_news(),
        };
        let Update {
            region,
            series,
            frame,
        } = update;
        if let Some(region) = region {
            self.send(&ServerMessage::Region(&region)).await?;
        }
        if let Some(series) = series {
            self.send(&ServerMessage::Series(&series)).await?;
        }
        if let Some(frame) = frame {
            let (number, bytes) = self.writer.write(&frame);
            self.under_way = Some(number);
            self.socket.send(Message::Binary(bytes.into())).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: &ServerMessage<'_>) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        self.socket.send(Message::Text(text.into())).await
    }
}
