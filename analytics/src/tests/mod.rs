//! Tests that compare every operator with a naive one, over all dtypes, orders, ghost layers and
//! components.

mod blocks;
mod histogram;
mod moments;
mod sample;
mod slice;
