//! The table of clients: what each one wants to see, and the updates that wait for it.

use super::series::Series;
use super::update::Update;
use crate::frame::Frame;
use crate::region::Region;
use crate::request::ViewRequest;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All clients, and the event that wakes the hub's thread.
#[derive(Debug)]
pub struct Clients {
    table: Mutex<Table>,
    bell: EventFd,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    clients: BTreeMap<u64, ClientState>,
    region: Option<Arc<Region>>,
}

/// One client.
struct ClientState {
    request: Option<Arc<ViewRequest>>,
    /// True if the request has not been handed to the hub's thread yet.
    fresh: bool,
    /// True if the parts that read a whole field must be computed again.
    whole: bool,
    /// True if the client has taken the last frame and asked for another.
    ready: bool,
    /// The version of the last frame.
    given: Option<u64>,
    update: Update,
    wake: Box<dyn Fn() + Send>,
}

/// The work that the hub has for a client.
#[derive(Clone, Debug)]
pub struct Job {
    /// Number of the client.
    pub client: u64,
    /// The data that the client wants.
    pub request: Arc<ViewRequest>,
    /// True if the request is new.
    pub fresh: bool,
    /// True if the parts that read a whole field must be computed.
    pub whole: bool,
    /// True if the client can take a frame and has none of the newest version.
    pub behind: bool,
}

impl Job {
    /// Returns true if the request follows the newest version.
    pub fn is_live(&self) -> bool {
        self.request.version.is_none()
    }
}

impl ClientState {
    fn is_live(&self) -> bool {
        self.request
            .as_ref()
            .is_some_and(|request| request.version.is_none())
    }

    fn is_behind(&self, newest: u64) -> bool {
        self.ready && self.given != Some(newest)
    }
}

impl std::fmt::Debug for ClientState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientState")
            .field("request", &self.request)
            .finish()
    }
}

