//! Arguments of the commands that read or write files of versions.

mod checkpoint;
mod export;
mod part;
mod values;
mod when;

pub use checkpoint::*;
pub use export::{ExportArgs, HELP as EXPORT_HELP};
pub use part::Part;
pub use when::{Interval, When};
