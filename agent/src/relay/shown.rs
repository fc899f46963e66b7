//! The type by which the relay passes relayed steps to the notice of an analysis node.

use crate::node::Pinned;
use std::cell::Cell;
use std::rc::Rc;

/// The newest step that the mirrors of an analysis node show, pinned there, and the newest step
/// that any rank had when its relay began. The relay leaves it for the notice of its host.
pub type Shown = Rc<Cell<Option<(Pinned, u64)>>>;