impl Clients {
    pub fn new() -> io::Result<Self> {
        Ok(Clients {
            table: Mutex::default(),
            bell: EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?,
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the hub's thread.
    pub fn ring(&self) {
        // The write fails only when the counter of the event would overflow. The thread is awake
        // then.
        let _ = self.bell.write(1);
    }

    /// Sleeps until `ring` is called, `other` becomes readable, or the timeout has passed.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, timeout: Option<Duration>) {
        let mut all = vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        all.extend(other.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        // Round up, so that work is due when the thread wakes.
        let ms = timeout.map(|t| t.as_micros().div_ceil(1000));
        let timeout = ms.map_or(PollTimeout::NONE, |ms| {
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
        });
        let _ = poll(&mut all, timeout);
        let _ = self.bell.read();
    }

    /// Adds a client and returns its number.
    pub fn enter(&self, wake: Box<dyn Fn() + Send>) -> u64 {
        let mut table = self.table();
        table.next += 1;
        let number = table.next;
        let state = ClientState {
            request: None,
            fresh: false,
            whole: false,
            ready: true,
            given: None,
            update: Update {
                region: table.region.clone(),
                ..Update::default()
            },
            wake,
        };
        (state.wake)();
        table.clients.insert(number, state);
        drop(table);
        self.ring();
        number
    }

    /// Removes a client.
    pub fn leave(&self, number: u64) {
        self.table().clients.remove(&number);
        self.ring();
    }

    /// Returns the number of clients.
    pub fn count(&self) -> usize {
        self.table().clients.len()
    }

    /// Sets what a client wants to see.
    pub fn request(&self, number: u64, request: ViewRequest) {
        if let Some(state) = self.table().clients.get_mut(&number) {
            let same = state
                .request
                .as_ref()
                .is_some_and(|old| old.same_whole(&request));
            state.whole |= !same;
            state.fresh = true;
            state.request = Some(Arc::new(request));
            // The client has no use for a frame that answers the previous request.
            state.update.frame = None;
        }
        self.ring();
    }

    /// Returns the pending updates of a client. If there is no frame, the client becomes ready for
    /// the next one.
    pub fn take(&self, number: u64) -> Update {
        let update = match self.table().clients.get_mut(&number) {
            Some(state) => {
                state.ready = state.update.frame.is_none();
                std::mem::take(&mut state.update)
            }
            None => Update::default(),
        };
        if update.frame.is_none() {
            self.ring();
        }
        update
    }

    /// Returns the pending updates of a client other than frames.
    pub fn take_news(&self, number: u64) -> Update {
        match self.table().clients.get_mut(&number) {
            Some(state) => Update {
                region: state.update.region.take(),
                series: state.update.series.take(),
                frame: None,
            },
            None => Update::default(),
        }
    }

    /// Returns the jobs of all clients that have a request, when `newest` is the newest version.
    /// Clears the marks for new requests: the caller must answer them.
    pub fn jobs(&self, newest: u64) -> Vec<Job> {
        let mut table = self.table();
        let jobs = table.clients.iter_mut().filter_map(|(client, state)| {
            let request = state.request.clone()?;
            Some(Job {
                client: *client,
                request,
                fresh: std::mem::take(&mut state.fresh),
                whole: std::mem::take(&mut state.whole),
                behind: state.is_behind(newest),
            })
        });
        jobs.collect()
    }

    /// Returns true if a client follows the newest version.
    pub fn someone_is_live(&self) -> bool {
        self.table().clients.values().any(ClientState::is_live)
    }

    /// Returns true if a client that follows the newest version is ready for another frame.
    pub fn someone_is_ready(&self) -> bool {
        let table = self.table();
        table
            .clients
            .values()
            .any(|state| state.is_live() && state.ready)
    }

    /// Returns true if a client that follows the newest version waits for a frame of `newest`.
    pub fn someone_is_behind(&self, newest: u64) -> bool {
        let table = self.table();
        let mut clients = table.clients.values();
        clients.any(|state| state.is_live() && state.is_behind(newest))
    }

    /// Forgets which versions clients have. Call it when another run begins: its versions differ
    /// from those of the run before, though they have the same numbers.
    pub fn start_again(&self) {
        for state in self.table().clients.values_mut() {
            state.given = None;
            state.whole = true;
        }
    }

    /// Gives a client a frame with the small parts, unless its request has changed.
    pub fn give(&self, client: u64, frame: Frame, series: Option<Arc<Series>>) {
        let version = frame.stamp.version;
        self.put(client, frame, |state| {
            state.given = Some(version);
            state.update.series = series.or(state.update.series.take());
        });
    }

    /// Gives a client a frame with the parts that read whole fields, unless its request has
    /// changed. The version does not count as given: the client still waits for its small parts.
    pub fn add(&self, client: u64, frame: Frame) {
        self.put(client, frame, |_| {});
    }

    fn put(&self, client: u64, mut frame: Frame, note: impl FnOnce(&mut ClientState)) {
        if let Some(state) = self.table().clients.get_mut(&client)
            && state
                .request
                .as_ref()
                .is_some_and(|request| Arc::ptr_eq(request, &frame.request))
        {
            if let Some(older) = state.update.frame.take() {
                frame.complete(older);
            }
            state.ready = false;
            state.update.frame = Some(frame);
            note(state);
            (state.wake)();
        }
    }

    /// Returns the last state of the region that was sent to clients.
    pub fn last_region(&self) -> Option<Arc<Region>> {
        self.table().region.clone()
    }

    /// Sends the state of the region to all clients, if it has changed.
    pub fn set_region(&self, mut region: Region) {
        let mut table = self.table();
        region.clients = table.clients.len();
        if table.region.as_deref() == Some(&region) {
            return;
        }
        let region = Arc::new(region);
        table.region = Some(region.clone());
        for state in table.clients.values_mut() {
            state.update.region = Some(region.clone());
            (state.wake)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(field: &str) -> ViewRequest {
        ViewRequest {
            field: field.to_owned(),
            ..ViewRequest::default()
        }
    }

    /// Returns a frame that answers the only job.
    fn answer(clients: &Clients) -> Frame {
        Frame {
            request: clients.jobs(1).remove(0).request,
            ..Frame::default()
        }
    }

    #[test]
    fn new_request_discards_frames_of_previous_request() {
        let clients = Clients::new().unwrap();
        let client = clients.enter(Box::new(|| ()));
        clients.request(client, request("u"));
        let early = answer(&clients);
        let late = answer(&clients);
        clients.give(client, early, None);
        clients.request(client, request("v"));
        let waiting = clients.take(client).frame;
        assert!(waiting.is_none(), "the frame waited: {waiting:?}");
        clients.give(client, late.clone(), None);
        clients.add(client, late);
        let late = clients.take(client).frame;
        assert!(late.is_none(), "the frame came late: {late:?}");
        let own = answer(&clients);
        clients.give(client, own, None);
        assert_eq!(clients.take(client).frame.unwrap().request.field, "v");
    }
}
