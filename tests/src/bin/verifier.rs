//! An observer of the torture test, which checks every page of every version that it sees.
//!
//! `verifier NAME SEED` prints `checked version=N` for each version and ends with the stream. If it
//! finds an error, it prints it as its last line and fails.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{ObserveError, Observer, Version, View};
use tcasm_tests::pattern::{Pattern, check_all, mix};

type Failure = Box<dyn std::error::Error>;

const FIELDS: [&str; 2] = ["large", "swapped"];
/// The number of versions held at once, besides the one that is checked.
const HELD: usize = 2;

fn main() {
    tcasm_tests::child::die_with_parent();
    // The simulation goes first where there are few processors, so that there are more versions to
    // check.
    // SAFETY: the call takes and returns integers.
    unsafe { libc::nice(3) };
    if let Err(error) = run() {
        println!("failed: {error}");
        std::process::exit(1);
    }
}

/// A source of random choices.
struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.thrown += 1;
        mix(self.seed, self.thrown, 0) % sides
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, seed] = arguments.as_slice() else {
        return Err("verifier NAME SEED".into());
    };
    let mut observer = Observer::attach_wait(name, Duration::from_secs(60))?;
    let mut dice = Dice {
        seed: seed.parse()?,
        thrown: 0,
    };
    let mut held: VecDeque<View> = VecDeque::new();
    loop {
        let version = match next(&mut observer, &mut dice) {
            Ok(Some(version)) => version,
            Ok(None) | Err(ObserveError::NotReady) => continue,
            Err(ObserveError::EndOfStream) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if let Some(older) = held.back() {
            check_changes(older, &version)?;
        }
        if let Some(view) = check_somehow(&version, &mut dice)? {
            held.push_back(view);
        }
        println!("checked version={}", version.number());
        while held.len() > dice.throw(HELD as u64 + 1) as usize {
            // The view must still be as it was, however long it was held.
            held.pop_front().map_or(Ok(()), |view| check_view(&view))?;
        }
        std::thread::sleep(Duration::from_millis(dice.throw(60)));
    }
}

/// Returns mostly the newest version, sometimes the next or any that exists.
fn next(observer: &mut Observer, dice: &mut Dice) -> Result<Option<Version>, ObserveError> {
    let timeout = Duration::from_secs(1);
    match dice.throw(8) {
        0 => observer.next(timeout).map(Some),
        1 => {
            let there = observer.available()?;
            let chosen = there.get(dice.throw(there.len().max(1) as u64) as usize);
            match chosen.map(|number| observer.version(*number)) {
                Some(Err(ObserveError::Gone { .. })) | None => Ok(None),
                Some(result) => result.map(Some),
            }
        }
        _ => observer.wait_newer(timeout).map(Some),
    }
}

/// Checks a version by a view at any address, by one at the producer's address, or without a view.
fn check_somehow(version: &Version, dice: &mut Dice) -> Result<Option<View>, Failure> {
    let view = match dice.throw(5) {
        0 => {
            check_bytes(version)?;
            return Ok(None);
        }
        // A view at the producer's address may be held already.
        1 | 2 => version.view_at_base().or_else(|_| version.view())?,
        _ => version.view()?,
    };
    check_view(&view)?;
    Ok(Some(view))
}

fn pattern(version: &Version, field: &str) -> Result<Pattern, Failure> {
    Ok(Pattern::of(version.table(), field).ok_or("the version has no pattern")?)
}

fn pages(version: &Version, field: &str) -> Result<usize, Failure> {
    let field = version
        .field(field)
        .ok_or("the version has no such field")?;
    Ok(field.bytes() as usize / page_size())
}

fn last_writers(version: &Version, field: &str) -> Result<Vec<u64>, Failure> {
    let pages = pages(version, field)?;
    Ok(pattern(version, field)?.last_writers(version.number(), pages))
}

fn check_view(view: &View) -> Result<(), Failure> {
    if view.step() != view.number() || view.time() != view.number() as f64 {
        return Err(format!("the stamp is not the version's: {:?}", view.stamp()).into());
    }
    for field in FIELDS {
        let words = view.array::<u64>(field)?;
        let words = words.as_slice().ok_or("a vector is contiguous")?;
        let last = last_writers(view, field)?;
        check_all(words, 0, &last).map_err(|torn| compare(view, explain(view, field, torn)))?;
    }
    Ok(())
}

/// Adds to a failure of a view whether reading without a view gives the right bytes. This tells a
/// wrong mapping from a wrong version.
fn compare(view: &View, failure: Failure) -> Failure {
    let bytes = check_bytes(view.version()).map_or_else(|e| e.to_string(), |()| "right".into());
    let address = view.address();
    format!("{failure} (mapped at {address:#x}; read without mapping: {bytes})").into()
}

fn check_bytes(version: &Version) -> Result<(), Failure> {
    const PIECE: usize = 256;
    let mut words = vec![0u64; PIECE * page_size() / 8];
    for field in FIELDS {
        let (last, pages) = (last_writers(version, field)?, pages(version, field)?);
        for first in (0..pages).step_by(PIECE) {
            let piece = &mut words[..PIECE.min(pages - first) * page_size() / 8];
            let bytes = bytemuck::cast_slice_mut(piece);
            version.read_bytes(field, (first * page_size()) as u64, bytes)?;
            check_all(piece, first, &last).map_err(|torn| explain(version, field, torn))?;
        }
    }
    Ok(())
}

fn explain(version: &Version, field: &str, torn: impl std::fmt::Display) -> Failure {
    let text = format!("version {} of field {field}: {torn}", version.number());
    std::io::Error::new(ErrorKind::InvalidData, text).into()
}

/// Checks that every page that differs is among the reported changes.
fn check_changes(older: &Version, newer: &Version) -> Result<(), Failure> {
    let since = newer.changes_since(older)?.pages;
    let own = newer.changes()?.pages;
    for field in FIELDS {
        let first = newer
            .field(field)
            .map_or(0, |f| f.offset as usize / page_size());
        let moved = older.field(field).map(|f| f.offset) != newer.field(field).map(|f| f.offset);
        let (before, after) = (last_writers(older, field)?, last_writers(newer, field)?);
        let rewrites = pattern(newer, field)?.rewrites(newer.number());
        for page in 0..after.len() {
            let unreported = !moved && before[page] != after[page] && !since.contains(first + page);
            let unlisted = rewrites(page) && !own.contains(first + page);
            if unreported || unlisted {
                let (a, b) = (older.number(), newer.number());
                let page = format!("page {page} of {field}");
                return Err(format!("{page} changed from {a} to {b}, but is not reported").into());
            }
        }
    }
    Ok(())
}
