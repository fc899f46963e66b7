//! Tests of the WebSocket for mirrors, with programs that do not behave. The tests of the command
//! check what mirrors show.

use crate::page::{LONG, Site, name, producer};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tcasm_observer::Observer;
use tcasm_producer::Producer;
use tcasm_view::server::Timeouts;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

/// The first byte of the message that begins a step.
const STEP: u8 = 4;

/// A region that has published a version of 3 MiB.
fn published(name: &str) -> Producer {
    let mut producer = producer(name);
    let field = producer.field::<u8, _>("u", [3 << 20]).add().unwrap();
    producer.view_mut(field).unwrap().fill(7);
    producer.publish(1, 0.0).unwrap();
    producer
}

fn open(site: &Site) -> WebSocket<TcpStream> {
    let path = format!("/relay{}", site.query());
    site.connect_to(&path, &[]).unwrap()
}

/// Reads until the server closes the connection. Returns the code, and how many binary messages
/// came.
fn end(socket: &mut WebSocket<TcpStream>) -> (CloseCode, usize) {
    let mut came = 0;
    loop {
        match socket.read().unwrap() {
            Message::Close(frame) => return (frame.unwrap().code, came),
            Message::Binary(_) => came += 1,
            _ => {}
        }
    }
}

/// Waits until a region has so many observers, with that of the test.
fn until_observers(name: &str, count: usize) {
    let mut observer = Observer::attach(name).unwrap();
    let end = Instant::now() + LONG;
    while observer.observers().unwrap().len() != count {
        assert!(Instant::now() < end, "there are never {count} observers");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Opens a relay, which observes the region then.
fn open_relay(site: &Site, name: &str) -> WebSocket<TcpStream> {
    let socket = open(site);
    until_observers(name, 2);
    socket
}

#[test]
fn mirror_without_a_proof_gets_no_data() {
    let name = name("unproven-mirror");
    let _producer = published(&name);
    let site = Site::start(&name);
    for first in [
        r#"{"type":"enter","proof":"","region":null}"#,
        r#"{"type":"hello","nonce":"short","key":"token"}"#,
        "hello",
    ] {
        let mut socket = site.connect_to("/relay", &[]).unwrap();
        socket.send(Message::text(first)).unwrap();
        assert_eq!(end(&mut socket), (CloseCode::Policy, 0), "{first}");
    }
    let mut socket = site.connect_to("/relay", &[]).unwrap();
    let hello = format!(
        r#"{{"type":"hello","nonce":"{}","key":"token"}}"#,
        "a".repeat(32)
    );
    socket.send(Message::text(hello)).unwrap();
    assert!(socket.read().unwrap().is_text());
    let enter = format!(
        r#"{{"type":"enter","proof":"{}","region":null}}"#,
        "0".repeat(64)
    );
    socket.send(Message::text(enter)).unwrap();
    assert_eq!(end(&mut socket), (CloseCode::Policy, 0));
    until_observers(&name, 1);
}

#[test]
fn program_with_the_token_gets_versions_until_the_producer_ends() {
    let name = name("token-mirror");
    let producer = published(&name);
    let site = Site::start(&name);
    let mut socket = open(&site);
    let Message::Binary(first) = socket.read().unwrap() else {
        panic!("no step");
    };
    assert_eq!(first[0], STEP);
    drop(producer);
    let (code, came) = end(&mut socket);
    assert_eq!(code, CloseCode::Normal);
    assert!(came > 3, "{came}");
}

#[test]
fn program_that_sends_something_is_dropped() {
    let name = name("talking-mirror");
    let _producer = published(&name);
    let site = Site::start(&name);
    let mut socket = open_relay(&site, &name);
    socket.send(Message::text("more")).unwrap();
    until_observers(&name, 1);
}

#[test]
fn program_that_does_not_read_is_dropped_and_holds_no_version() {
    let name = name("sleeping-mirror");
    let mut producer = producer(&name);
    let field = producer.field::<u8, _>("u", [4 << 20]).add().unwrap();
    let timeouts = Timeouts {
        send: Duration::from_secs(3),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name, timeouts);
    let mut step = 0;
    let mut publish = || {
        step += 1;
        producer.view_mut(field).unwrap().fill(step as u8);
        producer.publish(step, 0.0).unwrap();
    };
    publish();
    let socket = open_relay(&site, &name);
    // More than all buffers on the way take.
    for _ in 0..40 {
        publish();
        std::thread::sleep(Duration::from_millis(20));
    }
    until_observers(&name, 1);
    drop(socket);
}

#[test]
fn program_that_does_not_answer_is_dropped() {
    let name = name("silent-mirror");
    let _producer = published(&name);
    let timeouts = Timeouts {
        quiet: Duration::from_secs(1),
        silence: Duration::from_secs(5),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name, timeouts);
    let socket = open_relay(&site, &name);
    until_observers(&name, 1);
    drop(socket);
}

#[test]
fn program_that_is_gone_holds_no_version() {
    let name = name("gone-mirror");
    let _producer = published(&name);
    let site = Site::start(&name);
    let mut socket = open_relay(&site, &name);
    socket.read().unwrap();
    drop(socket);
    until_observers(&name, 1);
}
