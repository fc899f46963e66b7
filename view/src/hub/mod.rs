//! One observer for any number of clients.
//!
//! A thread follows the region. What clients want to see is computed there, once for all of them, out of a version that is pinned for
//! just that long. It does so as often as clients take frames, and no more often than its options allow; without clients it sleeps.

mod follower;
mod pass;
mod seats;
mod series;

use crate::frame::Frame;
use crate::look::Look;
use crate::region::Region;
use follower::Follower;
use seats::Seats;
pub use series::Series;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How eagerly a hub works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Least time between frames.
    pub frame: Duration,
    /// Least time between looks at whole fields: moments, histograms, volumes.
    pub whole: Duration,
    /// Least time between looks at the region.
    pub region: Duration,
    /// So many times what a frame took is paused after it (what whole fields took: the same), so that most of a processor is left to others.
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

/// What is new for a client.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The region, if something of it is another.
    pub region: Option<Arc<Region>>,
    /// What was known of a field before, after a look at another one.
    pub series: Option<Arc<Series>>,
    /// A frame.
    pub frame: Option<Frame>,
}

/// Follows a region. Dropped, it ends when its last client is dropped, too.
#[derive(Clone, Debug)]
pub struct Hub {
    common: Arc<Common>,
}

/// What hub, clients and thread share.
#[derive(Debug)]
struct Common {
    name: String,
    seats: Seats,
}

/// Somebody who looks. Dropped, it has left.
pub struct Client {
    common: Arc<Common>,
    number: u64,
}

impl Hub {
    /// Follow the region `name`, which need not be there yet.
    pub fn start(name: &str, options: Options) -> io::Result<Hub> {
        let common = Arc::new(Common {
            name: name.to_owned(),
            seats: Seats::new()?,
        });
        let follower = Follower::new(Arc::downgrade(&common), name, options);
        std::thread::Builder::new()
            .name("tcasm-hub".to_owned())
            .spawn(move || follower.run())?;
        Ok(Hub { common })
    }

    /// Name of the region.
    pub fn name(&self) -> &str {
        &self.common.name
    }

    /// A new client. `wake` is called, from another thread, whenever there is something to take.
    pub fn client(&self, wake: impl Fn() + Send + 'static) -> Client {
        let number = self.common.seats.enter(Box::new(wake));
        let common = self.common.clone();
        Client { common, number }
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.common.seats.count()
    }
}

impl Client {
    /// Look at something (else).
    pub fn look(&self, look: Look) {
        self.common.seats.look(self.number, look);
    }

    /// What is new. Who takes a frame gets the next one after calling this again.
    pub fn take(&self) -> Update {
        self.common.seats.take(self.number)
    }

    /// Only what is to know besides frames: for who has not drawn the last frame yet.
    pub fn take_news(&self) -> Update {
        self.common.seats.take_news(self.number)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.common.seats.leave(self.number);
    }
}
