//! `tcasm view` as a program: what it prints, what it refuses, how it ends. What it shows, the tests of `tcasm-view` and those with a
//! browser say.

use crate::common::{Background, Victim, bad, line, name, publish, until};
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// A view that serves, and the address that it has printed.
struct Served {
    program: Background,
    address: String,
}

impl Served {
    fn start(args: &[&str]) -> Served {
        let mut program = Background::start(&[&["view"], args].concat());
        program.read_line();
        let address = program.read_line().trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address:?}");
        Served { program, address }
    }

    /// Host and port, and the token.
    fn parts(&self) -> (&str, &str) {
        let parts = self.address.strip_prefix("http://").unwrap();
        parts.split_once("/?token=").unwrap()
    }

    fn get(&self, path: &str) -> String {
        let (host, token) = self.parts();
        let mut stream = TcpStream::connect(host).unwrap();
        let cookie = format!("tcasm_view_{}={token}", host.rsplit(':').next().unwrap());
        let ask = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn what_cannot_be_served_is_told_with_its_own_status() {
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
fn a_region_that_is_not_there_is_waited_for_with_a_hint() {
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
fn signals_end_it_well_and_the_next_start_has_the_same_address() {
    let name = name("again");
    let mut victim = Victim::start("again-victim");
    let (mut producer, field) = line(&name, 10);
    publish(&mut producer, field, 10);
    let first = Served::start(&[&victim.name, "--port", "0"]);
    victim.kill();
    assert!(
        first.get("/").contains("200 OK"),
        "it serves on when the producer is dead"
    );
    let address = first.address.clone();
    let port = first.parts().0.rsplit_once(':').unwrap().1.to_owned();
    first.program.signal(Signal::SIGTERM);
    let run = first.program.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let second = Served::start(&[&name, "--port", &port]);
    assert_eq!(second.address, address);
}
