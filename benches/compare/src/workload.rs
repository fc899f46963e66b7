//! The pages that a step writes, and the bytes that it writes there.
//!
//! These are pure functions, so every process can compute the expected content of a version.

use serde::{Deserialize, Serialize};

/// Size of a page, in bytes.
pub const PAGE: usize = 4096;
/// Number of steps at the start that write every page. After them, the buffers of a method have
/// their memory. These steps are not measured.
pub const DENSE_STEPS: u64 = 4;

const WORDS: usize = PAGE / size_of::<u64>();

/// Number of pages in 2 MiB. The library decides for each such chunk how it is captured.
const CHUNK: usize = 512;
/// Number of steps for which a chunk is written in the same way, in [`Pattern::Alternating`].
const TURN: u64 = 8;
/// Share of the pages of a chunk that is written sparsely, in per cent.
const SPARSE: u32 = 5;
/// Number of parts of the buffer in [`Pattern::Roaming`] and [`Pattern::GoneCold`].
const PARTS: usize = 8;
/// Number of steps in each part, in [`Pattern::Roaming`].
const STAY: u64 = 24;
/// Number of steps until most of the buffer is cold, in [`Pattern::GoneCold`].
const WARM: u64 = 32;

/// The arrangement in the buffer of the pages that a step writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Pattern {
    /// Random pages, drawn anew for each step.
    Random,
    /// One block, at a different place in each step.
    Contiguous,
    /// Pages at equal distances, like the face of an array. They are the same in each step.
    Strided,
    /// Random pages, drawn once. They are the same in each step.
    Same,
    /// One block that moves by a sixteenth of its length in each step.
    Drifting,
    /// The first chunks of 2 MiB. For eight steps, every second one is written whole, and of the
    /// others a few random pages. Then they change roles.
    Alternating,
    /// Random pages of an eighth of the buffer, drawn anew for each step. The next eighth follows
    /// after 24 steps.
    Roaming,
    /// Random pages of the whole buffer in the first 32 steps. Afterwards only those of its first
    /// eighth.
    GoneCold,
}

impl Pattern {
    /// The patterns that all methods are compared with. The others exercise single mechanisms of
    /// TCASM.
    pub const COMPARED: [Pattern; 5] = [
        Pattern::Random,
        Pattern::Contiguous,
        Pattern::Strided,
        Pattern::Same,
        Pattern::Drifting,
    ];
}

/// A description of what a simulation writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Arrangement of the written pages.
    pub pattern: Pattern,
    /// Share of all pages that a step writes, in per cent.
    pub coverage: u32,
    /// Number of pages in the buffer.
    pub pages: usize,
}

impl Workload {
    /// Returns true if `step` writes `page`.
    pub fn touches(&self, page: usize, step: u64) -> bool {
        if step < DENSE_STEPS || self.coverage >= 100 {
            return true;
        }
        let (share, pages) = (self.coverage as usize, self.pages);
        let block = (pages * share / 100).max(1);
        let in_block = |start: u64| {
            let start = (start % pages as u64) as usize;
            (page + pages - start) % pages < block
        };
        match self.pattern {
            Pattern::Random => drawn(page, step, self.coverage),
            Pattern::Same => drawn(page, 0, self.coverage),
            Pattern::Strided => (page + 1) * share / 100 > page * share / 100,
            Pattern::Contiguous => in_block(mix(step)),
            Pattern::Drifting => in_block(step * (block as u64).div_ceil(16)),
            Pattern::Alternating => {
                let whole = (step / TURN + (page / CHUNK) as u64).is_multiple_of(2);
                page < block && (whole || drawn(page, step, SPARSE))
            }
            Pattern::Roaming => {
                let here = (step / STAY) as usize % PARTS;
                let share = self.coverage * PARTS as u32;
                page / pages.div_ceil(PARTS) == here && drawn(page, step, share)
            }
            Pattern::GoneCold => {
                let warm = step < WARM || page < pages.div_ceil(PARTS);
                warm && drawn(page, step, self.coverage * PARTS as u32)
            }
        }
    }

    /// Returns the pages that `step` writes, in the order in which it writes them.
    pub fn pages_of(&self, step: u64) -> Vec<usize> {
        (0..self.pages).filter(|p| self.touches(*p, step)).collect()
    }
}

/// Returns true if `page` is among the `percent` of all pages that draw number `draw` selects.
fn drawn(page: usize, draw: u64, percent: u32) -> bool {
    mix(draw << 40 | page as u64) % 100 < u64::from(percent)
}

/// Applies the finaliser of splitmix64. Every bit of the result depends on every bit of `x`.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the first word of `page` after `step` wrote it. The other words count up from it.
fn first_word(page: usize, step: u64) -> u64 {
    mix(step << 32 | page as u64)
}

/// Writes the whole of `page` with the content of `step`.
pub fn write_page(memory: &mut [u8], page: usize, step: u64) {
    let first = first_word(page, step);
    let bytes = &mut memory[page * PAGE..(page + 1) * PAGE];
    for (i, word) in bytes.chunks_exact_mut(size_of::<u64>()).enumerate() {
        word.copy_from_slice(&first.wrapping_add(i as u64).to_le_bytes());
    }
}

/// The expected content of a version: for each page, the last step that wrote it.
pub struct Model {
    workload: Workload,
    last: Vec<u64>,
    step: u64,
}

impl Model {
    /// Creates the state after step 0.
    pub fn new(workload: Workload) -> Self {
        Model {
            workload,
            last: vec![0; workload.pages],
            step: 0,
        }
    }

