//! The clients, as the hub's thread sees them: what each wants, and what waits for it.

use super::{Series, Update};
use crate::frame::Frame;
use crate::look::Look;
use crate::region::Region;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All clients, and what wakes the thread.
#[derive(Debug)]
pub struct Seats {
    table: Mutex<Table>,
    bell: EventFd,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    seats: BTreeMap<u64, Seat>,
    region: Option<Arc<Region>>,
}

/// One client.
struct Seat {
    look: Option<Arc<Look>>,
    /// It has not been answered yet.
    fresh: bool,
    /// What takes a whole field is wanted anew.
    whole: bool,
    /// It has taken the last frame, and asked for another.
    ready: bool,
    /// The version of its last frame.
    given: Option<u64>,
    update: Update,
    wake: Box<dyn Fn() + Send>,
}

/// What a client waits for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Who.
    pub client: u64,
    /// What.
    pub look: Arc<Look>,
    /// It looks at this for the first time.
    pub fresh: bool,
    /// The same, and what takes a whole field is another.
    pub whole: bool,
    /// It can take a frame, and has none of the newest version.
    pub behind: bool,
}

impl Wish {
    /// Whether the newest version is wanted, again and again.
    pub fn is_live(&self) -> bool {
        self.look.version.is_none()
    }
}

impl Seat {
    fn is_live(&self) -> bool {
        self.look
            .as_ref()
            .is_some_and(|look| look.version.is_none())
    }

    fn is_behind(&self, newest: u64) -> bool {
        self.ready && self.given != Some(newest)
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").field("look", &self.look).finish()
    }
}

