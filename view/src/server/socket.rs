//! A page at the other end of a WebSocket.

use super::Site;
use crate::frame::Writer;
use crate::hub::{Client, Hub, Update};
use crate::look::{MAX_MESSAGE, Said};
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::place::check_name;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

/// How long pages are waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A page that says nothing for so long is asked whether it is there. Browsers answer by themselves, even for a hidden page
    /// whose timers sleep.
    pub quiet: Duration,
    /// A page that says nothing for so long is gone, though nobody told.
    pub silence: Duration,
    /// A page that takes nothing for so long has stopped reading.
    pub send: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            quiet: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            send: Duration::from_secs(10),
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Asked {
    region: Option<String>,
}

/// `GET /ws`
pub async fn open(
    State(site): State<Arc<Site>>,
    Query(asked): Query<Asked>,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Some(Err(error)) = asked.region.as_deref().map(check_name) {
        return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
    }
    match site.hub(asked.region) {
        Ok(hub) => upgrade
            .max_message_size(MAX_MESSAGE)
            .max_frame_size(MAX_MESSAGE)
            .on_upgrade(move |socket| async move {
                if let Some(why) = Page::new(socket, &hub, site.patience).serve().await {
                    tracing::debug!("a page of {:?} is gone: {why}", hub.name());
                }
            }),
        Err(error) => {
            let text = format!("cannot follow the region: {error}");
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
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
}

impl Page {
    fn new(socket: WebSocket, hub: &Hub, patience: Patience) -> Self {
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
            patience,
        }
    }

    /// Until the page is gone; why, if it is not its own wish.
    async fn serve(mut self) -> Option<String> {
        loop {
            let quiet = match self.event().await {
                Event::Said(message) => match self.hear(message) {
                    Ok(()) => false,
                    Err(why) => return self.refuse(why).await,
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
            },
            Message::Binary(_) => return Err("a binary message; say it as text".to_owned()),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
        Ok(())
    }

    /// Close, and say why.
    async fn refuse(mut self, why: String) -> Option<String> {
        // A close frame has room for 123 bytes.
        let reason: String = why.chars().filter(char::is_ascii).take(120).collect();
        let close = CloseFrame {
            code: close_code::POLICY,
            reason: reason.into(),
        };
        let _ = timeout(
            self.patience.send,
            self.socket.send(Message::Close(Some(close))),
        )
        .await;
        Some(why)
    }

    /// Send what is new; a frame only when the one before was got. With `ask` an answer is asked for, too.
    async fn tell(&mut self, ask: bool) -> Result<(), axum::Error> {
        if ask {
            self.socket.send(Message::Ping(Bytes::new())).await?;
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
