//! The methods that are compared: ways to show memory to other processes, one file for each.

mod adios2;
mod anon_asm;
mod buffers;
mod carry_over;
mod copy;
mod event;
mod file_asm;
mod fork;
mod hand_over;
mod iceoryx2;
mod lock;
mod method;
mod mprotect;
pub mod region;
pub mod tcasm;
mod torn;

use crate::failure::Failure;
pub use method::{Method, Sink, Source, no_mode};

/// All methods that are compared.
pub const ALL: [&dyn Method; 9] = [
    &tcasm::Tcasm,
    &copy::Copy,
    &lock::Lock,
    &fork::Fork,
    &mprotect::Mprotect,
    &anon_asm::AnonAsm,
    &file_asm::FileAsm,
    &iceoryx2::Iceoryx2,
    &adios2::Adios2,
];

/// Returns the method of this name. Also finds the method `torn`, which is for tests only.
pub fn find(name: &str) -> Result<&'static dyn Method, Failure> {
    let torn: &dyn Method = &torn::Torn;
    let found = ALL.into_iter().chain([torn]).find(|m| m.name() == name);
    found.ok_or_else(|| {
        let names = ALL.map(|m| m.name()).join(", ");
        Failure::UnknownMethod(name.to_owned(), names)
    })
}
