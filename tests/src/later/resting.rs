//! Live memory that rests on planes: it comes to rest, is written, goes behind the gate, and comes to rest again.

use super::learning::faults;
use super::{CHUNKS, Check, Scene, text};
use crate::child::DEADLINE;
use crate::oracle::ensure;
use crate::procfs::{anonymous_in, plane_bytes};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::io::Read;
use std::time::Duration;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CaptureMode};

const PAGES: usize = CHUNKS * CHUNK_PAGES;
/// Publishes after which all that is calm rests: it takes two versions to be calm, and two chunks at least rest in each.
const ENOUGH: usize = 3 * CHUNKS;

/// A scene, and what its field holds: a value per page.
struct Calm {
    scene: Scene,
    pages: Vec<u8>,
}

impl Calm {
    fn new(settings: impl FnOnce(Builder) -> Builder) -> Result<Calm, String> {
        let scene = Scene::with(CHUNKS, |b| settings(b.capture(CaptureMode::Auto)))?;
        let mut calm = Calm {
            scene,
            pages: vec![0; PAGES],
        };
        (0..PAGES).try_for_each(|page| calm.write(page, page as u8 | 1))?;
        calm.publish()?;
        Ok(calm)
    }

    /// One that rests, all of it.
    fn at_rest() -> Result<Calm, String> {
        let mut calm = Calm::new(|b| b)?;
        calm.wait_for(PAGES)?;
        Ok(calm)
    }

    fn write(&mut self, page: usize, value: u8) -> Check {
        self.pages[page] = value;
        self.scene.bytes()?[page * page_size()..(page + 1) * page_size()].fill(value);
        Ok(())
    }

    /// Publish; the version and live memory must be what was written, and all be in order.
    fn publish(&mut self) -> Check {
        let published = self.scene.publish()?;
        self.scene
            .shows_bytes(&published, |page| self.pages[page])?;
        self.check_live()?;
        let sound = self.scene.producer.check_store().map_err(text)?;
        ensure(sound, || {
            "live memory rests on slots that no version has".to_owned()
        })
    }

    fn first_byte(&mut self, page: usize) -> Result<u8, String> {
        Ok(self.scene.bytes()?[page * page_size()])
    }

    fn drop_page(&mut self, page: usize) -> Check {
        let at = page * page_size();
        let bytes = &mut self.scene.bytes()?[at..at + page_size()];
        // SAFETY: a page of bytes, which are others afterwards, and any are valid.
        let dropped =
            unsafe { libc::madvise(bytes.as_mut_ptr().cast(), bytes.len(), libc::MADV_DONTNEED) };
        ensure(dropped == 0, || "MADV_DONTNEED failed".to_owned())
    }

    fn check_live(&mut self) -> Check {
        let bytes = self.scene.bytes()?;
        let mut pages = bytes.chunks(page_size()).zip(&self.pages);
        let wrong = pages.position(|(bytes, value)| bytes.iter().any(|b| b != value));
        ensure(wrong.is_none(), || {
            format!("live memory of page {wrong:?} differs")
        })
    }

    fn resting(&self) -> usize {
        self.scene.producer.stats().resting_bytes as usize / page_size()
    }

    fn publish_often(&mut self) -> Check {
        for i in 1..=ENOUGH {
            match i % 8 {
                0 => self.publish()?,
                _ => drop(self.scene.publish()?.wait_visible(DEADLINE)),
            }
        }
        Ok(())
    }

    fn wait_for(&mut self, pages: usize) -> Check {
        self.publish_often()?;
        let resting = self.resting();
        ensure(resting == pages, || {
            format!("{resting} pages rest, of {pages}")
        })
    }

    /// Bytes of live memory that are its own.
    fn own(&mut self) -> Result<usize, String> {
        let bytes = self.scene.bytes()?.as_ptr_range();
        Ok(anonymous_in(bytes.start as usize..bytes.end as usize) as usize)
    }
}

/// Bytes that may exist twice: a page of each mapping is copied, so that core dumps hold it.
const MOST_OWN: usize = CHUNKS * 4096;

