//! Live memory that is shared with planes, is written, is deferred, and becomes shared again.

use super::scene::{CHUNKS, Scene, text};
use crate::check::Check;
use crate::child::DEADLINE;
use crate::oracle::ensure;
use crate::page_faults;
use crate::procfs::{anonymous_in, plane_bytes};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CaptureMode};

pub(super) const PAGES: usize = CHUNKS * CHUNK_PAGES;
/// The number of publishes after which all cold memory is shared. A chunk is cold after two
/// versions, and every version makes at least two chunks shared.
const ENOUGH: usize = 3 * CHUNKS;

/// A scene, and the bytes that its field must hold: one value per page.
pub(super) struct Scenario {
    pub(super) scene: Scene,
    pub(super) pages: Vec<u8>,
}

impl Scenario {
    pub(super) fn new(settings: impl FnOnce(Builder) -> Builder) -> Result<Scenario, String> {
        let scene = Scene::with(CHUNKS, |b| settings(b.capture(CaptureMode::Auto)))?;
        let mut scenario = Scenario {
            scene,
            pages: vec![0; PAGES],
        };
        (0..PAGES).try_for_each(|page| scenario.write(page, page as u8 | 1))?;
        scenario.publish()?;
        Ok(scenario)
    }

    /// Returns a scenario in which all of the field is shared with planes.
    pub(super) fn shared() -> Result<Scenario, String> {
        let mut scenario = Scenario::new(|b| b)?;
        scenario.wait_for(PAGES)?;
        Ok(scenario)
    }

    pub(super) fn write(&mut self, page: usize, value: u8) -> Check {
        self.pages[page] = value;
        self.scene.bytes()?[page * page_size()..(page + 1) * page_size()].fill(value);
        Ok(())
    }

    /// Publishes, and checks the version, live memory and the store.
    pub(super) fn publish(&mut self) -> Check {
        let published = self.scene.publish()?;
        self.scene
            .shows_bytes(&published, |page| self.pages[page])?;
        self.check_live()?;
        let sound = self.scene.producer.check_store().map_err(text)?;
        ensure(sound, || {
            "live memory is shared with frames that no version has".to_owned()
        })
    }

    fn first_byte(&mut self, page: usize) -> Result<u8, String> {
        Ok(self.scene.bytes()?[page * page_size()])
    }

    fn drop_page(&mut self, page: usize) -> Check {
        let at = page * page_size();
        let bytes = &mut self.scene.bytes()?[at..at + page_size()];
        // SAFETY: the range is one page of bytes, which the slice borrows. The call changes the
        // bytes, and every value of a byte is valid.
        let dropped =
            unsafe { libc::madvise(bytes.as_mut_ptr().cast(), bytes.len(), libc::MADV_DONTNEED) };
        ensure(dropped == 0, || "MADV_DONTNEED failed".to_owned())
    }

    pub(super) fn check_live(&mut self) -> Check {
        let bytes = self.scene.bytes()?;
        let mut pages = bytes.chunks(page_size()).zip(&self.pages);
        let wrong = pages.position(|(bytes, value)| bytes.iter().any(|b| b != value));
        ensure(wrong.is_none(), || {
            format!("live memory of page {wrong:?} differs")
        })
    }

    pub(super) fn shared_pages(&self) -> usize {
        self.scene.producer.stats().shared_bytes as usize / page_size()
    }

    pub(super) fn publish_often(&mut self) -> Check {
        for i in 1..=ENOUGH {
            match i % 8 {
                0 => self.publish()?,
                _ => drop(self.scene.publish()?.wait_visible(DEADLINE)),
            }
        }
        Ok(())
    }

    /// Publishes until `pages` pages are shared. That may take longer than [`ENOUGH`] publishes,
    /// because the keeper gathers chunks of planes first.
    pub(super) fn wait_for(&mut self, pages: usize) -> Check {
        let until = Instant::now() + DEADLINE / 2;
        self.publish_often()?;
        while self.shared_pages() != pages && Instant::now() < until {
            self.publish_often()?;
        }
        let shared_pages = self.shared_pages();
        ensure(shared_pages == pages, || {
            format!("{shared_pages} pages are shared, expected {pages}")
        })
    }

    /// Returns the bytes of live memory that are not shared.
    fn own(&mut self) -> Result<usize, String> {
        let bytes = self.scene.bytes()?.as_ptr_range();
        Ok(anonymous_in(bytes.start as usize..bytes.end as usize) as usize)
    }
}

/// The most bytes that may exist twice. One page of each mapping is copied, so that core dumps hold
/// the mapping.
const MOST_OWN: usize = CHUNKS * 4096;

