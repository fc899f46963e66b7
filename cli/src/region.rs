//! Finds the version and the field that the command line names.

use crate::failure::{Code, Failure};
use tcasm_core::field::FieldDesc;
use tcasm_observer::{ObserveError, Observer, Stamp, Version, ViewError};

/// Pins version `number` of the region `name`, or the newest.
pub fn pin(mut observer: Observer, name: &str, number: Option<u64>) -> Result<Version, Failure> {
    let version = match number {
        Some(number) => observer.version(number),
        None => observer.latest(),
    };
    version.map_err(|error| match error {
        ObserveError::NotReady => nothing_yet(name),
        other => other.into(),
    })
}

/// Returns the failure for a region that has no version yet.
pub fn nothing_yet(name: &str) -> Failure {
    let text = format!("region {name:?} has published nothing yet; try again after its first step");
    Failure::new(Code::NoVersion, text)
}

/// Returns the description of a field of `version`.
pub fn field<'v>(version: &'v Version, name: &str) -> Result<&'v FieldDesc, Failure> {
    let fields = &version.table().fields;
    version.field(name).ok_or_else(|| {
        let available = fields.iter().map(|f| f.name.clone()).collect();
        let name = name.to_owned();
        ViewError::NoField { name, available }.into()
    })
}

/// Formats the stamp of a version, such as `version 12  step 120  t = 0.12`. The version may be
/// gone.
pub fn stamp_text(stamp: &Stamp) -> String {
    let time = crate::output::number(stamp.time);
    format!("version {}  step {}  t = {time}", stamp.version, stamp.step)
}
