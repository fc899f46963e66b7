//! Huge pages that an administrator has reserved (`vm.nr_hugepages`). They have no other use, so a
//! program gets all that it asks for at once, or an error.

use serde::Serialize;
use std::fmt;
use std::fs::read_to_string;
use std::path::Path;

/// The folder in which the kernel counts reserved huge pages of 2 MiB. The sysctl counts those of
/// the default size, which is 1 GiB on some machines.
pub const FOLDER: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// The number of reserved huge pages of 2 MiB of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReservedPages {
    /// Pages that exist.
    pub total: u64,
    /// Pages that no program uses, and that are promised to none.
    pub free: u64,
}

impl ReservedPages {
    /// Asks the kernel. Returns `None` if it has no pages of this size.
    pub fn read() -> Option<Self> {
        Self::read_in(Path::new(FOLDER))
    }

    fn read_in(folder: &Path) -> Option<Self> {
        let number = |file: &str| -> Option<u64> {
            let text = read_to_string(folder.join(file)).ok()?;
            text.trim().parse().ok()
        };
        // A page is promised when it is mapped, and in use when it is touched.
        let promised = number("resv_hugepages")?;
        Some(ReservedPages {
            total: number("nr_hugepages")?,
            free: number("free_hugepages")?.saturating_sub(promised),
        })
    }
}

impl fmt::Display for ReservedPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} are free", self.free, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::live::map_reserved;
    use crate::sys::mem::{HUGE_PAGE, Mapping, page_size};
    use std::fs;

    #[test]
    fn pages_that_are_promised_to_a_program_are_not_free() {
        let folder = std::env::temp_dir().join(format!("tcasm-reserved-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(ReservedPages::read_in(&folder), None);
        let files = [
            ("nr_hugepages", "8\n"),
            ("free_hugepages", "6\n"),
            ("resv_hugepages", "5\n"),
        ];
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let found = ReservedPages::read_in(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Some(ReservedPages { total: 8, free: 1 }));
        assert_eq!(found.unwrap().to_string(), "1 of 8 are free");
    }

    #[test]
    fn range_that_is_not_of_whole_huge_pages_is_refused() {
        let memory = Mapping::reserve_aligned(2 * HUGE_PAGE).unwrap();
        let (base, page) = (memory.addr(), page_size());
        // The kernel would extend the first of these over what lies behind it.
        for range in [base..base + page, base + page..base + page + HUGE_PAGE] {
            // SAFETY: the reservation is new, and nothing is borrowed from it.
            let error = unsafe { map_reserved(&range) }.unwrap_err();
            assert!(error.to_string().contains("EINVAL"), "{error}");
        }
    }
}
