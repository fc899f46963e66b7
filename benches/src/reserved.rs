//! Huge pages that are reserved for a measurement.

use std::path::Path;
use tcasm_core::sys::reserved::{FOLDER, ReservedPages};

/// Reserved huge pages of which enough are free. Dropping this gives the machine back the number
/// that it had.
pub struct Pool {
    before: u64,
    changed: bool,
}

impl Pool {
    /// Reserves huge pages of 2 MiB until `wanted` of them are free, which only root can. The error
    /// says why that is impossible here.
    pub fn with_free(wanted: u64) -> Result<Pool, String> {
        let read = || ReservedPages::read().ok_or("the kernel has no huge pages of 2 MiB");
        let before = read()?;
        let missing = wanted.saturating_sub(before.free);
        if missing != 0 {
            set(before.total + missing)
                .map_err(|error| format!("only root can reserve huge pages: {error}"))?;
        }
        let pool = Pool {
            before: before.total,
            changed: missing != 0,
        };
        let now = read()?;
        match now.free >= wanted {
            true => Ok(pool),
            false => Err(format!("{wanted} reserved huge pages are needed: {now}")),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let total = self.before;
        if self.changed
            && let Err(error) = set(total)
        {
            eprintln!("bars: the machine had {total} reserved huge pages before: {error}");
        }
    }
}

/// Sets how many reserved huge pages exist. The kernel makes fewer if it has no room for them.
fn set(total: u64) -> std::io::Result<()> {
    std::fs::write(Path::new(FOLDER).join("nr_hugepages"), total.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_gets_the_number_back_that_it_had() {
        let Some(before) = ReservedPages::read() else {
            return println!("NOT RUN: the kernel has no huge pages of 2 MiB");
        };
        let pool = match Pool::with_free(before.free + 1) {
            Ok(pool) => pool,
            Err(why) => return println!("NOT RUN: {why}"),
        };
        let now = ReservedPages::read().map(|pages| pages.total);
        assert_eq!(now, Some(before.total + 1));
        drop(pool);
        let after = ReservedPages::read().map(|pages| pages.total);
        assert_eq!(after, Some(before.total));
    }
}
