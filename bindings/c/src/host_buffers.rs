//! Host buffers: one buffer for all processes of a host, at the same address in each.

use crate::border::{Count, List, Out, Text};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::options::Options;
use crate::status::{Failure, TCASM_NOT_READY};
use crate::waiting::{SLICE, seconds};
use std::ffi::{c_char, c_int, c_void};
use std::time::Instant;
use tcasm_core::sys::time::deadline;
use tcasm_hostbuffer::{HostBufferError, Pages, Section};

/// Pages of a section get their memory at once.
pub const TCASM_SECTION_ALLOCATED: u32 = 1;
/// Pages of a section are locked in memory.
pub const TCASM_SECTION_LOCKED: u32 = 2;
/// Core dumps have the section.
pub const TCASM_SECTION_DUMPED: u32 = 4;
/// A section has huge pages where the system gives them to shared memory.
pub const TCASM_SECTION_HUGE_PAGES: u32 = 8;
/// A section has huge pages that an administrator has reserved.
pub const TCASM_SECTION_RESERVED_PAGES: u32 = 16;

/// A buffer that all processes of a job on this host share.
pub struct HostBuffer(tcasm_hostbuffer::HostBuffer);
object!(HostBuffer, "host buffer", 10);

impl HostBuffer {
    pub fn new(buffer: tcasm_hostbuffer::HostBuffer) -> Self {
        HostBuffer(buffer)
    }
}

/// Creates the host buffer of `job`, or attaches to it: at the same address in all processes. It
/// has `count` sections with names and sizes in bytes. `flags` has `TCASM_SECTION_LOCKED` and the
/// like for each, added up, or is null. `ranks` is not 0 for sections for the regions of so many
/// ranks (`tcasm_options_set_part`), each with at most as many bytes of fields as `sizes` says; it
/// may be null. If `processes` is not 0, so many processes of this host get
/// the buffer, or none does. Waits for them for up to `timeout` seconds.
/// `tcasm_host_buffer_close` ends it here. `tcasm_host_buffer_create` has more options, among them
/// the agreement with other hosts.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_open(
    job: Text,
    count: Count,
    names: List<*const c_char>,
    sizes: List<usize>,
    flags: List<u32>,
    ranks: List<u32>,
    processes: usize,
    timeout: f64,
    buffer: Out<Handle<HostBuffer>>,
) -> c_int {
    call(|| {
        let job = job.get("the name of the job")?;
        let names = names.texts(&count, "the list of names")?;
        let sizes = sizes.get(&count, "the list of sizes")?;
        let flags = each(&flags, &count, "the list of flags")?;
        let ranks = each(&ranks, &count, "the list of ranks")?;
        let mut builder = tcasm_hostbuffer::HostBuffer::builder(job).timeout(seconds(timeout)?);
        for (i, name) in names.iter().enumerate() {
            builder = builder.section(match ranks[i] {
                0 => section(name, sizes[i], flags[i])?,
                ranks => Section::regions(name, ranks, sizes[i]),
            });
        }
        if processes > 0 {
            builder = builder.processes(processes);
        }
        give(&buffer, || Ok(HostBuffer(builder.create_or_attach()?)))
    })
}

/// Returns the values of a list, or zeros if C passed null.
fn each(list: &List<u32>, count: &Count, what: &str) -> Result<Vec<u32>, Failure> {
    match list.is_null() {
        true => Ok(vec![0; count.get()]),
        false => Ok(list.get(count, what)?.to_vec()),
    }
}

pub fn section(name: &str, bytes: usize, flags: u32) -> Result<Section, Failure> {
    let mut section = Section::new(name, bytes);
    let known = TCASM_SECTION_ALLOCATED
        | TCASM_SECTION_LOCKED
        | TCASM_SECTION_DUMPED
        | TCASM_SECTION_HUGE_PAGES
        | TCASM_SECTION_RESERVED_PAGES;
    if flags & !known != 0 {
        let text = format!("section {name:?} has flags that do not exist: {flags:#x}");
        return Err(Failure::argument(text));
    }
    if flags & TCASM_SECTION_ALLOCATED != 0 {
        section = section.allocated();
    }
    if flags & TCASM_SECTION_LOCKED != 0 {
        section = section.locked();
    }
    if flags & TCASM_SECTION_DUMPED != 0 {
        section = section.dumped();
    }
    Ok(
        match flags & (TCASM_SECTION_HUGE_PAGES | TCASM_SECTION_RESERVED_PAGES) {
            0 => section,
            TCASM_SECTION_HUGE_PAGES => section.pages(Pages::Huge),
            _ => section.pages(Pages::Reserved),
        },
    )
}

/// Lets go of a host buffer: it is unmapped here. The last process releases its memory.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_close(buffer: Handle<HostBuffer>) -> c_int {
    call(|| buffer.remove().map(drop))
}

/// Stores the address of a host buffer, its bytes of address space, and whether this process
/// created it (1) or attached to it (0).
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_info(
    buffer: Handle<HostBuffer>,
    address: Out<usize>,
    bytes: Out<usize>,
    created: Out<c_int>,
) -> c_int {
    call(|| {
        let buffer = buffer.get()?;
        address.set(buffer.0.address());
        bytes.set(buffer.0.len());
        created.set(buffer.0.created().into());
        Ok(())
    })
}

/// Stores the address of a section and its size. Nothing orders the accesses of processes. A store
/// to a sealed section is a SIGSEGV.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_section(
    buffer: Handle<HostBuffer>,
    name: Text,
    data: Out<*mut c_void>,
    bytes: Out<usize>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the section")?;
        let (at, len) = buffer.get()?.0.section(name)?;
        data.set(at.cast());
        bytes.set(len);
        Ok(())
    })
}

/// Makes a section read-only in all processes, for ever, and waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_seal(buffer: Handle<HostBuffer>, name: Text) -> c_int {
    call(|| Ok(buffer.get()?.0.seal(name.get("the name of the section")?)?))
}

/// Waits until a process has sealed a section, for up to `timeout` seconds, or for ever if it is
/// negative. Returns `TCASM_NOT_READY` if none has in time.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_wait_sealed(buffer: Handle<HostBuffer>, name: Text, timeout: f64) -> c_int {
    call(|| {
        let name = name.get("the name of the section")?;
        let end = deadline(seconds(timeout)?);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            // The handle is looked up again, so that closing the buffer ends the wait.
            match buffer.get()?.0.wait_sealed(name, left.min(SLICE)) {
                Err(HostBufferError::SealTimeout { .. }) if left > SLICE => {}
                Err(HostBufferError::SealTimeout { .. }) => return Err(not_sealed(name, timeout)),
                found => return Ok(found.map(drop)?),
            }
        }
    })
}

fn not_sealed(name: &str, timeout: f64) -> Failure {
    let text = format!("no process has sealed section {name:?} within {timeout} s");
    Failure::new(TCASM_NOT_READY, text)
}

/// Takes the part of `rank` in a section for regions: the region that is created with these options
/// lies there, with the capacity of the part.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_options_set_part(
    options: Handle<Options>,
    buffer: Handle<HostBuffer>,
    name: Text,
    rank: u32,
) -> c_int {
    call(|| {
        let options = options.get()?;
        let name = name.get("the name of the section")?;
        options.set_extent(buffer.get()?.0.take_part(name, rank)?);
        Ok(())
    })
}
