//! The connection with `tcasm view` on the other machine.

use crate::failure::{Code, Failure};
use crate::wait::POLL;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use tcasm_view::server::{LOST, NO_REGION, Visitor};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Bytes, Error, Message, WebSocket};

/// The time that the other side gets to answer at the start.
const START: Duration = Duration::from_secs(20);

/// The time after which this side says that it is there. The other side waits twice as long.
const SPEAK: Duration = Duration::from_secs(15);

/// A connection that has proven itself.
pub struct Connection {
    socket: WebSocket<TcpStream>,
    /// When the last message was sent.
    spoke: Instant,
}

/// The result of waiting for a message.
pub enum Received {
    /// A message of the relay.
    Message(Bytes),
    /// A sign that the other side is there.
    Sign,
    /// Nothing yet.
    Nothing,
    /// The producer has closed the region.
    End,
}

impl Connection {
    /// Connects to the server at this address, and asks for a region.
    pub fn open(url: &str, region: Option<&str>) -> Result<Connection, Failure> {
        let (place, token) = parts(url).ok_or_else(|| {
            let text = format!(
                "{url:?} is not an address that `tcasm view` prints, such as \
                 http://127.0.0.1:8337/#token=5f1d...; put it in quotation marks"
            );
            Failure::new(Code::Usage, text)
        })?;
        let stream = connect(place).map_err(|e| unreachable(place, &e))?;
        let limited = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(START)))
            .and_then(|()| stream.set_write_timeout(Some(START)));
        limited.map_err(|e| unreachable(place, &e))?;
        let asked = tungstenite::client(format!("ws://{place}/relay"), stream);
        let (socket, _) = asked.map_err(|e| unreachable(place, &e))?;
        let spoke = Instant::now();
        let mut connection = Connection { socket, spoke };
        connection.enter(place, token, region)?;
        let polled = connection.socket.get_ref().set_read_timeout(Some(POLL));
        polled.map_err(|e| unreachable(place, &e))?;
        Ok(connection)
    }

    /// Proves that this program knows the token, to a server that does so first.
    fn enter(&mut self, place: &str, token: &str, region: Option<&str>) -> Result<(), Failure> {
        let visitor = Visitor::new(token)
            .map_err(|e| Failure::new(Code::Io, format!("cannot get random numbers: {e}")))?;
        let failed = |e: Error| unreachable(place, &e);
        let hello = Message::text(visitor.hello());
        self.socket.send(hello).map_err(failed)?;
        let answer = match self.socket.read().map_err(failed)? {
            Message::Text(text) => text,
            other => return Err(unreachable(place, &format!("it answers {other:?}"))),
        };
        let enter = visitor.enter(&answer, region).ok_or_else(|| {
            let text = format!(
                "the server at {place} does not know this token: take the address that \
                 `tcasm view` has printed"
            );
            Failure::new(Code::NotAllowed, text)
        })?;
        self.socket.send(Message::text(enter)).map_err(failed)
    }

    /// Returns what has come, after a moment at most.
    pub fn receive(&mut self) -> Result<Received, Failure> {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => Ok(Received::Message(bytes)),
            Ok(Message::Close(frame)) => ended(frame),
            Ok(_) => Ok(Received::Sign),
            Err(Error::Io(error)) if is_timeout(&error) => Ok(Received::Nothing),
            Err(error) => Err(broken(&error)),
        }
    }

    /// Says now and then that this program is still there, without being asked. On a slow
    /// connection the question comes late.
    pub fn say_that_this_is_here(&mut self) -> Result<(), Failure> {
        if self.spoke.elapsed() < SPEAK {
            return Ok(());
        }
        self.spoke = Instant::now();
        let sent = self.socket.send(Message::Pong(Bytes::new()));
        sent.map_err(|error| broken(&error))
    }

    /// Tells the other side that this is the end.
    pub fn close(mut self) {
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }
}

/// Connects to the first address of a place that answers.
fn connect(place: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, START) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the place and the token of an address.
fn parts(url: &str) -> Option<(&str, &str)> {
    let (place, token) = url.strip_prefix("http://")?.split_once("/#token=")?;
    let usable = !token.is_empty() && token.bytes().all(|b| b.is_ascii_hexdigit());
    let (host, port) = place.rsplit_once(':')?;
    (usable && !host.is_empty() && port.parse::<u16>().is_ok()).then_some((place, token))
}

/// Returns what a close frame says.
fn ended(frame: Option<CloseFrame>) -> Result<Received, Failure> {
    let Some(frame) = frame else {
        return Err(broken(&"it was closed without a reason"));
    };
    let code = match frame.code {
        CloseCode::Normal => return Ok(Received::End),
        CloseCode::Policy => Code::NotAllowed,
        code if u16::from(code) == NO_REGION => Code::NoRegion,
        code if u16::from(code) == LOST => Code::Lost,
        _ => Code::Other,
    };
    Err(Failure::new(
        code,
        format!("the other side says: {}", frame.reason),
    ))
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn unreachable(place: &str, why: &dyn std::fmt::Display) -> Failure {
    let text = format!(
        "cannot connect to {place}: {why}; look whether `tcasm view` runs there, and the tunnel"
    );
    Failure::new(Code::NoAnswer, text)
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    let text = format!("the connection is broken: {why}; start this command again");
    Failure::new(Code::NoAnswer, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_as_view_prints_them_are_taken() {
        let token = "5f1d";
        for (url, place) in [
            ("http://127.0.0.1:8337/#token=5f1d", "127.0.0.1:8337"),
            ("http://[::1]:1/#token=5f1d", "[::1]:1"),
            ("http://node042:80/#token=5f1d", "node042:80"),
        ] {
            assert_eq!(parts(url), Some((place, token)));
        }
        for wrong in [
            "",
            "http://127.0.0.1:8337/",
            "http://127.0.0.1:8337/#token=",
            "http://127.0.0.1:8337/#token=xyz",
            "http://127.0.0.1/#token=5f1d",
            "http://:8337/#token=5f1d",
            "https://127.0.0.1:8337/#token=5f1d",
            "127.0.0.1:8337/#token=5f1d",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
