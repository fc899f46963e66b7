//! Commands of a producer.

use crate::answer::{Answer, failed};
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_core::testing::sabotage::{Guard, switch_off};
use tcasm_producer::{Access, Builder, Field, HugePages, Producer, Receipt};
use tcasm_tests::capture_mode;
use tcasm_tests::child::DEADLINE;
use tcasm_tests::pattern::{self, Pattern, words_per_page};

type Stamps = Field<u64, ndarray::Ix1>;

/// A producer and its one field, which holds stamped pages.
pub struct Region {
    producer: Producer,
    field: Stamps,
    pattern: Pattern,
    pages: usize,
    /// True if the next version is written as soon as `publish` returns.
    hasty: bool,
}

/// Obeys the command if it is one of these.
pub fn obey(regions: &mut Vec<Region>, verb: &str, arguments: &[&str]) -> Option<Answer> {
    let answer = match (verb, arguments) {
        ("create", [name, settings @ ..]) => create(name, settings).map(|region| {
            let producer = &region.producer;
            let text = format!("tracker={} base={}", producer.tracker(), producer.base());
            regions.push(region);
            text
        }),
        ("occupy", [address, bytes]) => occupy(address, bytes),
        ("sabotage", [guard]) => sabotage(guard),
        _ => {
            let region = regions.last_mut()?;
            match (verb, arguments) {
                ("publish", [times]) => region.publish(times.parse().unwrap_or(1)),
                ("write", []) => {
                    let version = region.next_version();
                    region.write(version).map(|()| String::new())
                }
                ("publish-unwaited", []) => region.publish_unwaited(),
                ("publish-written", []) => region
                    .publish_written()
                    .map(|done| region.published(done.into(), 1)),
                ("rollback", [version]) => region.rollback(version.parse().unwrap_or(0)),
                ("view", []) => region.view(),
                ("mark", [how]) => region.mark(how),
                ("stats", []) => region.stats(),
                ("close", []) => region.close(),
                ("drop", []) => {
                    regions.pop();
                    Ok(String::new())
                }
                _ => return None,
            }
        }
    };
    Some(answer)
}

fn create(name: &str, settings: &[&str]) -> Result<Region, String> {
    let mut pattern = Pattern {
        seed: 1,
        dense_every: 1,
        one_in: 1,
    };
    let (mut pages, mut hasty) = (1024, false);
    let mut builder = Producer::builder(name);
    for setting in settings {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let number = value.parse::<usize>().unwrap_or_default();
        match key {
            "pages" => pages = number,
            "dense-every" => pattern.dense_every = number as u64,
            "hasty" => hasty = true,
            "one-in" => pattern.one_in = number as u64,
            _ => builder = set(builder, key, value)?,
        }
    }
    let builder = builder
        .capacity(pages * page_size())
        .attr("a", &*pattern.attr());
    let mut producer = builder.create().map_err(failed)?;
    let words = pages * words_per_page();
    let field = producer.field("a", [words]).add().map_err(failed)?;
    Ok(Region {
        producer,
        field,
        pattern,
        pages,
        hasty,
    })
}

fn set(builder: Builder, key: &str, value: &str) -> Result<Builder, String> {
    let number = value.parse::<usize>().unwrap_or_default();
    let users = || {
        value
            .split(',')
            .filter_map(|uid| uid.parse().ok())
            .collect()
    };
    Ok(match key {
        "tracker" => builder.tracker(value.parse().map_err(failed)?),
        "capture" => builder.capture(capture_mode(value)?),
        "versions" => builder.versions(number),
        "memory" => builder.memory(number as u64),
        "compact" => builder.compact_after(number as u32),
        "cold" => builder.cold_versions(number as u32),
        "assemble" => builder.always_assemble(),
        "huge" => builder.huge_pages(huge_pages(value)?),
        "observers" => builder.max_observers(number),
        "access" if value == "everyone" => builder.allow(Access::Everyone),
        "access" => builder.allow(Access::Users(users())),
        _ => return Err(format!("Unknown: {key:?} is not a setting")),
    })
}

fn huge_pages(value: &str) -> Result<HugePages, String> {
    match value {
        "0" => Ok(HugePages::Off),
        "1" => Ok(HugePages::Transparent),
        "reserved" => Ok(HugePages::Reserved),
        _ => Err(format!("Unknown: {value:?} are not huge pages")),
    }
}

