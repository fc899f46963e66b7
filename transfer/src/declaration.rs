//! Declarations: what an owner lets its peers read or write.

use crate::addresses::first_missing;
use crate::cookie::Access;
use crate::error::DeclareError;
use crate::layout::Layout;
use crate::segment::Segment;
use crate::shared::SharedMemory;
use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Memory that peers may read or write, in the order of its layout.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub(crate) layout: Layout,
    pub(crate) access: Access,
    pub(crate) once: bool,
    pub(crate) memory: Memory,
}

/// The memory of a declaration, and what keeps it.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// The program keeps it, and may write it at any time.
    Live,
    /// It can be mapped.
    Shared(Arc<SharedMemory>),
    /// A version, which nobody writes.
    Version(
        NonZeroU64,
        #[allow(dead_code, reason = "kept, not used")] Arc<dyn Any + Send + Sync>,
    ),
}

impl Declaration {
    /// Declares any memory of this process.
    ///
    /// # Safety
    /// Until [`Owner::revoke`](crate::Owner::revoke) has returned true for the cookie, or all peers
    /// have ended, peers may read the memory, and write it if `access` says so. So nothing that
    /// must stay secret may be in it. If peers write, this process must not hold references to the
    /// memory (raw pointers and atomics are fine), must not use it for anything else, and every
    /// pattern of bits must be valid there.
    #[allow(unsafe_code)]
    pub unsafe fn live(layout: Layout, access: Access) -> Result<Self, DeclareError> {
        let writes = access.writes();
        match first_missing(layout.segments(), writes)? {
            Some(addr) => Err(DeclareError::Unmapped { addr, writes }),
            None => Ok(Declaration::of(layout, access, Memory::Live)),
        }
    }

    /// Declares a part of shared memory. Peers can map it: [`Peer::map`](crate::Peer::map).
    pub fn shared(
        memory: &Arc<SharedMemory>,
        layout: Layout,
        access: Access,
    ) -> Result<Self, DeclareError> {
        let (start, end) = (memory.addr(), memory.addr() + memory.len());
        let inside = |addr: usize, len: usize| addr >= start && addr + len <= end;
        let mut segments = layout.segments().iter();
        if let Some(outside) = segments.find(|s| !inside(s.addr, s.len)) {
            let addr = outside.addr;
            return Err(DeclareError::Outside { addr, start, end });
        }
        Ok(Declaration::of(
            layout,
            access,
            Memory::Shared(memory.clone()),
        ))
    }

    /// Declares bytes that nobody writes as long as they are shared, for reading. They are version
    /// `number`: [`Owner::set_version`](crate::Owner::set_version) replaces them by another one.
    pub fn version<B>(number: NonZeroU64, bytes: Arc<B>) -> Result<Self, DeclareError>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let whole = (*bytes).as_ref();
        let layout = Layout::new([Segment::of(whole)])?;
        Ok(Declaration::of(
            layout,
            Access::Read,
            Memory::Version(number, bytes),
        ))
    }

    /// Makes the cookie end when one peer has transferred all bytes, from the first to the last.
    pub fn once(self) -> Self {
        Declaration { once: true, ..self }
    }

    fn of(layout: Layout, access: Access, memory: Memory) -> Self {
        Declaration {
            layout,
            access,
            once: false,
            memory,
        }
    }

    /// Returns the number of the version, or 0 for live memory.
    pub(crate) fn number(&self) -> u64 {
        match &self.memory {
            Memory::Version(number, _) => number.get(),
            Memory::Live | Memory::Shared(_) => 0,
        }
    }

    /// Returns the memory, if it can be mapped.
    pub(crate) fn file(&self) -> Option<&Arc<SharedMemory>> {
        match &self.memory {
            Memory::Shared(memory) => Some(memory),
            Memory::Live | Memory::Version(..) => None,
        }
    }
}
