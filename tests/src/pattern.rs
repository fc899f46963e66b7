//! The contents that tests write into pages. An observer can tell for every page of every version
//! whether it is the right one.
//!
//! The number of a version determines by hashing which pages it rewrites. Every page carries the
//! number of the version that wrote it last, its own number, words of filling all over it, and a
//! checksum. So a reader notices a page that is too old, too new, in the wrong place, or mixed from
//! two pages.

use std::fmt;
use tcasm_observer::{Attr, FieldTable};
use xxhash_rust::xxh3::xxh3_64;

/// The number of words of filling in a page. They are at equal distances, the last at the end.
const FILLING: usize = 8;

/// Returns the number of 64-bit words in a page.
pub fn words_per_page() -> usize {
    tcasm_core::sys::mem::page_size() / 8
}

/// Returns a number that looks random, made from three others.
pub fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut x = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ c.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 29
}

/// A rule that says which pages of a field each version rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// A number that makes fields (and runs) differ.
    pub seed: u64,
    /// The distance between versions that rewrite all pages. Version 1 is one of them.
    pub dense_every: u64,
    /// The other versions rewrite at most one page in this many, and at least one of the first 16.
    pub one_in: u64,
}

impl Pattern {
    /// Returns true if `version` rewrites the whole field.
    pub fn dense(&self, version: u64) -> bool {
        (version - 1).is_multiple_of(self.dense_every)
    }

    /// Returns a test for the pages that `version` rewrites. Some versions change much, others
    /// little.
    pub fn rewrites(&self, version: u64) -> impl Fn(usize) -> bool + use<> {
        let (seed, dense) = (self.seed, self.dense(version));
        let one_in = self.one_in << (mix(seed, version, 0) % 4 * 3);
        let limit = u64::MAX / one_in;
        let always = version % 16;
        move |page| {
            let page = page as u64;
            dense || page == always || mix(seed, version, page + 1) < limit
        }
    }

    /// Returns for each of `pages` pages the last version up to `version` that rewrote it.
    pub fn last_writers(&self, version: u64, pages: usize) -> Vec<u64> {
        let dense = version - (version - 1) % self.dense_every;
        let mut last = vec![dense; pages];
        for v in dense + 1..=version {
            let rewrites = self.rewrites(v);
            (0..pages)
                .filter(|page| rewrites(*page))
                .for_each(|page| last[page] = v);
        }
        last
    }

    /// Returns the pattern as an attribute of the region, for observers.
    pub fn attr(&self) -> String {
        format!("{} {} {}", self.seed, self.dense_every, self.one_in)
    }

    /// Returns the pattern of `field` from the field table of a version.
    pub fn of(table: &FieldTable, field: &str) -> Option<Pattern> {
        let Attr::Text(text) = table.attrs.get(field)? else {
            return None;
        };
        let numbers: Vec<u64> = text.split(' ').map_while(|n| n.parse().ok()).collect();
        let [seed, dense_every, one_in] = numbers[..] else {
            return None;
        };
        Some(Pattern {
            seed,
            dense_every,
            one_in,
        })
    }
}

fn filling(version: u64, number: usize) -> impl Iterator<Item = (usize, u64)> {
    let step = words_per_page() / FILLING;
    (1..=FILLING).map(move |i| (i * step - 1, mix(version, number as u64, i as u64)))
}

fn checksum(page: &[u64]) -> u64 {
    let step = words_per_page() / FILLING;
    let mut sum = [0; FILLING + 2];
    sum[..2].copy_from_slice(&page[..2]);
    (1..=FILLING).for_each(|i| sum[i + 1] = page[i * step - 1]);
    xxh3_64(bytemuck::cast_slice(&sum))
}

/// Writes page number `number` as `version` has it.
pub fn stamp(page: &mut [u64], version: u64, number: usize) {
    page[0] = version;
    page[1] = number as u64;
    filling(version, number).for_each(|(at, word)| page[at] = word);
    page[2] = checksum(page);
}

/// A page that differs from what its version must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The number of the page in its field.
    pub page: usize,
    /// The version that wrote it last.
    pub expected: u64,
    /// The version and the page number that stand in it.
    pub found: (u64, u64),
    /// True if its checksum is right.
    pub whole: bool,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Torn {
            page,
            expected,
            found,
            whole,
        } = self;
        let (version, number) = found;
        write!(
            f,
            "torn: page {page} was last written in version {expected}, and holds page {number} of \
             version {version}, checksum right: {whole}"
        )
    }
}

/// Checks that the page is page `number` as `version` wrote it.
pub fn check(page: &[u64], version: u64, number: usize) -> Result<(), Torn> {
    let whole = checksum(page) == page[2];
    let filled = filling(version, number).all(|(at, word)| page[at] == word);
    if whole && filled && page[0] == version && page[1] == number as u64 {
        return Ok(());
    }
    Err(Torn {
        page: number,
        expected: version,
        found: (page[0], page[1]),
        whole,
    })
}

/// Checks consecutive pages that begin with page `first`.
pub fn check_all(words: &[u64], first: usize, last_writers: &[u64]) -> Result<(), Torn> {
    let pages = words
        .chunks_exact(words_per_page())
        .zip(&last_writers[first..]);
    pages
        .enumerate()
        .try_for_each(|(i, (page, version))| check(page, *version, first + i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(version: u64, number: usize) -> Vec<u64> {
        let mut page = vec![0; words_per_page()];
        stamp(&mut page, version, number);
        page
    }

    #[test]
    fn page_of_another_version_or_place_is_torn() {
        assert_eq!(check(&page(7, 3), 7, 3), Ok(()));
        assert!(check(&page(6, 3), 7, 3).is_err());
        assert!(check(&page(7, 4), 7, 3).is_err());
        assert!(check(&vec![0; words_per_page()], 7, 3).is_err());
    }

    proptest! {
        #[test]
        fn mixture_of_two_versions_is_torn(cut in 1..words_per_page()) {
            let (mut old, new) = (page(6, 3), page(7, 3));
            old[..cut].copy_from_slice(&new[..cut]);
            prop_assert!(check(&old, 7, 3).is_err() && check(&old, 6, 3).is_err());
        }

        #[test]
        fn last_writer_is_the_newest_version_that_rewrote_the_page(seed: u64, version in 1u64..40) {
            let pattern = Pattern { seed, dense_every: 9, one_in: 2 };
            for (page, last) in pattern.last_writers(version, 50).into_iter().enumerate() {
                let newest = (1..=version).rev().find(|v| pattern.rewrites(*v)(page));
                prop_assert_eq!(newest, Some(last));
            }
        }
    }
}
