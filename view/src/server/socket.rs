//! A page at the other end of a WebSocket.

use super::access::KnowsToken;
use super::lobby::Guest;
use super::patience::Patience;
use super::regions::{self, Row};
use super::{Site, greeting};
use crate::frame::Writer;
use crate::hub::{Client, Hub, Update};
use crate::look::{MAX_MESSAGE, Said};
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

#[derive(Debug, Deserialize)]
pub struct Asked {
    region: Option<String>,
}

/// `GET /ws`. A program has the token in its request. A page comes without, and proves over the
/// WebSocket that it knows it.
pub async fn open(
    State(site): State<Arc<Site>>,
    Extension(guest): Extension<Arc<Guest>>,
    Query(asked): Query<Asked>,
    knows: Option<Extension<KnowsToken>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE);
    if knows.is_none() {
        return upgrade.on_upgrade(move |socket| greet(socket, guest, site));
    }
    match hub(&site, asked.region) {
        Ok(hub) => upgrade.on_upgrade(async move |socket| show(socket, &hub, &site).await),
        Err((status, why)) => (status, why).into_response(),
    }
}

/// Lets a page in if it proves that it knows the token, and shows it what it asks for.
async fn greet(mut socket: WebSocket, guest: Arc<Guest>, site: Arc<Site>) {
    let greeted = tokio::select! {
        greeted = greeting::greet(&mut socket, &site.keys) => greeted,
        // It has to make room for others.
        () = guest.has_to_leave() => return,
    };
    let hub = greeted.and_then(|region| {
        guest.let_in();
        hub(&site, region).map_err(|(_, why)| why)
    });
    drop(guest);
    match hub {
        Ok(hub) => show(socket, &hub, &site).await,
        Err(why) => refuse(socket, why, site.patience.send).await,
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

async fn show(socket: WebSocket, hub: &Hub, site: &Arc<Site>) {
    if let Some(why) = Page::new(socket, hub, site).serve().await {
        tracing::debug!("a page of {:?} is gone: {why}", hub.name());
    }
}

/// Closes, and says why.
async fn refuse(mut socket: WebSocket, why: String, patience: Duration) {
    // A close frame has room for 123 bytes.
    let reason: String = why.chars().filter(char::is_ascii).take(120).collect();
    let close = CloseFrame {
        code: close_code::POLICY,
        reason: reason.into(),
    };
    let _ = timeout(patience, socket.send(Message::Close(Some(close)))).await;
}

struct Page {
    socket: WebSocket,
    client: Client,
    news: Arc<Notify>,
    writer: Writer,
    /// The frame that was sent and not yet got.
    under_way: Option<u64>,
    /// When it said something the last time.
    heard: Instant,
    /// It was asked since whether it is there.
    asked: bool,
    patience: Patience,
    site: Arc<Site>,
    /// The regions, when they have been looked up for it.
    regions: Arc<Mutex<Option<Vec<Row>>>>,
    /// They are being looked up.
    lookup: Option<JoinHandle<()>>,
}

/// What happens next.
enum Event {
    Said(Message),
    News,
    Quiet,
    /// Why, if it is not the page's own wish.
    Gone(Option<String>),
}

/// A text message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Told<'t> {
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
            patience: site.patience,
            site: site.clone(),
            regions: Arc::default(),
            lookup: None,
        }
    }

    /// Until the page is gone; why, if it is not its own wish.
    async fn serve(mut self) -> Option<String> {
        loop {
            let quiet = match self.event().await {
                Event::Said(message) => match self.hear(message) {
                    Ok(()) => false,
                    Err(why) => {
                        refuse(self.socket, why.clone(), self.patience.send).await;
                        return Some(why);
                    }
                },
                Event::News => false,
                Event::Quiet => true,
                Event::Gone(why) => return why,
            };
            match timeout(self.patience.send, self.tell(quiet)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_) => return Some("it does not read".to_owned()),
            }
        }
    }

    async fn event(&mut self) -> Event {
        let Patience { quiet, silence, .. } = self.patience;
        let patience = if self.asked { silence } else { quiet };
        let message = tokio::select! {
            // What has come counts before the time that is over: this thread may not have run for long.
            biased;
            message = self.socket.recv() => message,
            () = self.news.notified() => return Event::News,
            () = sleep_until(self.heard + patience) => {
                let silent = Event::Gone(Some("it is silent".to_owned()));
                let asked = std::mem::replace(&mut self.asked, true);
                return if asked { silent } else { Event::Quiet };
            }
        };
        (self.heard, self.asked) = (Instant::now(), false);
        match message {
            Some(Ok(message)) => Event::Said(message),
            Some(Err(error)) => Event::Gone(Some(error.to_string())),
            None => Event::Gone(None),
        }
    }

    fn hear(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Text(text) => match Said::parse(&text).map_err(|e| e.to_string())? {
                Said::Look(look) => self.client.look(*look),
                Said::Got { frame } if self.under_way == Some(frame) => self.under_way = None,
                Said::Got { .. } => {}
                Said::Regions => self.look_up(),
            },
            Message::Binary(_) => return Err("a binary message; say it as text".to_owned()),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
        Ok(())
    }

    /// Looks up the regions, unless that is under way. Those that do not answer take long.
    fn look_up(&mut self) {
        if self.lookup.as_ref().is_some_and(|last| !last.is_finished()) {
            return;
        }
        let (site, news, found) = (self.site.clone(), self.news.clone(), self.regions.clone());
        self.lookup = Some(tokio::spawn(async move {
            if let Ok(rows) = regions::rows(&site).await {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
                news.notify_one();
            }
        }));
    }

    /// Send what is new; a frame only when the one before was got. With `ask` an answer is asked for, too.
    async fn tell(&mut self, ask: bool) -> Result<(), axum::Error> {
        if ask {
            self.socket.send(Message::Ping(Bytes::new())).await?;
        }
        let regions = self
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(regions) = regions {
            self.say(&Told::Regions { regions: &regions }).await?;
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
            self.say(&Told::Region(&region)).await?;
        }
        if let Some(series) = series {
            self.say(&Told::Series(&series)).await?;
        }
        if let Some(frame) = frame {
            let (number, bytes) = self.writer.write(&frame);
            self.under_way = Some(number);
            self.socket.send(Message::Binary(bytes.into())).await?;
        }
        Ok(())
    }

    async fn say(&mut self, told: &Told<'_>) -> Result<(), axum::Error> {
        let text = serde_json::to_string(told).map_err(axum::Error::new)?;
        self.socket.send(Message::Text(text.into())).await
    }
}
