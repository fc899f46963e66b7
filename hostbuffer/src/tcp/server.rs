//! The rendezvous: it waits for all hosts of a job, and gives the messages of each to all.

use super::channel::{Channel, Side};
use super::newcomers::{Newcomer, Newcomers};
use super::rounds::{self, Host};
use super::{Secret, ToHost, ToServer};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How long a program has to prove that it knows the secret.
const GREETING: Duration = Duration::from_secs(10);
/// How long a program that was refused keeps its place, so that those of one address, of which
/// there are at most 16, are at most 50 in a second.
const REFUSED: Duration = Duration::from_millis(320);
/// How long the server sleeps when nobody comes.
const PAUSE: Duration = Duration::from_millis(20);

/// An event at the rendezvous.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A host has joined.
    Joined {
        /// The job.
        job: String,
        /// The name of the host.
        host: String,
        /// The number of hosts of the job that are there.
        here: usize,
    },
    /// All hosts of a job have left after the last round.
    Finished {
        /// The job.
        job: String,
    },
    /// A host has left while others waited for it.
    Ended {
        /// The job.
        job: String,
        /// The reason.
        why: String,
    },
    /// A program did not prove that it knows the secret.
    Refused {
        /// Its address.
        from: SocketAddr,
        /// The reason.
        why: String,
    },
}

/// The state that all threads of the server share.
#[derive(Debug)]
struct Shared {
    secret: Secret,
    hosts: usize,
    waiting: Mutex<HashMap<String, Vec<Host>>>,
}

/// A rendezvous of jobs with the same number of hosts.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    newcomers: Newcomers,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Server {
    /// Listens at `address`. Each job has `hosts` hosts.
    pub fn bind(address: &str, hosts: usize, secret: Secret) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (sender, events) = channel();
        let shared = Shared {
            secret,
            hosts,
            waiting: Mutex::default(),
        };
        Ok(Server {
            listener,
            shared: Arc::new(shared),
            newcomers: Newcomers::default(),
            sender,
            events,
        })
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves as long as `go_on` returns true. Calls `tell` for what happens.
    pub fn run(&self, go_on: impl Fn() -> bool, mut tell: impl FnMut(Event)) {
        while go_on() {
            self.events.try_iter().for_each(&mut tell);
            if self.newcomers.is_full() {
                std::thread::sleep(PAUSE);
                continue;
            }
            match self.listener.accept() {
                Ok((stream, from)) => self.begin(stream, from),
                // Nobody waits, or the next one has given up, or there is no descriptor left.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        self.events.try_iter().for_each(&mut tell);
    }

    /// Greets a program on a thread of its own.
    fn begin(&self, stream: TcpStream, from: SocketAddr) {
        let started = match self.newcomers.enter(from.ip()) {
            Some(newcomer) => self.greet_on_thread(stream, from, newcomer),
            None => Err(io::Error::other(
                "too many programs at this address are silent",
            )),
        };
        if let Err(error) = started {
            let why = error.to_string();
            let _ = self.sender.send(Event::Refused { from, why });
            // Not even the output is flooded.
            std::thread::sleep(PAUSE);
        }
    }

    fn greet_on_thread(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        newcomer: Newcomer,
    ) -> io::Result<()> {
        let (shared, events) = (self.shared.clone(), self.sender.clone());
        let named = Builder::new().name("tcasm-rendezvous".into());
        let started = named.spawn(move || match shared.greet(stream) {
            Ok((job, host)) => {
                drop(newcomer);
                shared.enter(job, host, &events);
            }
            Err(error) => {
                let why = error.to_string();
                let _ = events.send(Event::Refused { from, why });
                std::thread::sleep(REFUSED);
            }
        });
        started.map(drop)
    }
}

impl Shared {
    /// Finds out which host of which job is at the other end.
    fn greet(&self, stream: TcpStream) -> io::Result<(String, Host)> {
        let until = Instant::now() + GREETING;
        stream.set_nonblocking(false)?;
        let mut channel = Channel::open(stream, Side::Server, &self.secret, until)?;
        channel.send(&ToHost::Welcome, until)?;
        match channel.receive(until)? {
            ToServer::Join { job, host } => {
                let name = host;
                Ok((job, Host { name, channel }))
            }
            other => Err(io::Error::other(format!("unexpected: {other:?}"))),
        }
    }

    /// Adds a host to its job. If it is the last one, runs the rounds of the job.
    fn enter(&self, job: String, host: Host, events: &Sender<Event>) {
        let name = host.name.clone();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // A host whose process has died comes again, or its job never does.
        waiting.retain(|_, hosts| {
            hosts.retain(|host| !host.channel.has_ended());
            !hosts.is_empty()
        });
        let hosts = waiting.entry(job.clone()).or_default();
        hosts.push(host);
        let here = hosts.len();
        let all = (here >= self.hosts).then(|| waiting.remove(&job).unwrap_or_default());
        drop(waiting);
        let joined = Event::Joined {
            job: job.clone(),
            host: name,
            here,
        };
        let _ = events.send(joined);
        if let Some(mut hosts) = all {
            let ended = match rounds::run(&mut hosts) {
                None => Event::Finished { job },
                Some(why) => Event::Ended { job, why },
            };
            let _ = events.send(ended);
        }
    }
}
