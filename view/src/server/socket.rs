//! A page at the other end of a WebSocket.

use super::Site;
use crate::frame::Writer;
use crate::hub::{Client, Hub, Update};
use crate::look::{MAX_MESSAGE, Said};
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

/// A page that says nothing for so long is gone, though nobody told.
const SILENCE: Duration = Duration::from_secs(30);
/// A page that takes nothing for so long has stopped reading.
const SEND: Duration = Duration::from_secs(10);

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
                if let Some(why) = Page::new(socket, &hub).serve().await {
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
}

/// A text message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Told<'t> {
    Region(&'t crate::region::Region),
    Series(&'t crate::hub::Series),
}

impl Page {
    fn new(socket: WebSocket, hub: &Hub) -> Self {
        let news = Arc::new(Notify::new());
        let bell = news.clone();
        Page {
            socket,
            client: hub.client(move || bell.notify_one()),
            news,
            writer: Writer::default(),
            under_way: None,
        }
    }

    /// Until the page is gone; why, if it is not its own wish.
    async fn serve(mut self) -> Option<String> {
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                message = self.socket.recv() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(message)) => if let Err(why) = self.hear(message) {
                            return self.refuse(why).await;
                        },
                        Some(Err(error)) => return Some(error.to_string()),
                        None => return None,
                    }
                }
                () = self.news.notified() => {}
                () = sleep_until(heard + SILENCE) => return Some("it is silent".to_owned()),
            }
            match timeout(SEND, self.tell()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_) => return Some("it does not read".to_owned()),
            }
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
        let _ = timeout(SEND, self.socket.send(Message::Close(Some(close)))).await;
        Some(why)
    }

    /// Send what is new; a frame only when the one before was got.
    async fn tell(&mut self) -> Result<(), axum::Error> {
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
