//! Tests of the greeting: a page and a server prove to each other that they know the same key, and
//! the server tells nothing before.

use crate::page::{LONG, Page, Site, get, name, run, server};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use tcasm_view::server::{Endpoint, Timeouts};
use tungstenite::{Message, WebSocket};

const NONCE: &str = "00112233445566778899aabbccddeeff";

/// Computes a proof from its description in `PROTOCOL.md`, without code of the server.
fn authenticate(key: &str, lines: &[&str]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(format!("tcasm view\n{}", lines.join("\n")).as_bytes());
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A page that has sent `hello`, and the server's proof.
struct Greeted {
    socket: WebSocket<TcpStream>,
    proof: Value,
}

impl Greeted {
    fn new(site: &Site, key: &str) -> Greeted {
        let mut socket = site.connect("", &[]).unwrap();
        send(
            &mut socket,
            &json!({"type": "hello", "nonce": NONCE, "key": key}),
        );
        let Message::Text(text) = socket.read().unwrap() else {
            panic!("a text")
        };
        let proof = serde_json::from_str(&text).unwrap();
        Greeted { socket, proof }
    }

    fn part(&self, name: &str) -> &str {
        self.proof[name].as_str().unwrap()
    }

    fn made(&self, key: &str, who: &str) -> String {
        authenticate(key, &[who, NONCE, self.part("nonce"), self.part("process")])
    }

    fn session(&self, token: &str) -> String {
        authenticate(token, &["session", self.part("process")])
    }

    fn enter(mut self, proof: &str, region: Value) -> Page {
        let enter = json!({"type": "enter", "proof": proof, "region": region});
        send(&mut self.socket, &enter);
        Page::new(self.socket)
    }
}

fn send(socket: &mut WebSocket<TcpStream>, what: &Value) {
    socket.send(Message::text(what.to_string())).unwrap();
}

#[test]
fn page_with_a_valid_proof_gets_its_region_and_the_list() {
    let name = name("greeted");
    let site = Site::start(&name);
    let greeted = Greeted::new(&site, "token");
    assert_eq!(greeted.part("proof"), greeted.made(&site.token, "server"));
    let (proof, session) = (
        greeted.made(&site.token, "page"),
        greeted.session(&site.token),
    );
    let mut page = greeted.enter(&proof, Value::Null);
    page.until_region("its region", |region| region["name"] == json!(name));
    page.send(r#"{"type":"regions"}"#);
    let list = page.until_list();
    assert!(list["regions"].is_array(), "{list}");
    // After a reload, the page knows only the session key.
    let greeted = Greeted::new(&site, "session");
    assert_eq!(greeted.part("proof"), greeted.made(&session, "server"));
    let proof = greeted.made(&session, "page");
    let mut page = greeted.enter(&proof, json!("another"));
    page.until_region("the other", |region| region["name"] == "another");
}

#[test]
fn page_without_a_valid_proof_gets_no_data() {
    let site = Site::start(&name("unproven"));
    let wrong_key = "0".repeat(32);
    for key in ["token", "session"] {
        let reflected = Greeted::new(&site, key);
        let own = reflected.part("proof").to_owned();
        let made = Greeted::new(&site, key);
        let wrong = made.made(&wrong_key, "page");
        let other = Greeted::new(&site, "session");
        let with_token = other.made(&site.token, "page");
        let cases = [(reflected, own), (made, wrong), (other, with_token)];
        for (greeted, proof) in cases {
            let mut page = greeted.enter(&proof, Value::Null);
            assert!(page.end().contains("proof is wrong"));
            assert!(page.regions.is_empty());
        }
    }
    for first in [
        r#"{"type":"view","id":1,"field":"t"}"#,
        r#"{"type":"enter","proof":"","region":null}"#,
        r#"{"type":"hello","nonce":"short","key":"token"}"#,
        r#"{"type":"hello","key":"token"}"#,
        "hello",
    ] {
        let mut page = Page::new(site.connect("?region=x", &[]).unwrap());
        page.send(first);
        let told = page.end();
        assert!(
            told.contains("greeting") || told.contains("nonce"),
            "{told}"
        );
        assert!(page.regions.is_empty());
    }
    let greeted = Greeted::new(&site, "token");
    let proof = greeted.made(&site.token, "page");
    let mut page = greeted.enter(&proof, json!("../x"));
    assert!(page.end().contains("not usable"));
}

#[test]
fn token_survives_restart_at_the_same_port_and_session_key_does_not() {
    let name = name("restarted");
    let first = Site::start(&name);
    let (token, port) = (first.token.clone(), first.address.port());
    let session = Greeted::new(&first, "token").session(&token);
    drop(first);
    let second = Site::at(&name, Timeouts::default(), port);
    assert_eq!(second.token, token);
    let greeted = Greeted::new(&second, "session");
    assert_ne!(greeted.part("proof"), greeted.made(&session, "server"));
    let proof = greeted.made(&session, "page");
    assert!(
        greeted
            .enter(&proof, Value::Null)
            .end()
            .contains("proof is wrong")
    );
    assert_ne!(Site::start(&name).token, token, "the token of another port");
}

#[test]
fn unix_socket_serves_the_same_as_a_port() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.socket");
    let endpoint = Endpoint::Socket(path.clone());
    let server = server(&name("socket"), Timeouts::default(), endpoint);
    let token = server.token().to_owned();
    assert!(server.url("node").ends_with(&format!("/#token={token}")));
    let (stop, thread) = run(server);
    let ask = |host: &str, what: &str| {
        let stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        get(stream, host, what, "").0
    };
    // The requests of a browser at the other end of a tunnel.
    assert_eq!(ask("127.0.0.1:8337", "/"), 200);
    assert_eq!(ask("localhost:1", &format!("/regions?token={token}")), 200);
    assert_eq!(ask("localhost:1", "/regions"), 403);
    assert_eq!(ask("evil.example", "/"), 403);
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    assert!(!path.exists());
}
