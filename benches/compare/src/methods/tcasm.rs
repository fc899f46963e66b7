//! TCASM, by its public interface; a mode is a way to track writes, and a way to capture them.

use super::{Method, Sink, Source, hand_over, no_mode};
use crate::case::Case;
use crate::failure::Failure;
use std::time::Duration;
use tcasm_observer::{ObserveError, Observer, View};
use tcasm_producer::{Buffer, CaptureMode, CreateError, Producer};

/// The method.
pub struct Tcasm;

/// Name of the region: every case has a folder of its own for sockets.
const REGION: &str = "compare";
/// Name of the field that the pages belong to.
pub const FIELD: &str = "bytes";

struct TcasmSource {
    producer: Producer,
    field: Buffer<u8, ndarray::Ix1>,
}

/// An observer of the region.
pub struct TcasmSink {
    observer: Observer,
    view: Option<View>,
}

/// Bytes of the pieces of memory that are captured in one way or the other.
const CHUNK: u64 = 2 << 20;

/// The mode in which memory is handed over instead of captured.
pub const HAND_OVER: &str = "hand-over";

/// A way to track writes, and after a `+` when dense chunks are captured, if not as the library chooses.
const MODES: [&str; 6] = [
    "uffd-async",
    "uffd-async+now",
    "uffd-async+later",
    HAND_OVER,
    "cow",
    "compare",
];

/// A region of so many bytes, in the way that `mode` says. No version is skipped because the one before is still being
/// captured, so that every step is offered, as by the other methods.
pub fn region(method: &dyn Method, mode: &str, bytes: usize) -> Result<Producer, Failure> {
    let unknown = || no_mode(method, mode);
    let (tracker, capture) = mode.split_once('+').unwrap_or((mode, "auto"));
    let capture = match capture {
        "auto" => CaptureMode::Auto,
        "now" => CaptureMode::Now,
        "later" => CaptureMode::Later,
        _ => return Err(unknown()),
    };
    let mut builder = Producer::builder(REGION).capacity(bytes).capture(capture);
    if mode != HAND_OVER {
        builder = builder.tracker(tracker.parse().map_err(|_| unknown())?);
    }
    builder
        .wait_for_capture(true)
        .create()
        .map_err(|error| match error {
            CreateError::Tracker(why) => Failure::Unavailable(why.to_string()),
            error => Failure::method("creating the region")(error),
        })
}

impl TcasmSink {
    /// Attach to the region.
    pub fn attach() -> Result<Self, Failure> {
        let observer = Observer::attach_wait(REGION, Duration::from_secs(10));
        Ok(TcasmSink {
            observer: observer.map_err(Failure::method("attaching"))?,
            view: None,
        })
    }

    /// The version that is held.
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
        // A few chunks in each publish find out that they are no longer written as a whole, as they were at first; and after 16
        // versions without surprises, a few come to rest on planes.
        (16 + bytes as u64 / (4 * CHUNK)).min(100)
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        if case.mode == HAND_OVER {
            return hand_over::source(self, case);
        }
        let mut producer = region(self, &case.mode, case.bytes())?;
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
        // `wait_newer` itself goes forward only.
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
