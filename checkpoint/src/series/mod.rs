//! Time series for ParaView and others: a list of files, or one file that grows.

pub mod list;
mod temporal;

pub use temporal::{Appended, FilledRow, SeriesOptions, TimeSeries};