/// Checks that shared memory exists once, and that stores (by the kernel too) reach no version.
/// Meanwhile new buffers are made and bound.
pub fn shared_memory_is_copied_on_write() -> Check {
    let mut scenario = Scenario::shared()?;
    let own = scenario.own()?;
    ensure(own <= MOST_OWN, || {
        format!("{own} bytes of live memory are its own")
    })?;
    let held = scenario.scene.observer.latest().map_err(text)?;
    let view = held.view().map_err(text)?;
    let before = scenario.pages.clone();
    for round in 0..8 {
        scenario.write(round * 600, 200)?;
        let at = (round * 700 + 3) * page_size();
        let mut zeros = File::open("/dev/zero").map_err(text)?;
        let page = &mut scenario.scene.bytes()?[at..at + page_size()];
        zeros.read_exact(page).map_err(text)?;
        scenario.pages[round * 700 + 3] = 0;
        scenario.check_live()?;
        scenario.publish()?;
        let name = format!("b{round}");
        let field = scenario
            .scene
            .producer
            .field::<u8, _>(&name, [300 * page_size()]);
        let field = field.add().map_err(text)?;
        if round % 2 == 0 {
            let spare = scenario.scene.producer.buffer_like(field).map_err(text)?;
            scenario.scene.producer.bind(field, spare).map_err(text)?;
        }
        scenario.scene.producer.trim().map_err(text)?;
        scenario.check_live()?;
    }
    let bytes = view.bytes("a").map_err(text)?;
    let same = bytes
        .chunks(page_size())
        .zip(before)
        .all(|(b, v)| b.iter().all(|b| *b == v));
    ensure(same, || "a version that is held has changed".to_owned())?;
    let own = scenario.own()? / page_size();
    ensure((16..40).contains(&own), || {
        format!("{own} pages were copied")
    })
}

/// Checks that a lack of addresses, which sharing needs, changes nothing until there are some
/// again.
pub fn sharing_without_addresses_changes_nothing() -> Check {
    let mut scenario = Scenario::new(|b| b)?;
    let (soft, hard) = getrlimit(Resource::RLIMIT_AS).map_err(text)?;
    let used = crate::procfs::status(std::process::id() as i32, "VmSize").ok_or("no size")?;
    setrlimit(Resource::RLIMIT_AS, used + (1 << 20), hard).map_err(text)?;
    let own = scenario.own()?;
    for _ in 0..4 {
        let published = scenario.scene.publish()?;
        ensure(published.deferred == 0, || format!("{published:?}"))?;
        scenario.check_live()?;
    }
    let now = scenario.own()?;
    ensure(now == own, || {
        format!("{own} bytes that are not shared became {now}")
    })?;
    let errors = scenario.scene.producer.stats().tracker_errors;
    setrlimit(Resource::RLIMIT_AS, soft, hard).map_err(text)?;
    ensure(errors == 0, || format!("{errors} errors of the tracker"))?;
    scenario.write(9, 99)?;
    scenario.publish_often()
}

/// Checks that shared memory that is written densely becomes deferred, with the pages that are
/// still shared. When it is no longer written it becomes shared again.
pub fn densely_written_memory_is_unshared_and_shared_again() -> Check {
    let mut scenario = Scenario::new(|b| b.history(0))?;
    scenario.wait_for(PAGES)?;
    for value in 100..106 {
        let mut every_other = (0..PAGES).step_by(2);
        every_other.try_for_each(|page| scenario.write(page, value))?;
        scenario.publish()?;
        scenario.scene.producer.trim().map_err(text)?;
        scenario.check_live()?;
    }
    let deferred = scenario.scene.producer.stats().chunks_deferred as usize;
    ensure((deferred, scenario.shared_pages()) == (CHUNKS, 0), || {
        format!(
            "{deferred} chunks are deferred, {} pages are shared",
            scenario.shared_pages()
        )
    })?;
    scenario.wait_for(PAGES)?;
    let own = scenario.own()?;
    ensure(own <= MOST_OWN, || {
        format!("{own} bytes of live memory are its own")
    })
}

