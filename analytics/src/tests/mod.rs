//! Every operator against a naive one, over all dtypes, orders, ghost layers and components.

mod blocks;
mod histogram;
mod moments;
mod sample;
mod slice;
