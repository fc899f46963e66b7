//! Stands in the place of the checkpoint of `tcasm demo`.

use crate::failure::Failure;
use clap::Args;
use tcasm_observer::Version;

#[derive(Debug, Args)]
pub struct DemoArgs {}

/// A checkpoint that is never written.
pub struct DemoCheckpoint;

impl DemoCheckpoint {
    /// Prepares nothing.
    pub fn new(_: &DemoArgs) -> Result<Self, Failure> {
        Ok(DemoCheckpoint)
    }

    /// Writes nothing.
    pub fn see(&mut self, _: &str, _: &Version) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Says why there is no checkpoint.
    pub fn summary(&self) -> String {
        "No checkpoint was written, because this program was built without HDF5.".to_owned()
    }
}
