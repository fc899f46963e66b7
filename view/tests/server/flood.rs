//! Connections of strangers, many at a time: those who know the token do not notice.

use crate::page::{LONG, Page, Site, name, producer};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tcasm_view::server::Patience;

/// More than a process may have descriptors on most systems.
const STRANGERS: usize = 1_200;

/// Both ends of all connections are in this process.
fn allow_descriptors() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let enough = (3 * STRANGERS as u64).max(soft).min(hard);
    assert!(enough > 2 * STRANGERS as u64, "only {hard} descriptors");
    setrlimit(Resource::RLIMIT_NOFILE, enough, hard).unwrap();
}

fn half_a_request(site: &Site) -> TcpStream {
    let mut stream = TcpStream::connect(site.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    stream
}

/// How many of them the server has closed.
fn closed(strangers: &[TcpStream]) -> usize {
    let is_closed = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        !matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    strangers.iter().filter(|stream| is_closed(stream)).count()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let end = std::time::Instant::now() + LONG;
    while !done() {
        assert!(std::time::Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn half_requests_keep_out_no_page_and_are_closed() {
    allow_descriptors();
    let name = name("flood");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    let mut publish = |step: u64| {
        producer.view_mut(t).unwrap().fill(step as f64);
        producer.publish(step, 0.0).unwrap();
    };
    publish(1);
    let patience = Patience {
        headers: Duration::from_secs(3),
        ..Patience::default()
    };
    let site = Site::patient(&name, patience);
    let mut before = site.open();
    before.look(json!({"field": "t", "probe": [0]}));
    before.next();

    let strangers: Vec<_> = (0..STRANGERS).map(|_| half_a_request(&site)).collect();
    // It holds no more than a bounded number of them.
    wait_until("most are closed", || closed(&strangers) >= STRANGERS - 256);
    assert_eq!(site.get(&format!("/regions{}", site.query()), "").0, 200);
    let mut after = site.open();
    after.look(json!({"field": "t", "probe": [0]}));
    publish(2);
    for page in [&mut before, &mut after] {
        page.until("the second version", |frame| frame.version() == 2);
    }
    // The others are closed when their headers have taken too long.
    wait_until("all are closed", || closed(&strangers) == STRANGERS);
}

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
fn the_oldest_silent_websockets_make_room_for_pages() {
    allow_descriptors();
    let patience = Patience {
        proof: 100 * LONG,
        ..Patience::default()
    };
    let site = Site::patient(&name("silent-flood"), patience);
    let mut before = site.open();
    let strangers = silent(&site, 300);
    wait_until("the oldest are closed", || closed(&strangers) >= 300 - 256);
    let mut after = site.open();
    for page in [&mut before, &mut after] as [&mut Page; 2] {
        page.until_region("both", |region| region["clients"] == 2);
    }
}

#[test]
fn websockets_that_prove_nothing_in_time_are_closed_and_pages_are_not() {
    let patience = Patience {
        proof: Duration::from_secs(1),
        ..Patience::default()
    };
    let site = Site::patient(&name("unproven-in-time"), patience);
    let mut page = site.open();
    let strangers = silent(&site, 3);
    wait_until("all are closed", || closed(&strangers) == 3);
    page.until_region("it is there", |region| region["clients"] == 1);
}
