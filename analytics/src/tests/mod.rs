//! Tests that compare every operator with a naive one, over all dtypes, orders, ghost layers and
//! components.

mod blocks;
mod empty;
mod extract;
mod histogram;
mod moments;
mod reading;
mod sample;
mod slice;
