//! A region that a mapping of the program is, or is copied into.

use crate::clock::Clock;
use crate::description::{self, Description};
use crate::memory;
use crate::object::{self, Identity, Kind, Object};
use crate::say::say;
use crate::spans::Spans;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;
use tcasm_core::format::report::{FOLDER_ENV, Page, Report};
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CreateError, DefineError, FieldDesc, Producer, Receipt};
use thiserror::Error;

/// The mapping that the program asks for.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The offset in the object, a multiple of the page size.
    pub offset: u64,
    pub len: usize,
    pub place: Place,
}

/// Where the program wants its mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    /// There, if the addresses are free.
    Preferred(usize),
    /// There, or nowhere.
    Exactly(usize),
}

/// The reason why a mapping is not published.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Description(#[from] description::Error),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Define(#[from] DefineError),
    #[error("cannot read the content of the descriptor: {0}")]
    Content(io::Error),
}

/// The memory that the program stores to.
#[derive(Debug)]
enum Source {
    /// The live memory of the region, and a descriptor of the object that it stands for.
    Live(File),
    /// A mapping of a file. Each version is a copy of it.
    File,
}

/// A region of this process.
#[derive(Debug)]
pub struct Region {
    producer: Producer,
    pub identity: Identity,
    /// The offset in the object at which the mapping begins.
    pub offset: u64,
    /// The addresses of the mapping.
    pub addresses: Range<usize>,
    pub spans: Spans,
    source: Source,
    fields: Vec<FieldDesc>,
    clock: Clock,
    calls: u64,
    report: Report,
    page: Option<Page>,
    complained: bool,
}

impl Region {
    /// Makes a region for a mapping of the object of `tcasm:NAME`. Its live memory has the content
    /// of the object, and is what the program gets.
    pub fn live(object: &Object, fd: BorrowedFd<'_>, mapping: &Mapping) -> Result<Self, Error> {
        let own = object::reopen(fd).map_err(Error::Content)?;
        let described = Description::find(&object.name, Path::new("."), mapping.len)?;
        let mut producer = create(builder(object, &described, mapping.len), mapping.place)?;
        add_fields(&mut producer, &described.fields, Some(mapping.len))?;
        load(&producer, &own, mapping).map_err(Error::Content)?;
        let base = producer.base();
        let source = Source::Live(own);
        Ok(Region::new(
            producer, object, described, source, base, mapping,
        ))
    }

    /// Makes a region for a mapping of a file, which the program has mapped at `address`.
    pub fn of_file(object: &Object, address: usize, mapping: &Mapping) -> Result<Self, Error> {
        let folder = match &object.kind {
            Kind::File(path) => path.parent(),
            Kind::Named => None,
        };
        let folder = folder.unwrap_or(Path::new("."));
        let described = Description::find(&object.name, folder, mapping.len)?;
        // Only this library writes the fields.
        let builder = builder(object, &described, mapping.len).no_kernel_writes(true);
        let mut producer = create(builder, Place::Anywhere)?;
        add_fields(&mut producer, &described.fields, None)?;
        let source = Source::File;
        Ok(Region::new(
            producer, object, described, source, address, mapping,
        ))
    }

    fn new(
        producer: Producer,
        object: &Object,
        described: Description,
        source: Source,
        address: usize,
        mapping: &Mapping,
    ) -> Self {
        let report = Report {
            name: object.name.clone(),
            pid: std::process::id().into(),
            capacity: mapping.len as u64,
            ..Report::default()
        };
        let addresses = address..address + mapping.len.next_multiple_of(page_size());
        let mut spans = Spans::default();
        spans.map(addresses.clone());
        Region {
            producer,
            identity: object.identity,
            offset: mapping.offset,
            addresses,
            spans,
            source,
            fields: described.fields,
            clock: described.clock,
            calls: 0,
            page: add_page(&report),
            report,
            complained: false,
        }
    }

    /// Returns the name of the region.
    pub fn name(&self) -> &str {
        self.producer.name()
    }

    /// Returns true if the program stores to the live memory of the region.
    pub fn is_live(&self) -> bool {
        matches!(self.source, Source::Live(_))
    }

    /// Returns the descriptor of the object, unless the program has closed it.
    pub fn object(&self) -> Option<&File> {
        match &self.source {
            Source::Live(object) => object::is_still(object, self.identity).then_some(object),
            Source::File => None,
        }
    }

    /// Returns the addresses of a part of the object, if all of it is in the region.
    pub fn addresses_of(&self, offset: u64, len: usize) -> Option<Range<usize>> {
        let skipped = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let start = self.addresses.start.checked_add(skipped)?;
        let end = start.checked_add(len.checked_next_multiple_of(page_size())?)?;
        (end <= self.addresses.end).then_some(start..end)
    }

    /// Publishes a version. An error is reported once, and the program goes on.
    pub fn publish(&mut self) {
        self.calls += 1;
        match self.refresh().and_then(|()| self.publish_now()) {
            Ok(()) => {}
            Err(why) => {
                self.report.failed += 1;
                self.complain(&why);
            }
        }
        if let Some(page) = &self.page {
            page.set(&self.report);
        }
    }

