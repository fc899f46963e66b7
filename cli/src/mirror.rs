//! A region of this process with the global arrays of a group, for what follows single regions.
//!
//! A thread gathers each new step of the group, and publishes it under a name of its own. So the
//! live view and `tcasm watch` show a group as they show any region. If ranks of other hosts have
//! the rest of an array, the region has the part that is on this host ([`crate::gathered`]).

use crate::failure::{Code, Failure};
use crate::gathered::{bytes_of, describe};
use crate::named::{self, Named};
use crate::output;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tcasm_core::field::FieldDesc;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{GroupError, GroupObserver, GroupVersion};
use tcasm_producer::Producer;

/// The interval at which the thread looks whether it shall end.
const POLL: Duration = Duration::from_millis(100);

/// A region that mirrors a group. It ends when this is dropped, or when the group ends.
pub struct Mirror {
    name: String,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Mirrors `name` if it is a group, and no region. Says on standard error which arrays are not all
/// here.
pub fn of_group(name: &str) -> Result<Option<Mirror>, Failure> {
    match named::attach(name) {
        Ok(Named::Group(group)) => Ok(Some(Mirror::start(group)?)),
        // A region may come later.
        Ok(Named::Region(_)) | Err(_) => Ok(None),
    }
}

impl Mirror {
    /// Creates the region, with the newest step of the group.
    pub fn start(mut group: GroupObserver) -> Result<Mirror, Failure> {
        let version = group.latest()?;
        let name = format!("{}.mirror-{}", version.group(), std::process::id());
        let mut region = Region::new(&name, &version)?;
        region.publish(&version)?;
        drop(version);
        for (text, fields) in &region.notes {
            output::note(&format!("{}: {text}", fields.join(", ")));
        }
        let end = Arc::new(AtomicBool::new(false));
        let stop = end.clone();
        let follow = move || follow(&mut group, region, || stop.load(Ordering::Relaxed));
        let thread = std::thread::Builder::new().spawn(follow);
        let thread =
            thread.map_err(|e| Failure::new(Code::Other, format!("cannot start a thread: {e}")))?;
        Ok(Mirror {
            name,
            end,
            thread: Some(thread),
        })
    }

    /// Returns the name of the region.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Publishes the steps of a group until it ends, or until it has other fields.
fn follow(group: &mut GroupObserver, mut region: Region, end: impl Fn() -> bool) {
    while !end() {
        match group.wait_newer(POLL) {
            Ok(version) => {
                if let Err(failure) = region.publish(&version) {
                    log::warn!("the group is not shown any more: {}", failure.message);
                    return;
                }
            }
            Err(GroupError::EndOfStream { .. }) => return,
            // Ranks may be started again.
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

/// The region, and the description of what it has.
struct Region {
    producer: Producer,
    fields: Vec<FieldDesc>,
    /// Notes about arrays, and their names.
    notes: BTreeMap<String, Vec<String>>,
}

impl Region {
    fn new(name: &str, version: &GroupVersion) -> Result<Region, Failure> {
        let gathered = describe(version, false)?;
        let table = gathered.table;
        let mut fields = table.fields;
        let mut offset = 0;
        for field in &mut fields {
            field.offset = offset;
            offset = (offset + field.bytes()).next_multiple_of(page_size() as u64);
        }
        let mut builder = Producer::builder(name).capacity(offset as usize);
        for (name, value) in table.attrs {
            builder = builder.attr(&name, value);
        }
        let mut producer = builder.create().map_err(|error| failed(&error))?;
        for field in &fields {
            producer.define(field).map_err(|error| failed(&error))?;
        }
        Ok(Region {
            producer,
            fields,
            notes: gathered.notes,
        })
    }

    /// Publishes a step of the group.
    fn publish(&mut self, version: &GroupVersion) -> Result<(), Failure> {
        for field in &self.fields {
            let bytes = bytes_of(version, field)?;
            let own = self.producer.field_bytes_mut(&field.name);
            let own = own.map_err(|error| failed(&error))?;
            if own.len() != bytes.len() {
                let text = format!("field {:?} has another size now", field.name);
                return Err(Failure::new(Code::Other, text));
            }
            own.copy_from_slice(&bytes);
        }
        let published = self.producer.publish(version.step(), version.time());
        published.map(drop).map_err(|error| failed(&error))
    }
}

fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::new(Code::Other, format!("cannot mirror the group: {error}"))
}