/// What rests exists once; stores, also the kernel's, reach no version; buffers come and are bound around it.
pub fn memory_comes_to_rest_and_is_written() -> Check {
    let mut calm = Calm::at_rest()?;
    let own = calm.own()?;
    ensure(own <= MOST_OWN, || {
        format!("{own} bytes of live memory are its own")
    })?;
    let held = calm.scene.observer.latest().map_err(text)?;
    let view = held.view().map_err(text)?;
    let before = calm.pages.clone();
    for round in 0..8 {
        calm.write(round * 600, 200)?;
        let at = (round * 700 + 3) * page_size();
        let mut zeros = File::open("/dev/zero").map_err(text)?;
        let page = &mut calm.scene.bytes()?[at..at + page_size()];
        zeros.read_exact(page).map_err(text)?;
        calm.pages[round * 700 + 3] = 0;
        calm.check_live()?;
        calm.publish()?;
        let name = format!("b{round}");
        let field = calm
            .scene
            .producer
            .field::<u8, _>(&name, [300 * page_size()]);
        let field = field.add().map_err(text)?;
        if round % 2 == 0 {
            let spare = calm.scene.producer.buffer_like(field).map_err(text)?;
            calm.scene.producer.bind(field, spare).map_err(text)?;
        }
        calm.scene.producer.trim().map_err(text)?;
        calm.check_live()?;
    }
    let bytes = view.bytes("a").map_err(text)?;
    let same = bytes
        .chunks(page_size())
        .zip(before)
        .all(|(b, v)| b.iter().all(|b| *b == v));
    ensure(same, || "a version that is held has changed".to_owned())?;
    let own = calm.own()? / page_size();
    ensure((16..40).contains(&own), || {
        format!("{own} pages were copied")
    })
}

/// What devices write does not rest, from the moment that it is said, and is in every version.
pub fn devices_take_their_memory_back() -> Check {
    let mut calm = Calm::at_rest()?;
    let field = calm.scene.field;
    calm.scene.producer.mark_dirty_bytes(field, 0..page_size());
    calm.publish()?;
    ensure(calm.resting() == PAGES - CHUNK_PAGES, || {
        format!("{} pages rest after one was marked", calm.resting())
    })?;
    calm.scene.producer.register_dma(field);
    for _ in 0..4 {
        calm.publish()?;
        calm.scene.producer.trim().map_err(text)?;
        calm.check_live()?;
        let changed = calm.scene.observer.latest().map_err(text)?.changed_pages();
        ensure(changed == PAGES as u64, || {
            format!("{changed} pages are captured")
        })?;
    }
    calm.wait_for(0)
}

/// While a device is open, nothing comes to rest; what does stays.
pub fn open_devices_keep_memory_in_place() -> Check {
    let devices = [
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/loop-control",
        "/dev/kvm",
        "/dev/cpu_dma_latency",
    ];
    let open = || devices.iter().find_map(|path| File::open(path).ok());
    let device = open().ok_or("no device can be opened")?;
    let mut calm = Calm::new(|b| b)?;
    calm.wait_for(0)?;
    drop(device);
    calm.wait_for(PAGES)?;
    let _device = open();
    calm.write(5, 77)?;
    calm.wait_for(PAGES - 1)
}

/// Without addresses to prepare what rests, everything stays as it is, until there are some.
pub fn memory_that_cannot_come_to_rest_stays() -> Check {
    let mut calm = Calm::new(|b| b)?;
    let (soft, hard) = getrlimit(Resource::RLIMIT_AS).map_err(text)?;
    let used = crate::procfs::status(std::process::id() as i32, "VmSize").ok_or("no size")?;
    setrlimit(Resource::RLIMIT_AS, used + (1 << 20), hard).map_err(text)?;
    let own = calm.own()?;
    for _ in 0..4 {
        let published = calm.scene.publish()?;
        ensure(published.later == 0, || format!("{published:?}"))?;
        calm.check_live()?;
    }
    let now = calm.own()?;
    ensure(now == own, || {
        format!("{own} bytes of its own became {now}")
    })?;
    let errors = calm.scene.producer.stats().tracker_errors;
    setrlimit(Resource::RLIMIT_AS, soft, hard).map_err(text)?;
    ensure(errors == 0, || format!("{errors} errors of the tracker"))?;
    calm.write(9, 99)?;
    calm.publish_often()
}

/// What rests is written densely, is captured later then, also what still rested of it, falls silent, and rests again.
pub fn memory_wakes_and_comes_to_rest_again() -> Check {
    let mut calm = Calm::new(|b| b.history(0))?;
    calm.wait_for(PAGES)?;
    for value in 100..106 {
        let mut every_other = (0..PAGES).step_by(2);
        every_other.try_for_each(|page| calm.write(page, value))?;
        calm.publish()?;
        calm.scene.producer.trim().map_err(text)?;
        calm.check_live()?;
    }
    let later = calm.scene.producer.stats().chunks_later as usize;
    ensure((later, calm.resting()) == (CHUNKS, 0), || {
        format!(
            "{later} chunks are captured later, {} pages rest",
            calm.resting()
        )
    })?;
    calm.wait_for(PAGES)?;
    let own = calm.own()?;
    ensure(own <= MOST_OWN, || {
        format!("{own} bytes of live memory are its own")
    })
}

