//! The updates that a client takes from a hub.

use super::series::Series;
use crate::frame::Frame;
use crate::region::Region;
use std::sync::Arc;

/// The updates that wait for a client.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The state of the region, if it has changed.
    pub region: Option<Arc<Region>>,
    /// The known history of a field, after a request for another field or component.
    pub series: Option<Arc<Series>>,
    /// The next frame, if there is one.
    pub frame: Option<Frame>,
}
