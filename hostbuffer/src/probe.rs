//! The offers of this machine to host buffers.

use crate::gpu;
use nix::sys::resource::{Resource, getrlimit};
use serde::Serialize;
use std::io;
use std::os::fd::AsFd;
use tcasm_core::place::addresses;
use tcasm_core::sys::mem::{HUGE_PAGE, Mapping};
use tcasm_core::sys::section::Section;

/// The size of the section that is tried.
const BYTES: usize = HUGE_PAGE;

/// The offers of this machine and this user's limits.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Probe {
    /// Why no buffer can be created, if none can.
    pub problem: Option<String>,
    /// Bytes of memory that a process may lock, or `None` if there is no limit.
    pub locked_memory: Option<u64>,
    /// Bytes of the largest section, or `None` if there is no limit.
    pub section_bytes: Option<u64>,
    /// Why sections cannot be registered with a GPU, if they cannot.
    pub gpu_absent: Option<String>,
}

/// Creates, maps and seals a small section, reads the limits, and loads the driver of a GPU.
pub fn probe() -> Probe {
    let limit = |resource| {
        let (soft, _) = getrlimit(resource).ok()?;
        (soft != nix::libc::RLIM_INFINITY).then_some(soft)
    };
    Probe {
        problem: try_section().err(),
        locked_memory: limit(Resource::RLIMIT_MEMLOCK),
        section_bytes: limit(Resource::RLIMIT_FSIZE),
        gpu_absent: gpu::absent(),
    }
}

fn try_section() -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("cannot {what}: {error}");
    // Other programs may have some of the addresses, but not all of them.
    let mut places = addresses("hostbuffer/probe", BYTES as u64);
    let free = places.find_map(|at| Mapping::reserve_at(at as usize, BYTES).ok());
    free.ok_or("no address can be reserved; is the address space limited (ulimit -v)?")?;
    let section = Section::create("tcasm-probe", BYTES as u64, false);
    let section = section.map_err(failed("create memory"))?;
    let mapping = Mapping::shared(section.as_fd(), BYTES, true).map_err(|e| e.to_string())?;
    let early = section.seal().map_err(failed("seal memory"))?;
    drop(mapping);
    match (early, section.seal().map_err(failed("seal memory"))?) {
        (false, true) => Ok(()),
        _ => Err("the kernel does not seal memory as Linux does".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_have_host_buffers() {
        assert_eq!(probe().problem, None);
    }
}
