//! Tests of `tcasm view` as a program: what it prints, what it refuses, how it ends. The tests of
//! `tcasm-view` and those with a browser check what the page shows.

use crate::common::{Background, Victim, bad, line, name, publish, until};
use nix::sys::signal::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

/// Timeout far above the time of an answer.
const LONG: Duration = Duration::from_secs(30);

/// A running view, and the address that it has printed.
pub struct Served {
    pub program: Background,
    address: String,
}

impl Served {
    pub fn start(args: &[&str]) -> Served {
        let mut program = Background::start(&[&["view"], args].concat());
        program.read_line();
        let address = program.read_line().trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address:?}");
        Served { program, address }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the host with the port, and the token.
    fn parts(&self) -> (&str, &str) {
        let parts = self.address.strip_prefix("http://").unwrap();
        parts.split_once("/#token=").unwrap()
    }

    /// Opens the socket of the page, which shows the region of the command line.
    pub fn open_socket(&self) -> TcpStream {
        let (host, token) = self.parts();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let ask = format!(
            "GET /ws?token={token} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        stream.write_all(ask.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 101");
        stream
    }

    /// Returns what the page is told first, until it has `text`.
    pub fn told_until(&self, text: &str) -> String {
        let mut socket = self.open_socket();
        let (mut told, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let n = socket.read(&mut part).unwrap();
            assert!(n > 0, "the view has closed the connection");
            told.extend_from_slice(&part[..n]);
            let seen = String::from_utf8_lossy(&told);
            if seen.contains(text) {
                return seen.into_owned();
            }
        }
    }

    fn get(&self, path: &str) -> String {
        let (host, token) = self.parts();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        ask(&mut stream, host, &format!("{path}?token={token}"))
    }
}

/// Returns the answer of a server over this connection.
fn ask(stream: &mut (impl Read + Write), host: &str, path: &str) -> String {
    let ask = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn errors_of_view_have_their_own_status() {
    let name = name("unserved");
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let told = bad(&["view", &name, "--port", &port], 9);
    assert!(
        told.contains(&format!("port {port} of 127.0.0.1 is taken")),
        "{told}"
    );
    let told = bad(&["view", &name, "--bind", "192.0.2.1"], 9);
    assert!(told.contains("cannot listen on 192.0.2.1:"), "{told}");
    for wrong in [
        ["--port", "70000"],
        ["--port", "-1"],
        ["--bind", "localhost"],
        ["--bind", ""],
    ] {
        bad(&[&["view", &name], &wrong[..]].concat(), 2);
    }
    bad(&["view", "a/b"], 2);
    let told = bad(&["view", "no-such-region", "--no-wait"], 3);
    assert!(told.contains("start the producer"), "{told}");
}

#[test]
fn view_waits_for_a_missing_region_with_a_hint() {
    let name = name("awaited");
    let view = Served::start(&[&name, "--port", "0"]);
    assert!(view.get("/regions").starts_with("HTTP/1.1 200"));
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let row = format!(r#"{{"name":"{name}","state":"running"}}"#);
    until("it is listed", || view.get("/regions").contains(&row));
    view.program.signal(Signal::SIGINT);
    let run = view.program.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("start the producer") && run.err.contains("--no-wait"),
        "{run:?}"
    );
}

#[test]
fn signals_end_view_with_status_0_and_its_address_stays() {
    let name = name("again");
    let mut victim = Victim::start("again-victim");
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let first = Served::start(&[&victim.name, "--port", "0"]);
    victim.kill();
    assert!(
        first.get("/").contains("200 OK"),
        "it still serves the page when the producer is dead"
    );
    let address = first.address.clone();
    let port = first.parts().0.rsplit_once(':').unwrap().1.to_owned();
    first.program.signal(Signal::SIGTERM);
    let run = first.program.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let second = Served::start(&[&name, "--port", &port]);
    assert_eq!(second.address, address);
}

#[test]
fn half_requests_do_not_exhaust_descriptors_or_block_others() {
    let name = name("half");
    let mut limited = Command::new("sh");
    let start = r#"ulimit -Sn 1024; exec "$0" view "$1" --port 0"#;
    limited.args(["-c", start, env!("CARGO_BIN_EXE_tcasm"), &name]);
    let mut program = Background::from(limited);
    program.read_line();
    let address = program.read_line().trim().to_owned();
    let view = Served { program, address };
    let host = view.parts().0;
    let idle: Vec<TcpStream> = (0..1_150)
        .map(|_| {
            let mut connection = TcpStream::connect(host).unwrap();
            connection
                .write_all(b"GET / HTTP/1.1\r\nHost: loc")
                .unwrap();
            connection
        })
        .collect();
    let descriptors = || {
        fs::read_dir(format!("/proc/{}/fd", view.program.pid()))
            .unwrap()
            .count()
    };
    assert!(view.get("/regions").starts_with("HTTP/1.1 200"));
    assert!(descriptors() < 400, "{} descriptors", descriptors());
    // The server closes the other connections when their headers take too long.
    until("all are closed", || descriptors() < 50);
    assert!(view.get("/regions").starts_with("HTTP/1.1 200"));
    drop(idle);
}

#[test]
fn unix_socket_is_private_and_removed_at_the_end() {
    let name = name("socket");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.socket");
    let text = path.to_str().unwrap();
    let start = || {
        let mut program = Background::start(&["view", &name, "--socket", text]);
        program.read_line();
        let address = program.read_line().trim().to_owned();
        let tunnel = program.read_line();
        assert!(tunnel.contains(&format!("ssh -L 8337:{text} ")), "{tunnel}");
        (program, address)
    };
    let (first, address) = start();
    let token = address
        .strip_prefix("http://127.0.0.1:8337/#token=")
        .unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let get = |path_asked: &str| {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        ask(&mut stream, "localhost:8337", path_asked)
    };
    assert!(get("/").starts_with("HTTP/1.1 200"));
    assert!(get("/regions").starts_with("HTTP/1.1 403"));
    assert!(get(&format!("/regions?token={token}")).starts_with("HTTP/1.1 200"));
    let told = bad(&["view", &name, "--socket", text], 9);
    assert!(told.contains("another program listens at"), "{told}");
    first.signal(Signal::SIGTERM);
    let run = first.end();
    assert_eq!((run.code, path.exists()), (0, false), "{run:?}");

    // A killed server leaves its socket. The next one replaces it and has the same address.
    let (second, again) = start();
    assert_eq!(again, address);
    second.signal(Signal::SIGKILL);
    second.end();
    assert!(path.exists());
    let (third, again) = start();
    assert_eq!(again, address);
    third.signal(Signal::SIGINT);
    assert_eq!((third.end().code, path.exists()), (0, false));

    fs::write(&path, "precious").unwrap();
    let told = bad(&["view", &name, "--socket", text], 9);
    assert!(told.contains("is not a socket"), "{told}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    for wrong in [["--port", "0"], ["--bind", "0.0.0.0"]] {
        let args = ["view", &name, "--socket", text];
        bad(&[&args[..], &wrong].concat(), 2);
    }
}
