//! Dirty pages: the sets that say what the next version must capture, and how a program declares
//! writes that no tracker sees.

mod declare;
mod pages;
mod selection;
#[cfg(test)]
mod tests;

pub(crate) use pages::{DirtyPages, Harvested, Observed};
pub(crate) use selection::Selection;
