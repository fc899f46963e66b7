//! Memory of a file, which peers map, and memory of an owner that is mapped here.

use crate::border::{Count, Fill, List, Out};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::status::Failure;
use crate::transfers::{Owner, access_of, declare, given, layout_of, wrong};
use crate::transfers::{tcasm_cookie, tcasm_segment};
use crate::transfers_peer::Peer;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use tcasm_transfer::{Declaration, Layout, Segment};

/// Memory that this process and its peers share.
pub struct SharedMemory(Arc<tcasm_transfer::SharedMemory>);
object!(SharedMemory, "shared memory", 20);

/// Declared memory of an owner, mapped here.
pub struct Mapped(tcasm_transfer::Mapped);
object!(Mapped, "mapped declaration", 21);

/// Makes `bytes` bytes of memory that peers can map, and stores their address. They are zeros.
/// `tcasm_shared_memory_free` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_shared_memory_new(
    bytes: usize,
    memory: Out<Handle<SharedMemory>>,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        if bytes == 0 {
            return Err(Failure::argument("shared memory has at least one byte"));
        }
        memory.check("the place for the shared memory")?;
        let made = tcasm_transfer::SharedMemory::create(bytes).map_err(Failure::other)?;
        let address = made.as_ptr().cast();
        give(&memory, || Ok(SharedMemory(made)))?;
        data.set(address);
        Ok(())
    })
}

/// Lets go of shared memory. It is unmapped here when the last of its cookies has ended, too.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_shared_memory_free(memory: Handle<SharedMemory>) -> c_int {
    call(|| memory.remove().map(drop))
}

/// Declares `count` pieces of shared memory, or all of it if `count` is 0. Peers can map it
/// (`tcasm_map_declared`). The other arguments are those of `tcasm_declare`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_declare_shared(
    owner: Handle<Owner>,
    memory: Handle<SharedMemory>,
    segments: List<tcasm_segment>,
    count: Count,
    access: c_int,
    once: c_int,
    cookie: Out<tcasm_cookie>,
) -> c_int {
    call(|| {
        let memory = memory.get()?;
        let layout = match count.get() {
            0 => Layout::new([whole(&memory.0)]).map_err(wrong)?,
            _ => layout_of(&segments, &count)?,
        };
        let declared = Declaration::shared(&memory.0, layout, access_of(access)?)?;
        declare(owner, declared, once, &cookie)
    })
}

fn whole(memory: &tcasm_transfer::SharedMemory) -> Segment {
    Segment {
        addr: memory.addr(),
        len: memory.len(),
    }
}

/// Maps declared memory for reading, without a copy, if the owner has declared it with
/// `tcasm_declare_shared`. It stays mapped until `tcasm_unmap_declared`, also if the cookie is
/// revoked or the owner ends. Nothing orders the accesses of the processes.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_map_declared(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    mapped: Out<Handle<Mapped>>,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let peer = peer.get()?;
        give(&mapped, || Ok(Mapped(peer.with(|p| p.map(cookie))??)))
    })
}

/// Stores where the pieces of a declaration are mapped, in order: as many as there is room for.
/// `count` is the number of all. A store there is a SIGSEGV.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_mapped_segments(
    mapped: Handle<Mapped>,
    segments: Fill<tcasm_segment>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let mapped = mapped.get()?;
        let all: Vec<_> = mapped.0.segments().map(tcasm_segment::from).collect();
        count.set(segments.set(&room, &all, "the place for the segments")?);
        Ok(())
    })
}

/// Unmaps declared memory of an owner.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_unmap_declared(mapped: Handle<Mapped>) -> c_int {
    call(|| mapped.remove().map(drop))
}
