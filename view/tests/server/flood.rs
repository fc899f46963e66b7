//! Tests of many connections of untrusted peers at a time. Clients that know the token must not
//! notice them.

use crate::page::{LONG, Page, Site, name, producer};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tcasm_view::server::Timeouts;

/// Number of untrusted peers. On most systems a process may not have as many descriptors.
const PEERS: usize = 1_200;

/// Raises the limit of descriptors: both ends of all connections are in this process.
fn allow_descriptors() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let enough = (3 * PEERS as u64).max(soft).min(hard);
    assert!(enough > 2 * PEERS as u64, "only {hard} descriptors");
    setrlimit(Resource::RLIMIT_NOFILE, enough, hard).unwrap();
}

fn half_a_request(site: &Site) -> TcpStream {
    let mut stream = TcpStream::connect(site.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    stream
}

/// Returns the number of connections that the server has closed.
fn closed(peers: &[TcpStream]) -> usize {
    let is_closed = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        !matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    peers.iter().filter(|stream| is_closed(stream)).count()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let end = std::time::Instant::now() + LONG;
    while !done() {
        assert!(std::time::Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn incomplete_requests_do_not_keep_out_pages_and_are_closed() {
    allow_descriptors();
    let name = name("flood");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    let mut publish = |step: u64| {
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
    };
    publish(1);
    let timeouts = Timeouts {
        headers: Duration::from_secs(3),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name, timeouts);
    let mut before = site.open();
    before.request(json!({"field": "t", "probe": [0]}));
    before.next();

    let peers: Vec<_> = (0..PEERS).map(|_| half_a_request(&site)).collect();
    // The server holds at most 256 of them.
    wait_until("most are closed", || closed(&peers) >= PEERS - 256);
    assert_eq!(site.get(&format!("/regions{}", site.query()), "").0, 200);
    let mut after = site.open();
    after.request(json!({"field": "t", "probe": [0]}));
    publish(2);
    for page in [&mut before, &mut after] {
        page.until("the second version", |frame| frame.version() == 2);
    }
    // The server closes the others after the timeout for headers.
    wait_until("all are closed", || closed(&peers) == PEERS);
}

/// Opens WebSockets that send nothing.
fn silent(site: &Site, count: usize) -> Vec<TcpStream> {
    let open = |_| {
        site.connect("", &[])
            .unwrap()
            .get_ref()
            .try_clone()
            .unwrap()
    };
    (0..count).map(open).collect()
}

#[test]
fn oldest_silent_websockets_make_room_for_pages() {
    allow_descriptors();
    let timeouts = Timeouts {
        proof: 100 * LONG,
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name("silent-flood"), timeouts);
    let mut before = site.open();
    let peers = silent(&site, 300);
    wait_until("the oldest are closed", || closed(&peers) >= 300 - 256);
    let mut after = site.open();
    for page in [&mut before, &mut after] as [&mut Page; 2] {
        page.until_region("both", |region| region["clients"] == 2);
    }
}

#[test]
fn websockets_without_a_proof_are_closed_after_the_timeout_and_pages_are_not() {
    let timeouts = Timeouts {
        proof: Duration::from_secs(1),
        ..Timeouts::default()
    };
    let site = Site::with_timeouts(&name("unproven-in-time"), timeouts);
    let mut page = site.open();
    let peers = silent(&site, 3);
    wait_until("all are closed", || closed(&peers) == 3);
    page.until_region("it is there", |region| region["clients"] == 1);
}
