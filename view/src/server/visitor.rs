//! The side of a program that connects: it proves that it knows the token, and sends nothing else
//! before the server has proven it.

use super::proof::{hex, mac};
use super::secret;
use serde::Deserialize;
use serde_json::json;
use std::io;

/// A program that knows the token of a server, and connects to it.
#[derive(Debug)]
pub struct Visitor {
    token: String,
    nonce: String,
}

/// The server's answer to the first message.
#[derive(Deserialize)]
struct Answer {
    nonce: String,
    process: String,
    proof: String,
}

impl Visitor {
    /// Returns a visitor for one connection.
    pub fn new(token: &str) -> io::Result<Visitor> {
        Ok(Visitor {
            token: token.to_owned(),
            nonce: secret::random()?,
        })
    }

    /// Returns the first message to the server.
    pub fn hello(&self) -> String {
        json!({"type": "hello", "nonce": self.nonce, "key": "token"}).to_string()
    }

    /// Returns the message after the server's answer, which asks for a region (`None`: the one of
    /// the server's command line). Returns `None` if the server does not know the token.
    pub fn enter(&self, answer: &str, region: Option<&str>) -> Option<String> {
        let answer: Answer = serde_json::from_str(answer).ok()?;
        let made = |who: &str| {
            let parts = [who, &self.nonce, &answer.nonce, &answer.process];
            hex(mac(&self.token, &parts))
        };
        // Nobody can measure how long this comparison takes: the visitor made the nonce itself, and
        // uses it once.
        let proof = made("page");
        (answer.proof == made("server"))
            .then(|| json!({"type": "enter", "proof": proof, "region": region}).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::super::proof::{Hello, Keys};
    use super::*;

    /// Returns the message that lets a visitor with `token` in, and true if the server accepts it.
    fn enters(token: &str) -> Option<bool> {
        let keys = Keys::new("secret", "127.0.0.1:8337", "process".to_owned());
        let visitor = Visitor::new(token).unwrap();
        let hello: Hello = serde_json::from_str(&visitor.hello()).unwrap();
        let (proof, expected) = keys
            .prove(&hello, "nonce of the server".to_owned())
            .unwrap();
        let answer = serde_json::to_string(&proof).unwrap();
        let enter = visitor.enter(&answer, Some("heat"))?;
        let enter: serde_json::Value = serde_json::from_str(&enter).unwrap();
        assert_eq!(enter["region"], "heat");
        Some(expected.is(enter["proof"].as_str().unwrap()))
    }

    #[test]
    fn visitor_with_the_token_enters_and_another_sends_no_proof() {
        let keys = Keys::new("secret", "127.0.0.1:8337", "another process".to_owned());
        assert_eq!(enters(keys.token()), Some(true));
        assert_eq!(enters(&"0".repeat(32)), None);
        let visitor = Visitor::new(keys.token()).unwrap();
        for nonsense in ["", "{}", r#"{"nonce":"","process":"","proof":""}"#] {
            assert_eq!(visitor.enter(nonsense, None), None);
        }
    }
}