/// Checks copies that the program drops (`MADV_DONTNEED`) after they were published. The next
/// version must have the bytes of live memory. These must stay the same when the frames beneath
/// lose their memory.
pub fn dropped_copies_are_in_the_next_version() -> Check {
    let mut scenario = Scenario::new(|b| b.history(0))?;
    scenario.wait_for(PAGES)?;
    let dropped = [5, 6, 900, 3 * CHUNK_PAGES, 3 * CHUNK_PAGES + 1];
    // This version refers to the frames beneath. So new captures go to other frames, and the frames
    // beneath become free when this version is dropped.
    let before = scenario.scene.observer.latest().map_err(text)?;
    dropped
        .into_iter()
        .try_for_each(|page| scenario.write(page, 177))?;
    scenario.publish_often()?;
    for page in dropped {
        scenario.drop_page(page)?;
        if page % 2 == 0 {
            std::hint::black_box(scenario.first_byte(page)?);
        }
    }
    let mut shown = Err(String::new());
    for _ in 0..200 {
        // The time that the producer spends on scans is a share of the run time.
        std::thread::sleep(Duration::from_millis(20));
        let published = scenario.scene.publish()?;
        for page in dropped {
            scenario.pages[page] = scenario.first_byte(page)?;
        }
        shown = scenario
            .scene
            .shows_bytes(&published, |page| scenario.pages[page]);
        if shown.is_ok() {
            break;
        }
    }
    shown?;
    let still = dropped.iter().any(|page| scenario.pages[*page] == 177);
    ensure(!still, || "a page was not dropped".to_owned())?;
    drop(before);
    for round in 0..8 {
        scenario.scene.producer.trim().map_err(text)?;
        scenario.check_live()?;
        scenario.write(700 + round, 9)?;
        scenario.publish()?;
    }
    Ok(())
}

/// Checks that a store that the program drops before the next publish is no change. The page must
/// be shared as before, and stay so.
pub fn dropped_stores_leave_memory_shared() -> Check {
    let mut scenario = Scenario::new(|b| b.history(0))?;
    scenario.wait_for(PAGES)?;
    for round in 0..6 {
        scenario.scene.bytes()?[..page_size()].fill(255);
        scenario.drop_page(0)?;
        scenario.write(600 * round + 1, 17)?;
        scenario.publish()?;
        scenario.scene.producer.trim().map_err(text)?;
        scenario.check_live()?;
    }
    Ok(())
}

/// Checks that pages that are written in every version keep copies of their own. A store to such a
/// page faults once, when its chunk becomes shared, and then no more.
pub fn expected_pages_are_not_shared() -> Check {
    hot_pages_are_not_shared(16, 8)
}

/// Checks the same for so few pages of each chunk that they are not expected: each of them faults.
pub fn recurring_pages_are_not_shared() -> Check {
    hot_pages_are_not_shared(128, (PAGES / 128) as i64 + 8)
}

/// Writes every `distance`th page in each version, which causes fewer than `faults` page faults
/// once the pattern is known. All other pages must become shared.
fn hot_pages_are_not_shared(distance: usize, faults: i64) -> Check {
    let mut scenario = Scenario::new(|b| b)?;
    let hot = || (0..PAGES).step_by(distance);
    let mut last = 0;
    for step in 0..2 * ENOUGH {
        let before = page_faults();
        hot().try_for_each(|page| scenario.write(page, step as u8))?;
        last = page_faults() - before;
        drop(scenario.scene.publish()?.wait_visible(DEADLINE));
    }
    scenario.publish()?;
    let (shared_pages, expected) = (scenario.shared_pages(), PAGES - hot().count());
    ensure(shared_pages == expected, || {
        format!("{shared_pages} pages are shared, expected {expected}")
    })?;
    ensure(last < faults, || format!("{last} faults"))
}

/// Checks frames of pages that were never written, next to frames that are shared. They need no
/// memory, and memory that they have counts as held.
pub fn memory_of_unused_frames_is_counted_as_held() -> Check {
    let scene = Scene::with(CHUNKS, |b| b.capture(CaptureMode::Inline).keeper(false))?;
    let mut scenario = Scenario {
        scene,
        pages: vec![0; PAGES],
    };
    let mut written = (0..PAGES).filter(|page| page % CHUNK_PAGES < 440);
    written.try_for_each(|page| scenario.write(page, 1))?;
    scenario.wait_for(440 * CHUNKS)?;
    let held = scenario.scene.producer.stats().held_bytes;
    let there = plane_bytes(std::process::id() as i32);
    ensure(held == there, || {
        format!("{held} bytes are held, {there} are allocated")
    })?;
    scenario.scene.producer.trim().map_err(text)?;
    let held = scenario.scene.producer.stats().held_bytes as usize;
    ensure(held == 440 * CHUNKS * page_size(), || {
        format!("{held} bytes are held after trim")
    })?;
    (0..PAGES)
        .step_by(100)
        .try_for_each(|page| scenario.write(page, 3))?;
    scenario.publish()
}
