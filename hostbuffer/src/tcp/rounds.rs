//! The rounds of a job: each host gives a message, and all hosts get those of all.

use super::channel::Channel;
use super::{ToHost, ToServer};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the hosts may take for a round.
const ROUND: Duration = Duration::from_secs(600);
/// How long the bytes of a message may take.
const MESSAGE: Duration = Duration::from_secs(10);

/// A host that has joined.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    pub channel: Channel,
}

/// A host that has ended the rounds.
struct Left {
    host: usize,
    why: String,
    /// Another host has given its message of this round, and so expects an answer.
    missed: bool,
}

/// Runs rounds until all hosts have left. Returns why they ended before that.
pub(super) fn run(hosts: &mut [Host]) -> Option<String> {
    let mut message = ToHost::Begin;
    loop {
        if let Err(error) = tell(hosts, &message) {
            return Some(end(hosts, error.to_string()));
        }
        match round(hosts) {
            Ok(messages) => message = ToHost::All { messages },
            Err(left) => return leave(hosts, left),
        }
    }
}

/// Waits for the messages of all hosts, or for the first host that leaves.
fn round(hosts: &mut [Host]) -> Result<Vec<Vec<u8>>, Left> {
    let until = Instant::now() + ROUND;
    let mut messages: Vec<Option<Vec<u8>>> = vec![None; hosts.len()];
    while let Some(missing) = messages.iter().position(Option::is_none) {
        let ready = first_ready(hosts, until);
        // A host that has given its message is silent, unless it leaves.
        let (host, received) = match ready {
            Some(i) => (i, hosts[i].channel.receive(Instant::now() + MESSAGE)),
            None => (missing, Err(io::ErrorKind::TimedOut.into())),
        };
        let name = &hosts[host].name;
        let why = match received {
            Ok(ToServer::Gather { message }) if messages[host].is_none() => {
                messages[host] = Some(message);
                continue;
            }
            Ok(ToServer::Leave { why }) => why,
            Ok(_) => format!("host {name} does not keep to the protocol"),
            Err(error) => format!("host {name} has left: {error}"),
        };
        let missed = messages.iter().any(Option::is_some);
        return Err(Left { host, why, missed });
    }
    Ok(messages.into_iter().flatten().collect())
}

/// Ends the rounds, because a host has left. Returns why, or `None` if no other host expects
/// another round: this is how a job ends that has agreed.
fn leave(hosts: &mut [Host], left: Left) -> Option<String> {
    // The others learn it at once, although some may still be busy with this round.
    let why = end(hosts, left.why);
    let until = Instant::now() + ROUND;
    let mut others = hosts
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| *i != left.host);
    let expects = |host: &mut Host| {
        let received = host.channel.receive(until);
        matches!(received, Ok(ToServer::Gather { .. }))
    };
    (left.missed || others.any(|(_, host)| expects(host))).then_some(why)
}

/// Tells all hosts why the rounds end.
fn end(hosts: &mut [Host], why: String) -> String {
    let _ = tell(hosts, &ToHost::Ended { why: why.clone() });
    why
}

/// Tells all hosts. One that is gone is noticed in the next round. Fails if the message is too
/// long.
fn tell(hosts: &mut [Host], message: &ToHost) -> io::Result<()> {
    let until = Instant::now() + MESSAGE;
    for host in hosts {
        match host.channel.send(message, until) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Waits for a host that has sent something or is gone. Returns `None` when the time is over.
fn first_ready(hosts: &[Host], until: Instant) -> Option<usize> {
    loop {
        let fds = hosts.iter().map(|host| host.channel.as_fd());
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let left = until.saturating_duration_since(Instant::now());
        let ms = left.as_micros().div_ceil(1000).min(60_000) as u16;
        // A signal only makes this look once more.
        let _ = poll(&mut fds, PollTimeout::from(ms));
        let ready = fds.iter().position(|fd| fd.any() == Some(true));
        if ready.is_some() || left.is_zero() {
            return ready;
        }
    }
}
