//! A rank of a job that has a host buffer: `mpirun -n 4 target/debug/examples/mpi [BLOCKED...]`.
//!
//! The first rank of each host builds a list in the buffer. Then rank 0 sends the address of the
//! list's beginning to all ranks, on all hosts, and each of them walks it. Each rank prints one
//! line. It first maps a page at each of the blocked addresses, which are hexadecimal. With
//! `MPI_EXAMPLE_BYTES`, it asks for another size.

use mpi::traits::{Communicator, Root};
use std::error::Error;
use std::time::Duration;
use tcasm_core::sys::mem::Mapping;
use tcasm_hostbuffer::mpi::Ranks;
use tcasm_hostbuffer::{HostBuffer, HostBufferError, Section};

const NODES: usize = 1000;

/// An element of a linked list.
#[repr(C)]
struct Node {
    next: *const Node,
    value: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    let blocked = std::env::args().skip(1);
    let blocked: Result<Vec<usize>, _> = blocked.map(|a| usize::from_str_radix(&a, 16)).collect();
    let blocks: Result<Vec<Mapping>, _> = blocked?
        .into_iter()
        .map(|address| Mapping::reserve_at(address, 4096))
        .collect();
    let _blocks = blocks?;
    let rank = world.rank();
    match buffer(&world) {
        Ok(buffer) => println!("{}", use_it(&buffer, &world)?),
        Err(error) => {
            // mpirun may cut longer lines.
            let (pid, why) = (std::process::id(), error.to_string());
            println!("rank {rank} pid {pid} error {why:.900}");
        }
    }
    Ok(())
}

fn buffer(world: &impl AsComm) -> Result<HostBuffer, HostBufferError> {
    let bytes = std::env::var("MPI_EXAMPLE_BYTES").ok();
    let bytes = bytes
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or(1 << 20);
    HostBuffer::builder("example")
        .section(Section::new("list", bytes))
        .agreement(Ranks::new(world)?)
        .timeout(Duration::from_secs(30))
        .create_or_attach()
}

/// Anything that has a communicator of MPI.
trait AsComm: mpi::raw::AsRaw<Raw = mpi::ffi::MPI_Comm> {}
impl<T: mpi::raw::AsRaw<Raw = mpi::ffi::MPI_Comm>> AsComm for T {}

fn use_it(buffer: &HostBuffer, world: &impl Communicator) -> Result<String, HostBufferError> {
    if buffer.created() {
        build(buffer.section("list")?.0);
        buffer.seal("list")?;
    }
    let list = buffer.wait_sealed("list", Duration::from_secs(30))?;
    // A pointer is valid on all hosts, so it can be sent as it is.
    let mut first = list.as_ptr() as u64;
    world.process_at_rank(0).broadcast_into(&mut first);
    let sum = walk(first as *const Node);
    let (rank, created) = (world.rank(), buffer.created());
    let address = buffer.address();
    Ok(format!(
        "rank {rank} ok created={created} address={address:x} sum={sum}"
    ))
}

/// Builds a list whose nodes lie in an order of their own.
fn build(list: *mut u8) {
    let node = |i: usize| list.cast::<Node>().wrapping_add(i * 7 % NODES);
    for i in 0..NODES {
        let next = match i + 1 < NODES {
            true => node(i + 1).cast_const(),
            false => std::ptr::null(),
        };
        let value = i as u64;
        // SAFETY: the node lies in the section, which is aligned to a page. No other process uses
        // the section before it is sealed.
        unsafe { node(i).write(Node { next, value }) };
    }
}

/// Returns the sum of all values, by the pointers in the nodes.
fn walk(first: *const Node) -> u64 {
    let (mut at, mut sum) = (first, 0);
    while !at.is_null() {
        // SAFETY: the list was built at this address on each host, and sealed.
        let node = unsafe { at.read() };
        (at, sum) = (node.next, sum + node.value);
    }
    sum
}
