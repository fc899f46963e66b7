//! Proofs that page and server give each other, so that neither sends its token to another program.
//!
//! Both know a key. Each picks a nonce, and authenticates both nonces with the key and a label of
//! its own. A program without the key cannot make such a proof, nor use a proof of another
//! connection.
//!
//! The token of a server is derived from the user's secret and the place where the server listens.
//! This exposes a program that holds another port and passes messages on to the server: the page
//! has the token of that other port, so its proof does not fit. The session key is derived from the
//! token and from a random text of one server process. A page may keep it over a reload. The key is
//! useless when that process has ended.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt::Write;

/// Bytes of a token. It must fit into an address that people copy.
const TOKEN: usize = 16;
/// Hexadecimal digits in the nonce of a page.
const NONCE: std::ops::RangeInclusive<usize> = 32..=128;

/// The keys with which a server process proves its identity.
#[derive(Clone, Debug)]
pub struct Keys {
    token: String,
    session: String,
    /// A random text that differs between processes.
    process: String,
}

/// The key that a page knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The token of the printed address.
    Token,
    /// The session key of this server process.
    Session,
}

/// The first message of a page.
#[derive(Debug, Deserialize)]
pub struct Hello {
    /// The random nonce that the page picked for this connection.
    pub nonce: String,
    /// The key of all proofs on this connection.
    pub key: Which,
}

/// The server's answer to [`Hello`].
#[derive(Debug, Serialize)]
pub struct Proof {
    nonce: String,
    process: String,
    proof: String,
}

/// The proof that the server expects from a page.
#[derive(Debug)]
pub struct Expected(Hmac<Sha256>);

impl Keys {
    /// Derives the keys of a server that listens at `place`. `process` is random.
    pub fn new(secret: &str, place: &str, process: String) -> Self {
        let mut token = hex(mac(secret, &["token", place]));
        token.truncate(2 * TOKEN);
        let session = hex(mac(&token, &["session", &process]));
        Keys {
            token,
            session,
            process,
        }
    }

    /// Returns the token, which is part of the printed address.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns true if `text` is the token. The time does not depend on how many digits are right.
    pub fn is_token(&self, text: &str) -> bool {
        let digest = mac(&self.process, &["compare", text]).finalize();
        mac(&self.process, &["compare", &self.token])
            .verify(&digest.into_bytes())
            .is_ok()
    }

    /// Proves to a page that this process knows the key. Returns the server's proof, and the proof
    /// that the page must send. `nonce` must be random, and must never be used twice. Returns
    /// `None` if the page's nonce is malformed.
    pub fn prove(&self, hello: &Hello, nonce: String) -> Option<(Proof, Expected)> {
        let digits = hello.nonce.bytes().all(|b| b.is_ascii_hexdigit());
        if !NONCE.contains(&hello.nonce.len()) || !digits {
            return None;
        }
        let key = match hello.key {
            Which::Token => &self.token,
            Which::Session => &self.session,
        };
        let parts = |who| [who, hello.nonce.as_str(), nonce.as_str(), &self.process];
        let proof = hex(mac(key, &parts("server")));
        let expected = Expected(mac(key, &parts("page")));
        let process = self.process.clone();
        let proof = Proof {
            nonce,
            process,
            proof,
        };
        Some((proof, expected))
    }
}

impl Expected {
    /// Returns true if `proof` is the expected one.
    pub fn is(self, proof: &str) -> bool {
        bytes(proof).is_some_and(|proof| self.0.verify_slice(&proof).is_ok())
    }
}

/// Authenticates texts. Only the last may contain a newline: newlines separate the texts.
pub(super) fn mac(key: &str, parts: &[&str]) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(key.as_bytes()).expect("a key may have any length");
    mac.update(b"tcasm view");
    for part in parts {
        mac.update(b"\n");
        mac.update(part.as_bytes());
    }
    mac
}

pub(super) fn hex(mac: Hmac<Sha256>) -> String {
    let bytes = mac.finalize().into_bytes();
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "000102030405060708090a0b0c0d0e0f";

    fn keys(place: &str, process: &str) -> Keys {
        Keys::new(SECRET, place, process.to_owned())
    }

    fn hello(key: Which) -> Hello {
        let nonce = "a".repeat(32);
        Hello { nonce, key }
    }

    #[test]
    fn tokens_of_other_places_and_sessions_of_other_processes_differ() {
        let (one, again) = (keys("127.0.0.1:8337", "p"), keys("127.0.0.1:8337", "q"));
        assert_eq!(one.token(), again.token(), "a restart keeps the token");
        assert_ne!(one.session, again.session);
        assert_ne!(one.token(), keys("127.0.0.1:8338", "p").token());
        assert_ne!(
            one.token(),
            Keys::new("x", "127.0.0.1:8337", "p".into()).token()
        );
        assert!(one.is_token(again.token()));
        for wrong in ["", "a", &one.session, &one.token()[1..], SECRET] {
            assert!(!one.is_token(wrong), "{wrong}");
        }
    }

    #[test]
    fn proof_of_another_connection_key_or_side_is_refused() {
        let keys = keys("127.0.0.1:8337", "p");
        let made = |which, nonce: &str, who: &str| {
            let key = match which {
                Which::Token => &keys.token,
                Which::Session => &keys.session,
            };
            hex(mac(key, &[who, &"a".repeat(32), nonce, "p"]))
        };
        for which in [Which::Token, Which::Session] {
            let proves = |said: &str| {
                let (proof, expected) = keys.prove(&hello(which), "n1".into()).unwrap();
                assert_eq!(proof.proof, made(which, "n1", "server"));
                expected.is(said)
            };
            assert!(proves(&made(which, "n1", "page")));
            assert!(!proves(&made(which, "n2", "page")), "another connection's");
            assert!(!proves(&made(which, "n1", "server")), "the server's own");
            for wrong in ["", "zz", "\u{e9}\u{e9}", &made(which, "n1", "page")[2..]] {
                assert!(!proves(wrong), "{wrong}");
            }
        }
        let token = made(Which::Token, "n1", "page");
        let (_, session) = keys.prove(&hello(Which::Session), "n1".into()).unwrap();
        assert!(!session.is(&token), "made with another key");
    }

    #[test]
    fn malformed_nonce_gets_no_proof() {
        let keys = keys("127.0.0.1:8337", "p");
        let (short, long) = ("a".repeat(31), "a".repeat(129));
        for nonce in [short, long, "a\n".repeat(20), "x".repeat(32), String::new()] {
            let key = Which::Token;
            assert!(keys.prove(&Hello { nonce, key }, "n".into()).is_none());
        }
    }
}
