//! The parts that all data sets have: the version of VTKHDF, and the time.

use crate::file::Fault;
use hdf5::Group;
use tcasm_core::format::stamp::Stamp;

/// The version of VTKHDF of each data set. All readers of this major version take it.
pub const VERSION: [i64; 2] = [2, 0];

/// Writes the time, the step and the number of the version.
pub fn describe_version(global: &Group, stamp: Stamp) -> Result<(), Fault> {
    for (name, value) in [("step", stamp.step), ("version", stamp.version)] {
        let number = global.new_dataset_builder();
        number.with_data(&[value]).create(name)?;
    }
    let time = global.new_dataset_builder();
    time.with_data(&[stamp.time]).create("TimeValue")?;
    Ok(())
}