/// Copies that the program drops after they were published: the next version has what live memory
/// has, which stays so though the slots beneath lose their memory.
pub fn copies_that_are_dropped_are_in_the_next_version() -> Check {
    let mut calm = Calm::new(|b| b.history(0))?;
    calm.wait_for(PAGES)?;
    let dropped = [5, 6, 900, 3 * CHUNK_PAGES, 3 * CHUNK_PAGES + 1];
    // It has the slots beneath: what is captured goes elsewhere, and leaves them free when it is
    // let go of.
    let before = calm.scene.observer.latest().map_err(text)?;
    dropped
        .into_iter()
        .try_for_each(|page| calm.write(page, 177))?;
    calm.publish_often()?;
    for page in dropped {
        calm.drop_page(page)?;
        if page % 2 == 0 {
            std::hint::black_box(calm.first_byte(page)?);
        }
    }
    let mut shown = Err(String::new());
    for _ in 0..200 {
        // Time for looks is a share of the run.
        std::thread::sleep(Duration::from_millis(20));
        let published = calm.scene.publish()?;
        for page in dropped {
            calm.pages[page] = calm.first_byte(page)?;
        }
        shown = calm.scene.shows_bytes(&published, |page| calm.pages[page]);
        if shown.is_ok() {
            break;
        }
    }
    shown?;
    let still = dropped.iter().any(|page| calm.pages[*page] == 177);
    ensure(!still, || "a page was not dropped".to_owned())?;
    drop(before);
    for round in 0..8 {
        calm.scene.producer.trim().map_err(text)?;
        calm.check_live()?;
        calm.write(700 + round, 9)?;
        calm.publish()?;
    }
    Ok(())
}

/// A store that the program drops before anybody has seen it is no change: the page rests as before, and goes on doing so.
pub fn stores_that_are_dropped_leave_memory_at_rest() -> Check {
    let mut calm = Calm::new(|b| b.history(0))?;
    calm.wait_for(PAGES)?;
    for round in 0..6 {
        calm.scene.bytes()?[..page_size()].fill(255);
        calm.drop_page(0)?;
        calm.write(600 * round + 1, 17)?;
        calm.publish()?;
        calm.scene.producer.trim().map_err(text)?;
        calm.check_live()?;
    }
    Ok(())
}

/// Pages that are written in every version have copies of their own from the beginning: a store to them faults once, when
/// their chunk comes to rest, and then no more.
pub fn expected_pages_do_not_rest() -> Check {
    let mut calm = Calm::new(|b| b)?;
    let hot = || (0..PAGES).step_by(16);
    let mut last = 0;
    for step in 0..2 * ENOUGH {
        let before = faults();
        hot().try_for_each(|page| calm.write(page, step as u8))?;
        last = faults() - before;
        drop(calm.scene.publish()?.wait_visible(DEADLINE));
    }
    calm.publish()?;
    let (resting, expected) = (calm.resting(), PAGES - hot().count());
    ensure(resting == expected, || {
        format!("{resting} pages rest, of {expected}")
    })?;
    ensure(last < 8, || format!("{last} faults"))
}

/// Pages that nobody has written yet have no memory in the plane where their neighbours rest. If they get some, it is held.
pub fn memory_that_planes_get_is_counted() -> Check {
    let scene = Scene::with(CHUNKS, |b| b.capture(CaptureMode::Now).keeper(false))?;
    let mut calm = Calm {
        scene,
        pages: vec![0; PAGES],
    };
    let mut written = (0..PAGES).filter(|page| page % CHUNK_PAGES < 440);
    written.try_for_each(|page| calm.write(page, 1))?;
    calm.wait_for(440 * CHUNKS)?;
    let held = calm.scene.producer.stats().held_bytes;
    let there = plane_bytes(std::process::id() as i32);
    ensure(held == there, || {
        format!("{held} bytes are held, {there} are there")
    })?;
    calm.scene.producer.trim().map_err(text)?;
    let held = calm.scene.producer.stats().held_bytes as usize;
    ensure(held == 440 * CHUNKS * page_size(), || {
        format!("{held} bytes are held after trim")
    })?;
    (0..PAGES)
        .step_by(100)
        .try_for_each(|page| calm.write(page, 3))?;
    calm.publish()
}
