//! A rank of a parallel program, with a region in its part of a host buffer.
//!
//! It attaches to the host buffer of the job RANK_JOB, and obeys commands, one per line. Each gets
//! an answer, `ok` or `error` with the reason.
//!
//! - `take SECTION RANK`: takes a part, and answers its address and its bytes.
//! - `create GROUP RANK RANKS LOCAL [RUN]`: creates a region in that part. With `larger`, the next
//!   region has a larger capacity than the part.
//! - `plain NAME`: creates a region anywhere, which is in no group.
//! - `attr NAME VALUE`: sets an attribute of the region, a number or a text.
//! - `publish STEP`, `run FROM TO`: publishes steps. The ranks that run are at most two steps
//!   apart.
//! - `close`: drops the producer.  `leave`: drops the host buffer.
//! - `seal SECTION`, `wait-sealed SECTION`: as the functions.
//! - `exhaust`, `relax`: uses all mappings that a process may have, and gives them back.

use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tcasm_core::sys::mem::{Mapping, max_map_count, page_size};
use tcasm_hostbuffer::{HostBuffer, Section};
use tcasm_producer::{Extent, Field, Group, Producer, ndarray::Ix1};
use tcasm_tests::child::DEADLINE;
use tcasm_tests::ranks::{CAPACITY, DRIFT, ELEMENTS, HISTORY, RANKS, own_field, value};

type Failure = Box<dyn std::error::Error>;

/// A region with its fields.
struct Region {
    producer: Producer,
    rank: u32,
    fields: [Field<u64, Ix1>; 2],
}

struct Rank {
    buffer: Option<HostBuffer>,
    part: Option<Extent>,
    larger: bool,
    region: Option<Region>,
    filler: Option<Mapping>,
}

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let job = std::env::var("RANK_JOB")?;
    let buffer = HostBuffer::builder(&job)
        .section(Section::regions("ranks", RANKS, CAPACITY))
        .section(Section::new("progress", page_size()))
        .create_or_attach()?;
    let mut rank = Rank {
        buffer: Some(buffer),
        part: None,
        larger: false,
        region: None,
        filler: None,
    };
    for line in std::io::stdin().lock().lines() {
        match rank.obey(&line?) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

impl Rank {
    fn obey(&mut self, line: &str) -> Result<String, Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["take", section, rank] => return self.take(section, rank.parse()?),
            ["create", group, rank, ranks, local, ref run @ ..] => {
                let counts = Group::new(rank.parse()?, ranks.parse()?);
                let counts = counts.local_ranks(local.parse()?).run(&run.join(" "));
                self.create(group, rank.parse()?, counts)?;
            }
            ["larger"] => self.larger = true,
            ["plain", name] => self.plain(name)?,
            ["attr", name, value] => self.region()?.set_attr(name, value),
            ["publish", step] => self.region()?.publish(step.parse()?)?,
            ["run", from, to] => self.run(from.parse()?, to.parse()?)?,
            ["close"] => self.region = None,
            ["leave"] => self.buffer = None,
            ["seal", section] => self.buffer()?.seal(section)?,
            ["wait-sealed", section] => drop(self.buffer()?.wait_sealed(section, DEADLINE)?),
            ["exhaust"] => self.filler = Some(exhaust()?),
            ["relax"] => self.filler = None,
            _ => return Err(format!("no command {line:?}").into()),
        }
        Ok(String::new())
    }

    fn buffer(&self) -> Result<&HostBuffer, Failure> {
        Ok(self.buffer.as_ref().ok_or("it has left")?)
    }

    fn take(&mut self, section: &str, rank: u32) -> Result<String, Failure> {
        let part = self.buffer()?.take_part(section, rank)?;
        self.part = Some(part);
        Ok(format!("base={} bytes={}", part.base, part.bytes))
    }

    fn create(&mut self, group: &str, rank: u32, counts: Group) -> Result<(), Failure> {
        let part = self.part.ok_or("it has no part")?;
        let builder = Producer::builder(group).group(counts).history(HISTORY);
        let builder = builder.extent(part);
        let builder = match self.larger {
            true => builder.capacity(part.bytes as usize + 1),
            false => builder,
        };
        self.region = Some(Region::new(builder.create()?, rank)?);
        Ok(())
    }

    fn plain(&mut self, name: &str) -> Result<(), Failure> {
        let producer = Producer::builder(name).capacity(CAPACITY).create()?;
        self.region = Some(Region::new(producer, 0)?);
        Ok(())
    }

    fn region(&mut self) -> Result<&mut Region, Failure> {
        Ok(self.region.as_mut().ok_or("it has no region")?)
    }

    /// Publishes steps as fast as it can, except for pauses that differ from rank to rank, and
    /// waits for the slowest rank, as a halo exchange does.
    fn run(&mut self, from: u64, to: u64) -> Result<(), Failure> {
        let progress = self.progress()?;
        let rank = self.region()?.rank;
        for step in from..=to {
            let behind = |p: &AtomicU64| p.load(Ordering::Acquire) + DRIFT < step;
            while progress.iter().any(behind) {
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(Duration::from_micros(value(rank, step, 7) % 1999));
            self.region()?.publish(step)?;
            progress[rank as usize].store(step, Ordering::Release);
        }
        Ok(())
    }

    /// Returns the last step of each rank that runs.
    fn progress(&self) -> Result<&'static [AtomicU64], Failure> {
        let (first, bytes) = self.buffer()?.section("progress")?;
        assert!(bytes >= RANKS as usize * 8);
        // SAFETY: the section is mapped until the buffer is dropped, which no test does before it
        // has run. It begins at a page, and all processes use it as atomic words only.
        Ok(unsafe { std::slice::from_raw_parts(first.cast(), RANKS as usize) })
    }
}

impl Region {
    fn new(mut producer: Producer, rank: u32) -> Result<Self, Failure> {
        let t = producer.field("t", [ELEMENTS]).add()?;
        let own = producer.field(&own_field(rank), [ELEMENTS]).add()?;
        Ok(Region {
            producer,
            rank,
            fields: [t, own],
        })
    }

    fn set_attr(&mut self, name: &str, value: &str) {
        match value.parse::<i64>() {
            Ok(number) => self.producer.set_attr(name, number),
            Err(_) => self.producer.set_attr(name, value),
        }
    }

    fn publish(&mut self, step: u64) -> Result<(), Failure> {
        for field in self.fields {
            for (i, v) in self.producer.view_mut(field)?.iter_mut().enumerate() {
                *v = value(self.rank, step, i);
            }
        }
        let receipt = self.producer.publish_wait(step, step as f64, DEADLINE)?;
        receipt.version().ok_or("nothing was published")?;
        match self.producer.wait_captured(DEADLINE) {
            true => Ok(()),
            false => Err("the capture does not end".into()),
        }
    }
}

/// Uses all mappings that this process may have.
fn exhaust() -> Result<Mapping, Failure> {
    let page = page_size();
    let filler = Mapping::reserve(2 * max_map_count() * page)?;
    for i in 0..max_map_count() {
        // SAFETY: nothing is borrowed from the reservation.
        if unsafe { filler.put_zero(2 * i * page, page, false) }.is_err() {
            return Ok(filler);
        }
    }
    Err("there is no limit on mappings".into())
}