    /// Advances to the state after `step`. Does nothing if the model is at `step` already. The
    /// model cannot go back.
    pub fn advance(&mut self, step: u64) {
        while self.step < step {
            self.step += 1;
            for (page, last) in self.last.iter_mut().enumerate() {
                if self.workload.touches(page, self.step) {
                    *last = self.step;
                }
            }
        }
    }

    /// Compares every byte. Returns the number of pages that differ from the model.
    pub fn wrong_pages(&self, memory: &[u8]) -> u64 {
        self.count_wrong(memory, |page, bytes, first| {
            let words = bytes.chunks_exact(size_of::<u64>());
            debug_assert_eq!(words.len(), WORDS, "page {page}");
            words.enumerate().fold(0, |difference, (i, word)| {
                difference | (number(word) ^ first.wrapping_add(i as u64))
            }) != 0
        })
    }

    /// Compares one word of each page. The position of the word changes with the step. Returns the
    /// number of pages whose word differs from the model.
    pub fn wrong_words(&self, memory: &[u8]) -> u64 {
        self.count_wrong(memory, |page, bytes, first| {
            let i = (page as u64 ^ self.step) as usize % WORDS;
            number(&bytes[i * size_of::<u64>()..][..size_of::<u64>()])
                != first.wrapping_add(i as u64)
        })
    }

    fn count_wrong(&self, memory: &[u8], wrong: impl Fn(usize, &[u8], u64) -> bool) -> u64 {
        let missing = self.last.len().saturating_sub(memory.len() / PAGE);
        let pages = memory.chunks_exact(PAGE).zip(&self.last).enumerate();
        let wrong =
            pages.filter(|(page, (bytes, last))| wrong(*page, bytes, first_word(*page, **last)));
        (wrong.count() + missing) as u64
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(pattern: Pattern, coverage: u32) -> Workload {
        Workload {
            pattern,
            coverage,
            pages: 2000,
        }
    }

    #[test]
    fn each_pattern_writes_about_its_share_of_the_pages() {
        for pattern in Pattern::COMPARED {
            for coverage in [1, 5, 10, 25, 50, 75, 100] {
                let w = workload(pattern, coverage);
                let written = w.pages_of(DENSE_STEPS + 3).len() as i64;
                let wanted = 20 * i64::from(coverage);
                assert!((written - wanted).abs() <= 80, "{w:?} writes {written}");
            }
        }
    }

    #[test]
    fn same_and_strided_pages_stay_and_the_pages_of_other_patterns_change() {
        let of = |pattern, step| workload(pattern, 10).pages_of(DENSE_STEPS + step);
        assert_eq!(of(Pattern::Same, 0), of(Pattern::Same, 1));
        assert_eq!(of(Pattern::Strided, 0), of(Pattern::Strided, 1));
        for pattern in [Pattern::Random, Pattern::Contiguous, Pattern::Drifting] {
            assert_ne!(of(pattern, 0), of(pattern, 1), "{pattern:?}");
        }
    }

    #[test]
    fn chunks_alternate_between_whole_and_few_pages() {
        let w = Workload {
            pattern: Pattern::Alternating,
            coverage: 25,
            pages: 8 * CHUNK,
        };
        let written = |chunk: usize, step| {
            let pages = chunk * CHUNK..(chunk + 1) * CHUNK;
            pages.filter(|page| w.touches(*page, step)).count()
        };
        for step in (TURN..5 * TURN).step_by(3) {
            let whole = (step / TURN % 2) as usize;
            assert_eq!(written(whole, step), CHUNK, "step {step}");
            assert!((1..CHUNK / 5).contains(&written(1 - whole, step)));
            assert_eq!(written(2, step), 0, "the chunk is behind the share");
        }
    }

    #[test]
    fn written_part_roams_over_the_buffer() {
        let w = workload(Pattern::Roaming, 5);
        let part = w.pages.div_ceil(PARTS);
        for step in STAY..2 * PARTS as u64 * STAY {
            let pages = w.pages_of(step);
            let here = (step / STAY) as usize % PARTS;
            assert!(pages.iter().all(|page| page / part == here), "step {step}");
            assert!((60..=140).contains(&pages.len()), "{} pages", pages.len());
        }
    }

    #[test]
    fn most_of_the_buffer_goes_cold() {
        let w = workload(Pattern::GoneCold, 2);
        let part = w.pages.div_ceil(PARTS);
        let written = |step| w.pages_of(step).into_iter();
        assert!(written(WARM - 1).any(|page| page >= part));
        assert!(written(WARM).all(|page| page < part));
        assert!((20..=60).contains(&written(WARM).count()));
    }

    #[test]
    fn model_matches_written_pages_and_detects_one_wrong_bit() {
        let w = workload(Pattern::Random, 10);
        let mut memory = vec![0; w.pages * PAGE];
        let mut model = Model::new(w);
        for step in 0..DENSE_STEPS + 5 {
            for page in w.pages_of(step) {
                write_page(&mut memory, page, step);
            }
            model.advance(step);
            assert_eq!(
                (model.wrong_pages(&memory), model.wrong_words(&memory)),
                (0, 0)
            );
        }
        memory[7 * PAGE + 100] ^= 1;
        assert_eq!(model.wrong_pages(&memory), 1);
        let old = model.wrong_words(&memory);
        model.advance(DENSE_STEPS + 6);
        assert!(
            model.wrong_words(&memory) > old,
            "memory is of an older step"
        );
        assert!(
            model.wrong_pages(&memory[..PAGE]) >= 1999,
            "the rest is missing"
        );
    }
}
