//! Counts the mappings of a window, without a look at the whole window.
//!
//! The kernel joins neighbouring pages of one plane to one mapping, also across chunks. So a window
//! has one mapping more than it has borders between pages of different planes. A change of some
//! chunks changes only the borders inside and at the ends of these chunks.

use tcasm_core::format::pagemap::{ChunkMap, Code, ZERO};

/// The facts that decide about the borders of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// The place of the first page, or `None` if it is in a mapping that never joins another.
    first: Option<Code>,
    /// The place of the last page.
    last: Option<Code>,
    /// The number of borders between pages of the chunk.
    inside: usize,
}

impl Ends {
    /// Returns the ends of a chunk of `pages` pages, of which `runs` runs are mapped.
    pub(crate) fn mapped(map: &ChunkMap, pages: usize, runs: usize) -> Self {
        Ends {
            first: Some(map.code(0)),
            last: Some(map.code(pages - 1)),
            inside: runs - 1,
        }
    }

    /// Returns the ends of a copied chunk. In a flat window copies and zero pages are in one
    /// mapping. Elsewhere a copy counts as a mapping of its own. (The kernel may join some.)
    pub(crate) fn copied(flat: bool) -> Self {
        let place = flat.then_some(ZERO);
        Ends {
            first: place,
            last: place,
            inside: 0,
        }
    }
}

fn is_border(a: Option<Code>, b: Option<Code>) -> bool {
    a.is_none() || a != b
}

/// Returns the number of borders in `some` chunks of a window and at their ends, in order of the
/// chunks. The window has `chunks` chunks, and `other` returns the ends of the others.
pub(crate) fn borders(
    some: &[(usize, Ends)],
    chunks: usize,
    other: impl Fn(usize) -> Ends,
) -> usize {
    let mut count = 0;
    for (i, (chunk, ends)) in some.iter().enumerate() {
        let before = match i.checked_sub(1).map(|i| some[i]) {
            Some((last, ends)) if last + 1 == *chunk => Some(ends),
            _ => chunk.checked_sub(1).map(&other),
        };
        let at_start = before.is_some_and(|before| is_border(before.last, ends.first));
        // The border to a next chunk that is in `some` counts at the start of that chunk.
        let joined = some.get(i + 1).is_some_and(|(next, _)| *next == chunk + 1);
        let at_end = !joined && chunk + 1 < chunks && is_border(ends.last, other(chunk + 1).first);
        count += ends.inside + usize::from(at_start) + usize::from(at_end);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: usize = 12;
    const PAGES: usize = 4;

    /// A chunk of four pages: the places of the pages, or `None` for a copy.
    type Small = Option<[Code; PAGES]>;

    fn ends(chunk: &Small, flat: bool) -> Ends {
        let Some(codes) = chunk else {
            return Ends::copied(flat);
        };
        Ends {
            first: Some(codes[0]),
            last: Some(codes[PAGES - 1]),
            inside: codes.windows(2).filter(|w| w[0] != w[1]).count(),
        }
    }

    /// Counts all borders of a window page by page.
    fn all_borders(chunks: &[Small], flat: bool) -> usize {
        let mut pages: Vec<(Option<Code>, usize)> = Vec::new();
        for (i, chunk) in chunks.iter().enumerate() {
            match (chunk, flat) {
                (Some(codes), _) => pages.extend(codes.map(|code| (Some(code), 0))),
                (None, true) => pages.extend([(Some(ZERO), 0); PAGES]),
                (None, false) => pages.extend([(None, i); PAGES]),
            }
        }
        pages.windows(2).filter(|w| w[0] != w[1]).count()
    }

    #[test]
    fn changed_borders_add_up_to_all_borders() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for flat in [false, true] {
            let mut chunks: Vec<Small> = vec![Some([ZERO; PAGES]); CHUNKS];
            let mut count = 0;
            for _ in 0..2000 {
                let numbers: Vec<usize> = (0..CHUNKS).filter(|_| random(4) == 0).collect();
                let new: Vec<Small> = numbers
                    .iter()
                    .map(|_| (random(4) > 0).then(|| [(); PAGES].map(|()| random(3) as Code)))
                    .collect();
                let other = |chunk: usize| ends(&chunks[chunk], flat);
                let olds: Vec<_> = numbers.iter().map(|c| (*c, other(*c))).collect();
                let news = numbers
                    .iter()
                    .zip(&new)
                    .map(|(c, chunk)| (*c, ends(chunk, flat)));
                let news: Vec<_> = news.collect();
                count += borders(&news, CHUNKS, other);
                count -= borders(&olds, CHUNKS, other);
                for (number, chunk) in numbers.iter().zip(new) {
                    chunks[*number] = chunk;
                }
                assert_eq!(count, all_borders(&chunks, flat), "flat {flat}: {chunks:?}");
            }
        }
    }
}
