//! I12: a version has of an adopted array the bytes that it had, and none beside it; an array that
//! is gone is lost.

use super::common::{Bytes, text};
use crate::PublishVisible;
use crate::check::Check;
use crate::name;
use crate::oracle::ensure;
use std::ops::Range;
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Producer, TrackerKind};

const PAGES: usize = 1200;
const STEPS: usize = 250;

/// Memory of the program, of which the middle is an array.
struct Program {
    memory: Mapping,
    array: Range<usize>,
    /// What the array has, or `None` while it is not adopted.
    model: Option<Vec<u8>>,
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    fn range(&mut self, within: &Range<usize>, most: usize) -> Range<usize> {
        let start = within.start + self.below(within.len());
        start..(start + 1 + self.below(most)).min(within.end)
    }
}

impl Program {
    fn new() -> Result<Self, String> {
        let memory = Mapping::reserve(PAGES * page_size()).map_err(text)?;
        let program = Program {
            memory,
            array: 0..0,
            model: None,
        };
        program.replace(0..PAGES)?;
        Ok(program)
    }

    /// Maps new pages of zeros over old ones, or over a reservation.
    fn replace(&self, pages: Range<usize>) -> Check {
        let size = page_size();
        // SAFETY: nothing is borrowed from the memory.
        unsafe {
            self.memory
                .put_zero(pages.start * size, pages.len() * size, true)
        }
        .map_err(text)
    }

    fn fill(&mut self, bytes: Range<usize>, value: u8) {
        // SAFETY: the memory is mapped, and this check uses it through this pointer only.
        unsafe {
            self.memory
                .ptr()
                .add(bytes.start)
                .write_bytes(value, bytes.len())
        };
        let own = bytes.start.max(self.array.start)..bytes.end.min(self.array.end);
        if let Some(model) = self.model.as_mut().filter(|_| !own.is_empty()) {
            model[own.start - self.array.start..own.end - self.array.start].fill(value);
        }
    }

    /// Adopts an array of random size, in which all bytes are `value`, with other bytes around it.
    fn adopt(&mut self, producer: &mut Producer, random: &mut Random, value: u8) -> Check {
        let size = page_size();
        let start = random.below(2 * size);
        let most = [size / 2, 3 * size, PAGES * size - start - 9][random.below(3)];
        self.array = start..start + 1 + random.below(most);
        self.fill(0..PAGES * size, !value);
        self.fill(self.array.clone(), value);
        self.model = Some(vec![value; self.array.len()]);
        let at = self.memory.ptr().wrapping_add(start);
        // SAFETY: the memory is written between calls of the producer only, and is not viewed.
        unsafe { producer.adopt("u", at, [self.array.len()]) }.map_err(text)?;
        Ok(())
    }
}

/// Stores to own and adopted memory and beside it, drops and replaces pages, releases and adopts,
/// all in random order, and compares every version with what was written.
pub fn i12_versions_have_adopted_arrays_and_nothing_beside_them() -> Check {
    let name = name("i12");
    let (bytes, mut random) = (PAGES * page_size(), Random(0x9E37_79B9_7F4A_7C15));
    let builder = Producer::builder(&name).capacity(5 * bytes).history(2);
    let builder = builder.tracker(TrackerKind::UffdAsync);
    let mut producer = builder.create().map_err(text)?;
    let own = producer
        .field::<u8, _>("own", [bytes])
        .add()
        .map_err(text)?;
    let mut wanted = vec![0; bytes];
    let mut observer = Observer::attach(&name).map_err(text)?;
    let mut program = Program::new()?;
    for step in 0..STEPS {
        let value = 1 + (step % 120) as u8;
        if program.model.is_none() {
            program.adopt(&mut producer, &mut random, value)?;
        }
        for _ in 0..random.below(12) {
            let stored = random.range(&(0..bytes), 5 * page_size());
            match random.below(3) {
                0 => store(&mut producer, own, &mut wanted, (stored, value))?,
                1 => program.fill(stored, value),
                // The edges, where arrays and their neighbours meet.
                _ => {
                    let (start, end) = (program.array.start, program.array.end);
                    let near = [
                        start.saturating_sub(40)..start + 40,
                        end.max(40) - 40..end + 8,
                    ];
                    let near = near[random.below(2)].clone();
                    program.fill(random.range(&near, 30), value);
                }
            }
        }
        let gone = match random.below(12) {
            0 => replaced(&mut program, &mut random)?,
            1 => {
                producer.release("u").map_err(text)?;
                program.model = None;
                false
            }
            _ => false,
        };
        producer.publish_visible(step as u64, 0.0).map_err(text)?;
        let version = observer.latest().map_err(text)?;
        compare(&version, &program, &wanted, gone)?;
        if gone {
            program.model = None;
        }
    }
    Ok(())
}

fn store(
    producer: &mut Producer,
    own: Bytes,
    wanted: &mut [u8],
    (range, value): (Range<usize>, u8),
) -> Check {
    wanted[range.clone()].fill(value);
    let mut view = producer.view_mut(own).map_err(text)?;
    let bytes = view.as_slice_mut().ok_or("a field in one piece")?;
    bytes[range].fill(value);
    Ok(())
}

/// Replaces a whole page of the array by new memory that looks different, if it has one.
fn replaced(program: &mut Program, random: &mut Random) -> Result<bool, String> {
    let size = page_size();
    let whole = program.array.start.div_ceil(size)..program.array.end / size;
    if whole.is_empty() {
        return Ok(false);
    }
    let page = random.range(&whole, 1);
    program.replace(page.clone())?;
    program.fill(page.start * size..page.end * size, 0xFF);
    Ok(true)
}

fn compare(version: &Version, program: &Program, own: &[u8], gone: bool) -> Check {
    let view = version.view().map_err(text)?;
    let number = version.number();
    ensure(view.bytes("own").map_err(text)? == own, || {
        format!("the region's own field of version {number} is not what was written")
    })?;
    let Some(model) = &program.model else {
        let none = version.field("u").is_none();
        return ensure(none, || "a released field is still there".to_owned());
    };
    if gone {
        let lost = view.bytes("u").is_err();
        return ensure(lost, || {
            format!("the array was replaced, and version {number} does not say that it is lost")
        });
    }
    ensure(view.bytes("u").map_err(text)? == model, || {
        format!("the adopted array of version {number} is not what was written")
    })?;
    let range = version.field("u").ok_or("no field")?.range();
    let page = page_size();
    let first = range.start as usize / page * page..range.start as usize;
    let last = range.end as usize..(range.end as usize).next_multiple_of(page);
    for beside in [first, last] {
        // SAFETY: the view shows the whole region, which has these pages. The version is pinned.
        let bytes = unsafe {
            let at = (view.address() + beside.start) as *const u8;
            std::slice::from_raw_parts(at, beside.len())
        };
        ensure(bytes.iter().all(|byte| *byte == 0), || {
            format!("version {number} has bytes beside the adopted array")
        })?;
    }
    Ok(())
}
