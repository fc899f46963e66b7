//! Memory that a program declares, and that other processes of the machine read and write by
//! cookie, with one copy where the kernel permits it.
//!
//! ```
//! use tcasm_transfer::{Access, Allowed, Declaration, Layout, Owner, Peer, SharedMemory};
//!
//! // In the process that owns the memory:
//! let owner = Owner::create(Allowed::SameUser)?;
//! let memory = SharedMemory::create(1 << 16)?;
//! memory.write(40, b"hello");
//! // Every second block of 8 bytes, from 40 on.
//! let layout = Layout::vector(memory.addr() + 40, 1, 100, 8, 16)?;
//! let cookie = owner.declare(Declaration::shared(&memory, layout, Access::Read)?)?;
//!
//! // In another one, which got the address and the cookie in any way:
//! let mut peer = Peer::connect(owner.address())?;
//! let mut bytes = [0; 5];
//! let read = peer.read(cookie, 0, &mut bytes)?;
//! // Nobody writes the memory meanwhile, so the bytes belong together.
//! assert_eq!(*read.may_be_torn(), *b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod addresses;
mod beacon;
mod cookie;
mod declaration;
mod error;
#[cfg(feature = "versions")]
mod field;
#[cfg(feature = "versions")]
mod gathered;
mod hold;
mod image;
mod layout;
mod listener;
mod local;
mod mapped;
mod owner;
mod peer;
mod probe;
mod reach;
mod segment;
mod server;
mod session;
mod shared;
mod table;
mod torn;
mod transfer;
pub mod wire;

pub use cookie::{Access, BadCookie, Cookie};
pub use declaration::Declaration;
pub use error::{DeclareError, OwnerError, TransferError};
#[cfg(feature = "versions")]
pub use field::FieldError;
#[cfg(feature = "versions")]
pub use gathered::{GatherError, Gathered};
pub use hold::Hold;
pub use layout::{Layout, LayoutError};
pub use listener::Allowed;
pub use mapped::Mapped;
pub use owner::Owner;
pub use peer::{Described, Peer, Transport};
pub use probe::{direct_works, sharing_works};
pub use segment::Segment;
pub use shared::SharedMemory;
pub use torn::{Consistency, Torn};
pub use wire::Status;
