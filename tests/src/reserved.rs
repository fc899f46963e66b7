//! Reserved huge pages for a test.

use std::fs::{File, write};
use std::path::Path;
use tcasm_core::sys::reserved::{FOLDER, ReservedPages};

/// Reserved huge pages of which enough are free. Dropping this gives the machine back the number
/// that it had.
#[derive(Debug)]
pub struct Pool {
    before: ReservedPages,
    /// Locked as long as the pool exists, so that only one test at a time changes the number.
    _folder: File,
}

impl Pool {
    /// Reserves huge pages of 2 MiB until `wanted` of them are free. Prints a line and returns
    /// `None` if that is impossible here.
    pub fn with_free(wanted: u64) -> Option<Pool> {
        Pool::reserve(wanted)
            .inspect_err(|why| println!("NOT RUN: {why}"))
            .ok()
    }

    fn reserve(wanted: u64) -> Result<Pool, String> {
        let none = || "the kernel has no huge pages of 2 MiB to reserve".to_owned();
        let folder = File::open(FOLDER).map_err(|_| none())?;
        folder
            .lock()
            .map_err(|e| format!("locking {FOLDER}: {e}"))?;
        let pool = Pool {
            before: ReservedPages::read().ok_or_else(none)?,
            _folder: folder,
        };
        let missing = wanted.saturating_sub(pool.before.free);
        if missing != 0 {
            set(pool.before.total + missing)
                .map_err(|e| format!("only root can reserve huge pages: {e}"))?;
        }
        match ReservedPages::read() {
            Some(now) if now.free >= wanted => Ok(pool),
            now => Err(format!(
                "{wanted} free reserved huge pages are needed: {now:?}"
            )),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let total = self.before.total;
        if ReservedPages::read().is_some_and(|now| now.total != total)
            && let Err(error) = set(total)
        {
            eprintln!("there were {total} reserved huge pages: {error}");
        }
    }
}

/// Sets how many reserved huge pages exist. The kernel makes fewer if it has no room for them.
fn set(total: u64) -> std::io::Result<()> {
    write(Path::new(FOLDER).join("nr_hugepages"), total.to_string())
}
