//! Declarations that end while a transfer is refused.

use super::*;
use std::num::NonZeroU64;
use std::sync::OnceLock;

/// The bytes of a version, which look at the lock of the table when they are dropped.
struct Bytes {
    table: Arc<Table>,
    /// Set to whether the lock was free.
    free: Arc<OnceLock<bool>>,
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        b"version"
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        let free = self.table.inner.try_lock().is_ok();
        self.free.set(free).expect("dropped once");
    }
}

const MOST_OF_ALL: Most = Most {
    segments: 1,
    bytes: u64::MAX,
};

#[test]
fn the_version_of_a_refused_transfer_is_dropped_without_the_lock() {
    for (write, len, status) in [
        (false, 100, Status::OutOfRange),
        (true, 1, Status::NotPermitted),
    ] {
        let (table, free) = (Arc::new(Table::default()), Arc::new(OnceLock::new()));
        let bytes = Bytes {
            table: table.clone(),
            free: free.clone(),
        };
        let old = Declaration::version(NonZeroU64::MIN, Arc::new(bytes)).unwrap();
        let new = Declaration::version(NonZeroU64::MAX, Arc::new(vec![0u8; 7])).unwrap();
        let cookie = table.declare(new).unwrap();
        let span = Span {
            cookie,
            offset: 0,
            len,
            write,
        };

        let refused = table.begin(1, &span, MOST_OF_ALL, Some(Arc::new(old)));
        assert_eq!(refused.unwrap_err(), status);
        assert_eq!(free.get(), Some(&true), "the lock was held");
    }
}
