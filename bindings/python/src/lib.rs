//! The compiled part of the Python package `tcasm`. The package in `python/tcasm` wraps these
//! classes; programs import the package.
#![deny(unsafe_code)]

mod arrays;
mod background;
#[cfg(feature = "files")]
mod checkpoint;
mod describe;
mod errors;
mod fields;
mod gathered;
mod group;
mod hostbuffer;
mod info;
mod live;
mod meshes;
mod observer;
mod peer;
mod pins;
mod producer;
mod receipt;
mod regions;
mod settings;
mod shared;
mod transfer;
mod values;
mod version;
mod wait;

/// Versions of a running simulation's memory, for Python.
#[pyo3::pymodule]
mod _tcasm {
    #[pymodule_export]
    use crate::arrays::live_arrays;
    #[cfg(feature = "files")]
    #[pymodule_export]
    use crate::checkpoint::{Checkpoint, checkpoint_files};
    #[pymodule_export]
    use crate::gathered::Gathered;
    #[pymodule_export]
    use crate::group::{Group, GroupObserver, GroupVersion};
    #[pymodule_export]
    use crate::hostbuffer::HostBuffer;
    #[pymodule_export]
    use crate::live::Buffer;
    #[pymodule_export]
    use crate::observer::Observer;
    #[pymodule_export]
    use crate::peer::Peer;
    #[pymodule_export]
    use crate::producer::Producer;
    #[pymodule_export]
    use crate::receipt::Receipt;
    #[pymodule_export]
    use crate::regions::{regions, runtime_dir};
    #[pymodule_export]
    use crate::shared::SharedMemory;
    #[pymodule_export]
    use crate::transfer::Owner;
    #[pymodule_export]
    use crate::version::Version;
}
