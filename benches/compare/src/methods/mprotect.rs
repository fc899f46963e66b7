//! The method "mprotect": it finds written pages by mprotect and SIGSEGV. Each publish copies the
//! pages in which the next of three shared buffers is out of date.

use super::buffers::{BufferSink, Buffers, CopySource};
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::sys::faults;
use crate::sys::memory::Memory;

pub struct Mprotect;

impl Method for Mprotect {
    fn name(&self) -> &'static str {
        "mprotect"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        let live = Memory::private(case.bytes())?;
        faults::watch(live.address(), case.bytes())?;
        Ok(Box::new(CopySource {
            live,
            buffers: Buffers::create(case)?,
            copy: |buffers: &mut Buffers, free, live: &mut Memory| {
                // Live memory is protected first, so that all later writes count as changes of the
                // next step.
                live.protect(false)?;
                buffers.changed(&faults::take_written());
                buffers.renew(free, live.bytes());
                Ok(())
            },
        }))
    }

    fn sink(&self, case: &Case, observer: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        BufferSink::open(case, observer).map(Some)
    }
}
