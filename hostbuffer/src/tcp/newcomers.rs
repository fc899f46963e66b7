//! The connections whose other ends have not proved yet that they know the secret.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest number of them.
const MOST: usize = 64;
/// The largest number of them from one address, so that one machine cannot take all places.
const MOST_EACH: usize = 16;

/// The number of connections of each address.
#[derive(Clone, Debug, Default)]
pub(super) struct Newcomers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Newcomer {
    all: Newcomers,
    from: IpAddr,
}

impl Newcomers {
    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if no other connection may begin.
    pub(super) fn is_full(&self) -> bool {
        self.counts().values().sum::<usize>() >= MOST
    }

    /// Counts a connection. Returns `None` if there are too many of its address.
    pub(super) fn enter(&self, from: IpAddr) -> Option<Newcomer> {
        let mut counts = self.counts();
        let count = counts.entry(from).or_default();
        if *count >= MOST_EACH {
            return None;
        }
        *count += 1;
        let all = self.clone();
        Some(Newcomer { all, from })
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        match counts.get_mut(&self.from) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn one_address_cannot_take_all_places_and_those_that_leave_make_room() {
        let all = &Newcomers::default();
        let enter = move |n: u8| all.enter(IpAddr::from(Ipv4Addr::new(10, 0, 0, n)));
        let fill = move |n| (0..MOST_EACH).filter_map(move |_| enter(n));
        let mut first: Vec<Newcomer> = fill(1).collect();
        assert!(enter(1).is_none() && !all.is_full());
        first.pop();
        first.extend(enter(1));
        assert_eq!(first.len(), MOST_EACH);
        let others: Vec<Newcomer> = (2..5).flat_map(fill).collect();
        assert!(all.is_full());
        drop((first, others));
        assert!(all.counts().is_empty());
    }
}
