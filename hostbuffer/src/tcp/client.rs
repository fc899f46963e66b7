//! A host's connection with the rendezvous.

use super::channel::{Channel, Side};
use super::{Secret, ToHost, ToServer};
use crate::agreement::{Agreement, AgreementError};
use crate::error::host_name;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a host waits before it connects again to a rendezvous that does not listen yet.
const AGAIN: Duration = Duration::from_millis(100);
/// How long one address of the rendezvous may take to accept. Its name may have several.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long the other hosts may take to read why this one leaves.
const LEAVING: Duration = Duration::from_secs(1);

/// Agreement through a rendezvous. Processes that attach to a buffer of their host never connect.
#[derive(Debug)]
pub struct Rendezvous {
    address: String,
    secret: Secret,
    job: String,
    channel: Option<Channel>,
}

impl Rendezvous {
    /// Describes the rendezvous at `address`, such as `login1:4711`, for the hosts of `job`.
    pub fn new(address: &str, job: &str, secret: Secret) -> Self {
        Rendezvous {
            address: address.to_owned(),
            secret,
            job: job.to_owned(),
            channel: None,
        }
    }

    fn channel(&mut self, until: Instant) -> Result<&mut Channel, AgreementError> {
        let channel = match self.channel.take() {
            Some(channel) => channel,
            None => self.join(until).map_err(|error| self.failed(&error))?,
        };
        Ok(self.channel.insert(channel))
    }

    fn join(&self, until: Instant) -> io::Result<Channel> {
        let mut channel = self.begin(until)?;
        expect(&channel.receive(until)?, &ToHost::Welcome)?;
        let (job, host) = (self.job.clone(), host_name());
        channel.send(&ToServer::Join { job, host }, until)?;
        // Nothing is sent before this, so that the rendezvous can see whether the host still lives.
        expect(&channel.receive(until)?, &ToHost::Begin)?;
        Ok(channel)
    }

    /// Connects until the rendezvous answers. It drops connections at once, without an answer, as
    /// long as too many programs of this address are silent: those of other users, for example.
    fn begin(&self, until: Instant) -> io::Result<Channel> {
        loop {
            let stream = self.connect(until)?;
            let error = match Channel::open(stream, Side::Host, &self.secret, until) {
                Ok(channel) => return Ok(channel),
                Err(error) => error,
            };
            let left = until.saturating_duration_since(Instant::now());
            if !is_dropped(&error) || left < AGAIN {
                return Err(error);
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn connect(&self, until: Instant) -> io::Result<TcpStream> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let error = match self.try_connect(left.clamp(AGAIN, CONNECTING)) {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            if left < AGAIN {
                return Err(error);
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn try_connect(&self, timeout: Duration) -> io::Result<TcpStream> {
        let mut last = io::Error::other("the name has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn failed(&self, error: &io::Error) -> AgreementError {
        AgreementError::Rendezvous {
            address: self.address.clone(),
            why: match error.kind() {
                io::ErrorKind::UnexpectedEof => "it has closed the connection; see what `tcasm \
                                                 hostbuffer serve` printed there"
                    .into(),
                io::ErrorKind::TimedOut => "the time is over; are all hosts there?".into(),
                _ => error.to_string(),
            },
        }
    }
}

/// Returns true if the other end has closed the connection, whether it has read everything or not.
fn is_dropped(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

impl Agreement for Rendezvous {
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        let message = ToServer::Gather {
            message: mine.to_vec(),
        };
        let channel = self.channel(until)?;
        let sent = channel.send(&message, until);
        // If sending fails, the rendezvous may have said why before.
        let received = channel.receive(until);
        match received {
            Ok(ToHost::All { messages }) => Ok(messages),
            Ok(ToHost::Ended { why }) => Err(AgreementError::Left(why)),
            Ok(other) => Err(AgreementError::Left(format!("unexpected: {other:?}"))),
            Err(error) => Err(self.failed(&sent.err().unwrap_or(error))),
        }
    }

    fn leave(&mut self, why: &str) {
        if let Some(mut channel) = self.channel.take() {
            let why = why.to_owned();
            let _ = channel.send(&ToServer::Leave { why }, Instant::now() + LEAVING);
        }
    }
}

fn expect(message: &ToHost, wanted: &ToHost) -> io::Result<()> {
    match message == wanted {
        true => Ok(()),
        false => Err(io::Error::other(format!("unexpected: {message:?}"))),
    }
}