impl Seats {
    pub fn new() -> io::Result<Self> {
        Ok(Seats {
            table: Mutex::default(),
            bell: EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?,
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wake the thread.
    pub fn ring(&self) {
        // It fails only when it has been rung 2^64 times and not heard.
        let _ = self.bell.write(1);
    }

    /// Sleep until the bell is rung, `other` becomes readable, or the time is over.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, timeout: Option<Duration>) {
        let mut all = vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        all.extend(other.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        // Rounded up: what is due at the end of it shall be due.
        let ms = timeout.map(|t| t.as_micros().div_ceil(1000));
        let timeout = ms.map_or(PollTimeout::NONE, |ms| {
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
        });
        let _ = poll(&mut all, timeout);
        let _ = self.bell.read();
    }

    pub fn enter(&self, wake: Box<dyn Fn() + Send>) -> u64 {
        let mut table = self.table();
        table.next += 1;
        let number = table.next;
        let seat = Seat {
            look: None,
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
        (seat.wake)();
        table.seats.insert(number, seat);
        drop(table);
        self.ring();
        number
    }

    pub fn leave(&self, number: u64) {
        self.table().seats.remove(&number);
        self.ring();
    }

    pub fn count(&self) -> usize {
        self.table().seats.len()
    }

    pub fn look(&self, number: u64, look: Look) {
        if let Some(seat) = self.table().seats.get_mut(&number) {
            let same = seat.look.as_ref().is_some_and(|old| old.same_whole(&look));
            seat.whole |= !same;
            seat.fresh = true;
            seat.look = Some(Arc::new(look));
            // What answers the look before is of no use.
            seat.update.frame = None;
        }
        self.ring();
    }

    pub fn take(&self, number: u64) -> Update {
        let update = match self.table().seats.get_mut(&number) {
            Some(seat) => {
                seat.ready = seat.update.frame.is_none();
                std::mem::take(&mut seat.update)
            }
            None => Update::default(),
        };
        if update.frame.is_none() {
            self.ring();
        }
        update
    }

    pub fn take_news(&self, number: u64) -> Update {
        match self.table().seats.get_mut(&number) {
            Some(seat) => Update {
                region: seat.update.region.take(),
                series: seat.update.series.take(),
                frame: None,
            },
            None => Update::default(),
        }
    }

    /// What clients wait for when `newest` is the newest version. What is fresh counts as seen.
    pub fn wishes(&self, newest: u64) -> Vec<Wish> {
        let mut table = self.table();
        let wishes = table.seats.iter_mut().filter_map(|(client, seat)| {
            let look = seat.look.clone()?;
            Some(Wish {
                client: *client,
                look,
                fresh: std::mem::take(&mut seat.fresh),
                whole: std::mem::take(&mut seat.whole),
                behind: seat.is_behind(newest),
            })
        });
        wishes.collect()
    }

    /// Whether anybody looks at the newest version.
    pub fn someone_is_live(&self) -> bool {
        self.table().seats.values().any(Seat::is_live)
    }

    /// Whether anybody of those has taken the last frame, and asked for another.
    pub fn someone_is_ready(&self) -> bool {
        let table = self.table();
        table
            .seats
            .values()
            .any(|seat| seat.is_live() && seat.ready)
    }

    /// Whether anybody of those waits for a frame of version `newest`.
    pub fn someone_is_behind(&self, newest: u64) -> bool {
        let table = self.table();
        let mut seats = table.seats.values();
        seats.any(|seat| seat.is_live() && seat.is_behind(newest))
    }

    /// Another run begins: its versions are others, though they have the same numbers.
    pub fn start_again(&self) {
        for seat in self.table().seats.values_mut() {
            seat.given = None;
            seat.whole = true;
        }
    }

    /// Give a client a frame of what is small, unless it looks at something else by now.
    pub fn give(&self, client: u64, frame: Frame, series: Option<Arc<Series>>) {
        let version = frame.stamp.version;
        self.put(client, frame, |seat| {
            seat.given = Some(version);
            seat.update.series = series.or(seat.update.series.take());
        });
    }

    /// Give a client what takes whole fields. It still waits for what is small of that version, if it has not got that.
    pub fn add(&self, client: u64, frame: Frame) {
        self.put(client, frame, |_| {});
    }

    fn put(&self, client: u64, mut frame: Frame, note: impl FnOnce(&mut Seat)) {
        if let Some(seat) = self.table().seats.get_mut(&client)
            && seat
                .look
                .as_ref()
                .is_some_and(|look| Arc::ptr_eq(look, &frame.look))
        {
            if let Some(older) = seat.update.frame.take() {
                frame.complete(older);
            }
            seat.ready = false;
            seat.update.frame = Some(frame);
            note(seat);
            (seat.wake)();
        }
    }

    /// What clients were told of the region.
    pub fn told(&self) -> Option<Arc<Region>> {
        self.table().region.clone()
    }

    /// Tell all clients of the region, if something of it is another.
    pub fn tell(&self, mut region: Region) {
        let mut table = self.table();
        region.clients = table.seats.len();
        if table.region.as_deref() == Some(&region) {
            return;
        }
        let region = Arc::new(region);
        table.region = Some(region.clone());
        for seat in table.seats.values_mut() {
            seat.update.region = Some(region.clone());
            (seat.wake)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(field: &str) -> Look {
        Look {
            field: field.to_owned(),
            ..Look::default()
        }
    }

    /// What answers the one wish there is.
    fn answer(seats: &Seats) -> Frame {
        Frame {
            look: seats.wishes(1).remove(0).look,
            ..Frame::default()
        }
    }

    #[test]
    fn who_looks_at_something_else_gets_nothing_of_what_it_looked_at_before() {
        let seats = Seats::new().unwrap();
        let client = seats.enter(Box::new(|| ()));
        seats.look(client, look("u"));
        let early = answer(&seats);
        let late = answer(&seats);
        seats.give(client, early, None);
        seats.look(client, look("v"));
        let waiting = seats.take(client).frame;
        assert!(waiting.is_none(), "it waited to be taken: {waiting:?}");
        seats.give(client, late.clone(), None);
        seats.add(client, late);
        let late = seats.take(client).frame;
        assert!(late.is_none(), "it was being made: {late:?}");
        let own = answer(&seats);
        seats.give(client, own, None);
        assert_eq!(seats.take(client).frame.unwrap().look.field, "v");
    }
}
