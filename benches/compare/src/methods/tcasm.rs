//! The method TCASM, through its public interface. A mode names a tracker and a capture mode, or
//! selects hand-over.

use super::hand_over;
use super::method::{Method, Sink, Source};
use super::region::{self, FIELD, HAND_OVER, REGION};
use crate::case::Case;
use crate::failure::Failure;
use std::time::Duration;
use tcasm_observer::{ObserveError, Observer, View};
use tcasm_producer::{Buffer, Producer};

/// The method.
pub struct Tcasm;

struct TcasmSource {
    producer: Producer,
    field: Buffer<u8, ndarray::Ix1>,
}

/// An observer of the region.
pub struct TcasmSink {
    observer: Observer,
    view: Option<View>,
}

/// Size of a chunk, in bytes. The library chooses the kind of capture for each chunk.
const CHUNK: u64 = 2 << 20;

/// The modes: [`HAND_OVER`], and names of trackers. A `+` and the capture mode of dense chunks may
/// follow the name of a tracker. Without a capture mode, the library chooses.
const MODES: [&str; 6] = [
    "uffd-async",
    "uffd-async+inline",
    "uffd-async+deferred",
    HAND_OVER,
    "cow",
    "compare",
];

impl TcasmSink {
    /// Attaches to the region.
    pub fn attach() -> Result<Self, Failure> {
        let observer = Observer::attach_wait(REGION, Duration::from_secs(10));
        Ok(TcasmSink {
            observer: observer.map_err(Failure::method("attaching"))?,
            view: None,
        })
    }

    /// Returns the version that is held.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }
}

impl Method for Tcasm {
    fn name(&self) -> &'static str {
        "tcasm"
    }

    fn modes(&self) -> Vec<String> {
        MODES.map(str::to_owned).into()
    }

    fn settling_steps(&self, bytes: usize) -> u64 {
        // At first, all chunks are written as a whole. With each publish, the library notices for a
        // few chunks that this has ended. After 16 versions without unexpected writes, it shares a
        // few chunks with a plane in each publish.
        (16 + bytes as u64 / (4 * CHUNK)).min(100)
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        if case.mode == HAND_OVER {
            return hand_over::source(self, case);
        }
        let mut producer = region::create(self, &case.mode, case.bytes())?;
        let field = producer.field::<u8, _>(FIELD, [case.bytes()]).add();
        let field = field.map_err(Failure::method("adding the field"))?.buffer();
        Ok(Box::new(TcasmSource { producer, field }))
    }

    fn sink(&self, _: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Ok(Some(Box::new(TcasmSink::attach()?)))
    }
}

impl Source for TcasmSource {
    fn memory(&mut self) -> &mut [u8] {
        let view = self.producer.view_mut(self.field).ok();
        view.and_then(|v| v.into_slice()).unwrap_or_default()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let receipt = self.producer.publish(step, step as f64);
        let receipt = receipt.map_err(Failure::method("publishing"))?;
        Ok(receipt.version().is_some())
    }
}

impl Sink for TcasmSink {
    fn take(&mut self, _after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        // `wait_newer` never returns an older version, so `_after` is not needed.
        self.view = match self.observer.wait_newer(timeout) {
            Ok(version) => Some(
                version
                    .view()
                    .map_err(Failure::method("mapping a version"))?,
            ),
            Err(ObserveError::NotReady | ObserveError::EndOfStream) => None,
            Err(error) => return Err(Failure::method("waiting for a version")(error)),
        };
        Ok(self.view.as_ref().map(|v| v.step()))
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        let bytes = self.view.as_ref().map(|v| v.bytes(FIELD)).transpose();
        Ok(bytes
            .map_err(Failure::method("reading the version"))?
            .unwrap_or_default())
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.view = None;
        Ok(())
    }
}
