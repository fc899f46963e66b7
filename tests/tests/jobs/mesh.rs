//! Messages between processes by Unix sockets, for the nodes of a job and for the rounds of agents.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tcasm_agent::offer::{OfferBytes, merge_bytes};
use tcasm_agent::{Suspicion, Transport};
use tcasm_checkpoint::job::{Lost, Messages};

/// The connections of one node to all others.
pub struct Mesh {
    node: usize,
    /// `None` for the node itself.
    peers: Vec<Option<Peer>>,
}

struct Peer {
    to: UnixStream,
    from: Receiver<Vec<u8>>,
}

impl Mesh {
    /// Connects node `node` of `nodes`. Each pair of nodes has a socket called `name` in `dir`.
    pub fn connect(dir: &Path, name: &str, node: usize, nodes: usize) -> Mesh {
        let path = |one: usize, other: usize| dir.join(format!("{name}-{one}-{other}"));
        // The lower node listens.
        let listeners: Vec<_> = (node + 1..nodes).map(|n| listen(&path(node, n))).collect();
        let lower = (0..node).map(|n| Some(Peer::new(dial(&path(n, node)))));
        let mut peers: Vec<Option<Peer>> = lower.collect();
        peers.push(None);
        let upper = listeners
            .into_iter()
            .map(|l| Some(Peer::new(l.accept().unwrap().0)));
        peers.extend(upper);
        Mesh { node, peers }
    }

    fn others(&self) -> Vec<usize> {
        let all = 0..self.peers.len();
        all.filter(|node| *node != self.node).collect()
    }
}

/// Listens at a path that appears only when it can be dialled.
fn listen(path: &Path) -> UnixListener {
    let hidden = path.with_extension("new");
    let listener = UnixListener::bind(&hidden).unwrap();
    std::fs::rename(hidden, path).unwrap();
    listener
}

fn dial(path: &Path) -> UnixStream {
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

impl Peer {
    /// A thread receives, so that sending never waits for the other node's program.
    fn new(to: UnixStream) -> Peer {
        let (sender, from) = channel();
        let mut stream = to.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut length = [0; 8];
            while stream.read_exact(&mut length).is_ok() {
                let mut message = vec![0; u64::from_le_bytes(length) as usize];
                if stream.read_exact(&mut message).is_err() || sender.send(message).is_err() {
                    return;
                }
            }
        });
        Peer { to, from }
    }
}

impl Messages for Mesh {
    fn node(&self) -> usize {
        self.node
    }

    fn nodes(&self) -> usize {
        self.peers.len()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Lost> {
        let peer = self.peers[to].as_mut().unwrap();
        let mut bytes = (message.len() as u64).to_le_bytes().to_vec();
        bytes.extend(message);
        peer.to
            .write_all(&bytes)
            .map_err(|e| lost(to, &e.to_string()))
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>, Lost> {
        let peer = self.peers[from].as_ref().unwrap();
        peer.from
            .recv()
            .map_err(|_| lost(from, "it has closed its socket"))
    }
}

fn lost(node: usize, why: &str) -> Lost {
    let why = why.to_owned();
    Lost { node, why }
}

/// Rounds of agents: each sends its offer to all others. Waits for them in `poll`.
pub struct Rounds {
    pub mesh: Mesh,
    pub own: Option<OfferBytes>,
}

impl Transport for Rounds {
    fn begin(&mut self, offer: &OfferBytes) -> Result<(), Suspicion> {
        self.own = Some(*offer);
        for node in self.mesh.others() {
            self.mesh.send(node, offer.to_vec()).map_err(suspicion)?;
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<OfferBytes>, Suspicion> {
        let Some(mut merged) = self.own.take() else {
            return Ok(None);
        };
        for node in self.mesh.others() {
            let offer = self.mesh.receive(node).map_err(suspicion)?;
            merge_bytes(&offer.try_into().unwrap(), &mut merged);
        }
        Ok(Some(merged))
    }
}

fn suspicion(lost: Lost) -> Suspicion {
    Suspicion {
        why: lost.to_string(),
    }
}