    /// Copies the mapping of a file into the fields.
    fn refresh(&mut self) -> Result<(), String> {
        if self.is_live() {
            return Ok(());
        }
        for field in &self.fields {
            let bytes = self.producer.field_bytes_mut(&field.name);
            let bytes = bytes.map_err(|error| error.to_string())?;
            memory::refresh(self.addresses.start + field.offset as usize, bytes)
                .map_err(|errno| format!("cannot read the mapping: {}", errno.desc()))?;
        }
        Ok(())
    }

    fn publish_now(&mut self) -> Result<(), String> {
        let start = self.addresses.start;
        let read = |offset, to: &mut [u8]| memory::read(start + offset, to);
        let (step, time) = self.clock.now(self.calls, read);
        let receipt = self.producer.publish(step, time);
        match receipt.map_err(|error| error.to_string())? {
            Receipt::Published(version) => {
                if self.report.versions == 0 {
                    self.report.first_step = step;
                }
                self.report.versions += 1;
                self.report.last_step = step;
                self.report.bytes += version.bytes;
            }
            Receipt::Skipped { .. } => self.report.skipped += 1,
        }
        Ok(())
    }

    fn complain(&mut self, why: &str) {
        if !std::mem::replace(&mut self.complained, true) {
            say(format_args!(
                "region {:?}: a version is missing: {why}",
                self.name()
            ));
        }
    }

    /// Ends the region when the program has unmapped all of it. The content goes back to the
    /// object, if the program can still map or read that.
    pub fn end(self) {
        if let Source::Live(object) = &self.source
            && object::is_still(object, self.identity)
            && object::is_open_elsewhere(object, self.identity)
            && let Err(error) = self.save(object)
        {
            let name = self.name();
            say(format_args!(
                "region {name:?}: its content is lost: {error}"
            ));
        }
    }

    fn save(&self, object: &File) -> io::Result<()> {
        let range = part_of(object, self.offset, self.addresses.len())?;
        match range.is_empty() {
            true => Ok(()),
            false => memory::save(self.addresses.start, object, range),
        }
    }

    /// Ends the stream, and leaves the memory as it is: threads may still use it.
    pub fn close(&mut self) {
        self.producer.close();
    }
}

fn builder(object: &Object, described: &Description, len: usize) -> Builder {
    let mut builder = Producer::builder(&object.name).capacity(len);
    if let Some(versions) = described.versions {
        builder = builder.versions(versions);
    }
    if let Some(history) = described.history {
        builder = builder.history(history);
    }
    if let Some(bytes) = described.memory {
        builder = builder.memory(bytes);
    }
    let attributes = described.attributes.iter();
    attributes.fold(builder, |builder, (name, value)| {
        builder.attr(name, value.clone())
    })
}

fn create(builder: Builder, place: Place) -> Result<Producer, CreateError> {
    match place {
        Place::Anywhere => builder.create(),
        Place::Exactly(address) => builder.base(address).create(),
        Place::Preferred(address) => match builder.clone().base(address).create() {
            Err(CreateError::Address(_) | CreateError::Base { .. }) => builder.create(),
            other => other,
        },
    }
}

/// Adds the fields, and if `whole` is given, memory that is not published between and behind them,
/// up to as many bytes.
fn add_fields(
    producer: &mut Producer,
    fields: &[FieldDesc],
    whole: Option<usize>,
) -> Result<(), DefineError> {
    let page = page_size() as u64;
    let mut end = 0;
    let fill = |producer: &mut Producer, end: u64, to: u64| match whole {
        Some(_) if to > end => producer.scratch::<u8, _>([(to - end) as usize]).map(drop),
        _ => Ok(()),
    };
    for field in fields {
        fill(producer, end, field.offset)?;
        producer.define(field)?;
        end = field.range().end.next_multiple_of(page);
    }
    let whole = whole.unwrap_or_default() as u64;
    fill(producer, end, whole.next_multiple_of(page))
}

/// Copies the content of the object to the live memory of a new region.
#[allow(unsafe_code)]
fn load(producer: &Producer, object: &File, mapping: &Mapping) -> io::Result<()> {
    let range = part_of(object, mapping.offset, mapping.len)?;
    // SAFETY: the fields and the memory between them begin at the base, and take as many bytes as
    // the mapping has. The region is new, so nothing is borrowed from it.
    unsafe { memory::load(object, range, producer.base()) }
}

/// Returns the part of the object that `len` bytes from `offset` on are mapped to: up to its end.
fn part_of(object: &File, offset: u64, len: usize) -> io::Result<Range<u64>> {
    let size = object.metadata()?.len();
    let end = offset.saturating_add(len as u64);
    Ok(offset.min(size)..end.min(size))
}

/// Adds a page to the report of `tcasm run`, if that has started the program. The program goes on
/// without it.
fn add_page(report: &Report) -> Option<Page> {
    let folder = std::env::var_os(FOLDER_ENV)?;
    Page::add(Path::new(&folder), report).ok()
}
