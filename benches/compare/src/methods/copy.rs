//! The method "copy": each publish copies all of live memory into one of three shared buffers.

use super::buffers::{BufferSink, Buffers, CopySource};
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::sys::memory::Memory;

pub struct Copy;

impl Method for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        Ok(Box::new(CopySource {
            live: Memory::private(case.bytes())?,
            buffers: Buffers::create(case)?,
            copy: |buffers: &mut Buffers, free, live: &mut Memory| {
                buffers.fill(free, live.bytes());
                Ok(())
            },
        }))
    }

    fn sink(&self, case: &Case, observer: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        BufferSink::open(case, observer).map(Some)
    }
}
