//! Dirty pages: the sets that say what the next version must capture.

mod pages;
mod selection;
#[cfg(test)]
mod tests;

pub(crate) use pages::{DirtyPages, Harvested, Observed};
pub(crate) use selection::Selection;
