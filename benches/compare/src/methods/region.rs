//! The region of the method TCASM, in each of its modes.

use super::method::{Method, no_mode};
use crate::failure::Failure;
use tcasm_producer::{CaptureMode, CreateError, Producer};

/// The name of the region. Each case has its own folder for sockets, so the name can be the same.
pub const REGION: &str = "compare";
/// The name of the field that contains the pages.
pub const FIELD: &str = "bytes";

/// The mode in which buffers are handed over instead of captured.
pub const HAND_OVER: &str = "hand-over";

/// Creates a region of `bytes` bytes with the tracker and the capture mode of `mode`.
///
/// `publish` waits for a capture that is still in progress instead of skipping the version. So
/// every step is published, as with the other methods.
pub fn create(method: &dyn Method, mode: &str, bytes: usize) -> Result<Producer, Failure> {
    let unknown = || no_mode(method, mode);
    let (tracker, capture) = mode.split_once('+').unwrap_or((mode, "auto"));
    let capture = match capture {
        "auto" => CaptureMode::Auto,
        "inline" => CaptureMode::Inline,
        "deferred" => CaptureMode::Deferred,
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
