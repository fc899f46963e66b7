//! The processes of a case.

pub mod observe;
pub mod observers;
pub mod pages;
pub mod produce;
