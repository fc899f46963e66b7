//! Declarations: what an owner lets its peers read or write.

use crate::addresses::first_missing;
use crate::cookie::Access;
use crate::error::DeclareError;
use crate::layout::Layout;
use crate::shared::SharedMemory;
use std::sync::Arc;

/// Memory that peers may read or write, in the order of its layout.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub(crate) layout: Layout,
    pub(crate) access: Access,
    pub(crate) once: bool,
    /// The memory, if it can be mapped.
    pub(crate) shared: Option<Arc<SharedMemory>>,
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
            None => Ok(Declaration {
                layout,
                access,
                once: false,
                shared: None,
            }),
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
        Ok(Declaration {
            layout,
            access,
            once: false,
            shared: Some(memory.clone()),
        })
    }

    /// Makes the cookie end when one peer has transferred all bytes, from the first to the last.
    pub fn once(self) -> Self {
        Declaration { once: true, ..self }
    }
}