/// Maps something else where a region would go, until the process ends.
fn occupy(address: &str, bytes: &str) -> Answer {
    let number = |text: &str| text.parse().map_err(failed);
    let mapping = Mapping::reserve_at(number(address)?, number(bytes)?).map_err(failed)?;
    std::mem::forget(mapping);
    Ok(String::new())
}

/// Switches a guard off until the process ends, so that the tests must fail.
fn sabotage(guard: &str) -> Answer {
    let guards = [
        Guard::FrameInUse,
        Guard::VisibleLast,
        Guard::PinCheck,
        Guard::KeepHarvest,
        Guard::ErrorMeansAll,
        Guard::Bound,
        Guard::CheckMessages,
        Guard::RefuseDescriptors,
        Guard::CloseElsewhere,
    ];
    let found = guards.into_iter().find(|g| format!("{g:?}") == guard);
    let guard = found.ok_or_else(|| format!("Unknown: {guard:?} is not a guard"))?;
    std::mem::forget(switch_off(guard));
    Ok(String::new())
}

impl Region {
    /// Writes the pages of the next version, publishes, and waits until it is visible, `times`
    /// times.
    fn publish(&mut self, times: u64) -> Answer {
        let mut published = 0;
        for _ in 0..times {
            self.write(self.next_version())?;
            published += u64::from(self.publish_written()?);
        }
        Ok(self.published(published, times))
    }

    fn next_version(&self) -> u64 {
        self.producer.stats().publishes + 1
    }

    fn published(&self, published: u64, times: u64) -> String {
        let (skipped, held) = (times - published, self.producer.stats().held_bytes);
        format!("published={published} skipped={skipped} held={held}")
    }

    /// Publishes what was written as the next version, and waits until it is visible. Returns false
    /// if it was skipped.
    fn publish_written(&mut self) -> Result<bool, String> {
        let version = self.next_version();
        let receipt = self.producer.publish(version, version as f64);
        let Receipt::Published(published) = receipt.map_err(failed)? else {
            return Ok(false);
        };
        if self.hasty {
            self.write(version + 1)?;
        }
        published.wait_visible(DEADLINE).map_err(failed)?;
        Ok(true)
    }

    /// Writes the pages of the next version and publishes, but does not wait until it is visible.
    fn publish_unwaited(&mut self) -> Answer {
        let version = self.next_version();
        self.write(version)?;
        let receipt = self.producer.publish(version, version as f64);
        let published = receipt.map_err(failed)?.version().is_some();
        Ok(self.published(published.into(), 1))
    }

    fn write(&mut self, version: u64) -> Result<(), String> {
        let mut view = self.producer.view_mut(self.field).map_err(failed)?;
        let words = view
            .as_slice_mut()
            .ok_or("Layout: a vector is contiguous")?;
        let rewrites = self.pattern.rewrites(version);
        let pages = words.chunks_exact_mut(words_per_page()).enumerate();
        pages
            .filter(|(number, _)| rewrites(*number))
            .for_each(|(number, page)| pattern::stamp(page, version, number));
        Ok(())
    }

    /// Checks that live memory still holds what was written last.
    fn view(&self) -> Answer {
        let version = self.producer.stats().publishes;
        let view = self.producer.view(self.field).map_err(failed)?;
        let words = view.as_slice().ok_or("Layout: a vector is contiguous")?;
        let last = self.pattern.last_writers(version.max(1), self.pages);
        pattern::check_all(words, 0, &last).map_err(failed)?;
        Ok(format!("version={version}"))
    }

    fn stats(&self) -> Answer {
        let s = self.producer.stats();
        Ok(format!(
            "publishes={} skips={} held={} stray={} returned={} observers={} errors={}",
            s.publishes,
            s.skips,
            s.held_bytes,
            s.stray_bytes,
            s.stray_bytes_returned,
            s.observers,
            s.tracker_errors
        ))
    }

    fn rollback(&mut self, version: u64) -> Answer {
        let done = self.producer.rollback(version).map_err(failed)?;
        Ok(format!("version={} pages={}", done.version, done.pages))
    }

    /// Declares that devices write the field, or have written it.
    fn mark(&mut self, how: &str) -> Answer {
        match how {
            "dirty" => self.producer.mark_dirty(self.field),
            "bytes" => self.producer.mark_dirty_bytes(self.field, 0..10_000),
            "dma" => self.producer.register_dma(self.field),
            _ => return Err(format!("Unknown: {how:?} is not a way to mark")),
        }
        Ok(String::new())
    }

    fn close(&mut self) -> Answer {
        self.producer.close();
        Ok(String::new())
    }
}
