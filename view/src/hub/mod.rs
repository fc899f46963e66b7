//! One observer for any number of clients.
//!
//! A thread of the hub follows the region. It computes the data that clients want to see, once for
//! all of them, and pins a version only while it reads it. The thread works as often as clients
//! take frames, and no more often than its options allow. It sleeps while there are no clients.

mod clients;
mod follower;
mod pass;
mod seen;
mod series;

use crate::frame::Frame;
use crate::region::Region;
use crate::request::ViewRequest;
use clients::Clients;
use follower::Follower;
pub use series::Series;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The limits on how often a hub works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Least time between the starts of two frames.
    pub frame: Duration,
    /// Least time between two passes over whole fields (moments, histograms, volumes).
    pub whole: Duration,
    /// Least time between two queries of the region's state.
    pub region: Duration,
    /// Length of the pause after a frame, in multiples of the time that the frame took. The same
    /// factor holds for passes over whole fields. The pause leaves most of a processor to others.
    pub pause: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            frame: Duration::from_millis(33),
            whole: Duration::from_millis(300),
            region: Duration::from_millis(500),
            pause: 3,
        }
    }
}

/// The updates that wait for a client.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The state of the region, if it has changed.
    pub region: Option<Arc<Region>>,
    /// The known history of a field, after a request for another field or component.
    pub series: Option<Arc<Series>>,
    /// The next frame, if there is one.
    pub frame: Option<Frame>,
}

/// An observer of one region that serves any number of clients.
///
/// Its thread ends when the hub and all of its clients are dropped.
#[derive(Clone, Debug)]
pub struct Hub {
    common: Arc<Common>,
}

/// The state that the hub, its clients and its thread share.
#[derive(Debug)]
struct Common {
    name: String,
    clients: Clients,
}

/// A client of a hub. Dropping it removes it from the hub.
pub struct Client {
    common: Arc<Common>,
    number: u64,
}

impl Hub {
    /// Starts a hub for the region `name`. The region need not exist yet.
    pub fn start(name: &str, options: Options) -> io::Result<Hub> {
        let common = Arc::new(Common {
            name: name.to_owned(),
            clients: Clients::new()?,
        });
        let follower = Follower::new(Arc::downgrade(&common), name, options);
        std::thread::Builder::new()
            .name("tcasm-hub".to_owned())
            .spawn(move || follower.run())?;
        Ok(Hub { common })
    }

    /// Returns the name of the region.
    pub fn name(&self) -> &str {
        &self.common.name
    }

    /// Adds a client. `wake` is called whenever there is an update to take, from the hub's thread
    /// and once before this function returns. It must not call into the hub.
    pub fn client(&self, wake: impl Fn() + Send + 'static) -> Client {
        let number = self.common.clients.enter(Box::new(wake));
        let common = self.common.clone();
        Client { common, number }
    }

    /// Returns the number of clients.
    pub fn clients(&self) -> usize {
        self.common.clients.count()
    }
}

impl Client {
    /// Sets what the client wants to see. It replaces the request before.
    pub fn request(&self, request: ViewRequest) {
        self.common.clients.request(self.number, request);
    }

    /// Returns pending updates. After a call that returns a frame, call again to ask for the next
    /// one.
    pub fn take(&self) -> Update {
        self.common.clients.take(self.number)
    }

    /// Returns pending updates other than frames. Use it while the client still draws the last
    /// frame.
    pub fn take_news(&self) -> Update {
        self.common.clients.take_news(self.number)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.common.clients.leave(self.number);
    }
}
