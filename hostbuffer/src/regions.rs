//! Sections for regions: addresses that the processes have agreed on, and that ranks fill with
//! regions of their own. The buffer has no memory there.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use tcasm_core::place::ROUNDING_PAGES;
use tcasm_core::sys::mem::{HUGE_PAGE, MapError, Mapping, page_size};

/// The parts of a section for regions, one for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Regions {
    pub(crate) ranks: u32,
    /// The bytes of address space of each part: whole huge pages.
    part: usize,
}

impl Regions {
    /// Describes parts for regions of this capacity. Returns `None` if there are none, or more than
    /// any machine has addresses for.
    pub(crate) fn new(ranks: u32, capacity: usize) -> Option<Self> {
        let rounding = ROUNDING_PAGES * page_size();
        let part = capacity.checked_add(rounding)?;
        let part = part.checked_next_multiple_of(HUGE_PAGE)?;
        (ranks > 0 && capacity > 0).then_some(Regions { ranks, part })
    }

    /// Returns the bytes of all parts.
    pub(crate) fn bytes(&self) -> Option<usize> {
        self.part.checked_mul(self.ranks as usize)
    }

    /// Returns the part of `rank`, counted from the beginning of the section.
    pub(crate) fn part(&self, rank: u32) -> Option<Range<usize>> {
        if rank >= self.ranks {
            return None;
        }
        let first = self.part.checked_mul(rank as usize)?;
        Some(first..first.checked_add(self.part)?)
    }
}

/// Reserved addresses that can be given up in parts.
#[derive(Debug)]
pub(crate) struct Reserved(Mutex<Vec<Mapping>>);

impl Reserved {
    pub(crate) fn new(all: Mapping) -> Self {
        Reserved(Mutex::new(vec![all]))
    }

    /// Unmaps these addresses, or none of them. Returns false if not all are reserved any more.
    pub(crate) fn give_up(&self, range: &Range<usize>) -> Result<bool, MapError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let around = |m: &Mapping| m.addr() <= range.start && range.end <= m.addr() + m.len();
        let Some(found) = all.iter().position(around) else {
            return Ok(false);
        };
        let mut before = all.swap_remove(found);
        let mut part = before.split_off(range.start - before.addr());
        let after = part.split_off(range.len());
        all.extend([before, after].into_iter().filter(|m| !m.is_empty()));
        match part.unmap() {
            Ok(()) => Ok(true),
            Err((part, error)) => {
                all.push(part);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::place::addresses;

    /// Returns `count` reserved pages at an address that the kernel gives to nobody, and a function
    /// that gives the range of one.
    fn pages(name: &str, count: usize) -> (Reserved, impl Fn(usize) -> Range<usize>) {
        let bytes = count * page_size();
        let first = addresses(name, bytes as u64).next().unwrap() as usize;
        let all = Mapping::reserve_at(first, bytes).unwrap();
        let page = move |i| first + i * page_size()..first + (i + 1) * page_size();
        (Reserved::new(all), page)
    }

    fn is_free(range: &Range<usize>) -> bool {
        Mapping::reserve_at(range.start, range.len()).is_ok()
    }

    #[test]
    fn parts_are_given_up_once_in_any_order() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let (reserved, page) = pages("order", 4);
            for (taken, i) in order.into_iter().enumerate() {
                assert!(reserved.give_up(&page(i)).unwrap());
                assert!(!reserved.give_up(&page(i)).unwrap());
                for (j, other) in order.into_iter().enumerate() {
                    assert_eq!(is_free(&page(other)), j <= taken, "{order:?} {taken} {j}");
                }
            }
            assert!(reserved.0.lock().unwrap().is_empty());
        }
    }

    #[test]
    fn what_is_mapped_in_a_part_later_outlives_the_reservation() {
        let (reserved, page) = pages("outlives", 3);
        assert!(reserved.give_up(&page(1)).unwrap());
        let own = Mapping::reserve_at(page(1).start, page_size()).unwrap();
        drop(reserved);
        assert!(is_free(&page(0)) && is_free(&page(2)));
        assert!(!is_free(&page(1)));
        drop(own);
    }

    #[test]
    fn parts_are_whole_huge_pages_with_room_for_the_rounding_of_fields() {
        let rounding = ROUNDING_PAGES * page_size();
        let fits = Regions::new(3, HUGE_PAGE - rounding).unwrap();
        assert_eq!(fits.part(2), Some(2 * HUGE_PAGE..3 * HUGE_PAGE));
        assert_eq!((fits.part(3), fits.bytes()), (None, Some(3 * HUGE_PAGE)));
        let larger = Regions::new(3, HUGE_PAGE - rounding + 1).unwrap();
        assert_eq!(larger.bytes(), Some(6 * HUGE_PAGE));
        assert_eq!(Regions::new(0, 1), None);
        assert_eq!(Regions::new(1, 0), None);
        assert_eq!(Regions::new(1, usize::MAX), None);
    }

    #[test]
    fn rank_whose_part_would_lie_beyond_all_addresses_has_none() {
        let huge = Regions::new(3, usize::MAX / 2).unwrap();
        assert!(huge.part(0).is_some() && huge.bytes().is_none());
        for rank in [1, 2, 3, u32::MAX] {
            assert_eq!(huge.part(rank), None, "rank {rank}");
        }
    }
}
