//! The first messages of a connection: server and page prove to each other that they know the same
//! key.
//!
//! The page sends nothing else before the server has proven it. So another program that listens at
//! the port later learns nothing. The server sends nothing about any region before the page has
//! proven it.

use super::proof::{Hello, Keys, Proof};
use super::secret;
use crate::request::MAX_MESSAGE;
use axum::extract::ws::{Message, WebSocket};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum First {
    Hello(Hello),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Answer {
    Proof(Proof),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Second {
    Enter {
        proof: String,
        region: Option<String>,
    },
}

/// Exchanges proofs with a page. Returns the region that the page asks for, or the reason why it is
/// refused.
pub async fn greet(socket: &mut WebSocket, keys: &Keys) -> Result<Option<String>, String> {
    let First::Hello(hello) = receive(socket).await?;
    let nonce = secret::random().map_err(|error| format!("cannot get random bytes: {error}"))?;
    let (proof, expected) = keys
        .prove(&hello, nonce)
        .ok_or("the nonce is not 32 to 128 hexadecimal digits")?;
    let answer = serde_json::to_string(&Answer::Proof(proof)).map_err(|e| e.to_string())?;
    let sent = socket.send(Message::Text(answer.into())).await;
    sent.map_err(|error| error.to_string())?;
    let Second::Enter { proof, region } = receive(socket).await?;
    match expected.is(&proof) {
        true => Ok(region),
        false => Err("the proof is wrong: open the address that tcasm view has printed".to_owned()),
    }
}

/// Waits for a message.
async fn receive<M: for<'m> Deserialize<'m>>(socket: &mut WebSocket) -> Result<M, String> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) if text.len() <= MAX_MESSAGE => {
                return serde_json::from_str(&text).map_err(|e| format!("not a greeting: {e}"));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(_)) => {
                let most = "a text message of at most 16 KiB";
                return Err(format!("not a greeting; send it as {most}"));
            }
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the page has closed the connection".to_owned()),
        }
    }
}
