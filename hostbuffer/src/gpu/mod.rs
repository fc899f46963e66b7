//! GPUs, by the CUDA driver of the machine. It is loaded when it is first needed, so that programs
//! start without it.

mod driver;
mod memory;
mod registration;

pub(crate) use driver::absent;
pub(crate) use memory::DeviceRange;
pub use registration::GpuRegistration;
