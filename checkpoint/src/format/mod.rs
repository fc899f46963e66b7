//! The format of checkpoint files: their names, what is in them, and how they are read.

pub mod blocks;
pub mod cells;
pub mod contained;
pub mod data;
pub mod description;
pub mod full;
pub mod header;
pub mod increment;
pub mod line;
pub mod names;
pub mod shape;
