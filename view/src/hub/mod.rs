//! One observer for any number of clients.
//!
//! A thread of the hub follows the region. It computes the data that clients want to see, once for
//! all of them, and pins a version only while it reads it. The thread works as often as clients
//! take frames, and no more often than its options allow. It sleeps while there are no clients.

mod clients;
mod common;
mod follower;
mod options;
mod pass;
mod seen;
mod series;
mod update;

pub use options::Options;
pub use series::Series;
pub use update::Update;

use crate::request::ViewRequest;
use clients::Clients;
use common::Common;
use follower::Follower;
use std::io;
use std::sync::Arc;

/// An observer of one region that serves any number of clients.
///
/// Its thread ends when the hub and all of its clients are dropped.
#[derive(Clone, Debug)]
pub struct Hub {
    common: Arc<Common>,
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
