//! `libtcasm_files`: all of `libtcasm`, and the functions of `tcasm_files.h`, which need HDF5. A
//! program links one of the two libraries. So simulations that read no checkpoints do not link
//! HDF5.
#![deny(unsafe_code)]

mod checkpoint;
mod restart;
