//! TCASM for C, and for all languages that call C. The header `tcasm.h` is made from this crate,
//! and its comments are the reference: see `docs/c.md` for an introduction.
//!
//! - Functions return a status (`status.rs`). No panic crosses the border.
//! - Handles are numbers in the shape of pointers (`handles.rs`), so a handle that is wrong, closed
//!   or inherited by a forked child is a status and never an access to memory that is gone.
//! - `bindings/c-files` uses the public modules: it adds the functions that need HDF5.
//! - Pointers from C are read and written in one module, `border`, which has all `unsafe` blocks of
//!   this crate.
#![allow(non_camel_case_types)]
// The comments are those of the header, where brackets are defaults.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links)]

mod adopted;
mod array;
mod attrs;
pub mod border;
mod buffer;
mod buffers;
pub mod call;
mod changes;
mod constants;
mod facts;
mod field_options;
mod global_arrays;
mod groups;
pub mod handles;
mod host_buffer_options;
mod host_buffers;
mod mapping;
mod meshes;
mod meshes_of;
mod observer;
mod observers;
pub mod options;
pub mod producer;
mod publish;
pub mod source;
pub mod status;
mod transfers;
mod transfers_gathered;
mod transfers_hold;
mod transfers_peer;
mod transfers_shared;
mod transfers_vectored;
pub mod version;
mod waiting;
