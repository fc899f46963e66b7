//! How checkpoint files are written.

pub mod attributes;
mod data;
mod full;
pub mod increment;
pub mod layouts;
pub mod new_file;
pub mod rounding;
pub mod store;
mod unsealed;
pub mod virtual_dataset;

pub use full::{begin, begin_with, write, write_new};
pub use layouts::vtkhdf::{Place, places, places_in_series};
pub use unsealed::Unsealed;
