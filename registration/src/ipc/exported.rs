//! The description of exported memory, as it is sent to another process.

use crate::ipc::error::DecodeError;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

/// The size of a handle of the driver.
pub(crate) const HANDLE: usize = 64;

/// The first bytes of each description, with the version of its layout.
const MAGIC: &[u8; 8] = b"TCASMIP1";

/// One allocation of one process, which no other allocation of any process equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A random number of the process.
    pub process: [u8; 16],
    /// The handle of the driver, which has a new one for each allocation.
    pub handle: [u8; HANDLE],
    /// The number of the allocation in its process (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub buffer: u64,
}

/// A range of device memory that its owner has exported.
///
/// The owner must not free the memory as long as another process has it opened: the driver does not
/// define what happens then. It may send the same value again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    identity: Identity,
    /// The addresses of the whole allocation in the owner.
    allocation: Range<usize>,
    /// The addresses that were exported, which are in the allocation.
    wanted: Range<usize>,
}

impl Exported {
    /// The number of bytes of a description.
    pub const BYTES: usize = MAGIC.len() + 16 + HANDLE + 5 * 8;

    /// `wanted` must be in the allocation, and not empty.
    pub(crate) fn new(
        identity: Identity,
        allocation: Range<usize>,
        wanted: Range<usize>,
    ) -> Exported {
        Exported {
            identity,
            allocation,
            wanted,
        }
    }

    /// Returns the bytes, to send them.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let numbers = [
            self.identity.buffer,
            self.base(),
            self.allocation.len() as u64,
            self.wanted.start as u64,
            self.wanted.len() as u64,
        ];
        let mut bytes = [0; Self::BYTES];
        let mut rest = &mut bytes[..];
        let parts: [&[u8]; 3] = [MAGIC, &self.identity.process, &self.identity.handle];
        let numbers = numbers.map(u64::to_le_bytes);
        for part in parts.into_iter().chain(numbers.iter().map(|n| &n[..])) {
            let (place, after) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = after;
        }
        bytes
    }

    /// Reads bytes of another process. They need not be right: the driver checks the handle. But
    /// the peer is believed the length of its allocation.
    pub fn from_bytes(bytes: &[u8]) -> Result<Exported, DecodeError> {
        let wrong_length = DecodeError::Length {
            expected: Self::BYTES,
            found: bytes.len(),
        };
        if bytes.len() != Self::BYTES {
            return Err(wrong_length);
        }
        let mut rest = bytes;
        let (Some(magic), Some(process), Some(handle)) =
            (take(&mut rest), take(&mut rest), take(&mut rest))
        else {
            return Err(wrong_length);
        };
        if magic != *MAGIC {
            return Err(DecodeError::Unknown);
        }
        let mut number = || take(&mut rest).map_or(0, u64::from_le_bytes);
        let [buffer, base, allocated, address, len] = std::array::from_fn(|_| number());
        let identity = Identity {
            process,
            handle,
            buffer,
        };
        let ranges = span(base, allocated).zip(span(address, len));
        let inside = ranges.filter(|(all, own)| all.start <= own.start && own.end <= all.end);
        let (allocation, wanted) = inside.ok_or(DecodeError::Range {
            address,
            len,
            base,
            allocated,
        })?;
        Ok(Exported::new(identity, allocation, wanted))
    }

    /// Returns the bytes of the handle, which `cuIpcOpenMemHandle` takes.
    pub fn handle(&self) -> &[u8; HANDLE] {
        &self.identity.handle
    }

    /// Returns the number that the owner's driver has given the allocation.
    pub fn buffer_id(&self) -> u64 {
        self.identity.buffer
    }

    /// Returns the first address of the allocation in the owner.
    pub fn base(&self) -> u64 {
        self.allocation.start as u64
    }

    /// Returns the number of bytes of the allocation.
    pub fn allocated(&self) -> usize {
        self.allocation.len()
    }

    /// Returns the first exported address in the owner.
    pub fn address(&self) -> u64 {
        self.wanted.start as u64
    }

    /// Returns the number of exported bytes, which is not 0.
    pub fn bytes(&self) -> usize {
        self.wanted.len()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn allocation(&self) -> &Range<usize> {
        &self.allocation
    }

    /// Returns true if this process has exported it.
    pub(crate) fn is_own(&self) -> bool {
        OWN.get() == Some(&self.identity.process)
    }
}

/// Takes the first bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

/// Returns the addresses, unless there are none or they end beyond the last one.
pub(crate) fn span(address: u64, len: u64) -> Option<Range<usize>> {
    let end = usize::try_from(address.checked_add(len)?).ok()?;
    let start = usize::try_from(address).ok()?;
    (len > 0).then_some(start..end)
}

/// The random number of this process, once it has exported memory. A forked child has the same one
/// and cannot use CUDA.
static OWN: OnceLock<[u8; 16]> = OnceLock::new();

/// Returns the random number of this process.
pub(crate) fn own_process() -> io::Result<[u8; 16]> {
    if let Some(own) = OWN.get() {
        return Ok(*own);
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(*OWN.get_or_init(|| bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exported(start: u64, len: u64, from: u64, bytes: u64) -> Exported {
        let identity = Identity {
            process: [7; 16],
            handle: std::array::from_fn(|i| i as u8),
            buffer: u64::MAX - 3,
        };
        let allocation = span(start, len).unwrap();
        Exported::new(identity, allocation, span(start + from, bytes).unwrap())
    }

    #[test]
    fn descriptions_are_read_back() {
        let sent = exported(0x7f00_0000_0000, 1 << 21, 300, 1 << 20);
        assert_eq!(Exported::from_bytes(&sent.to_bytes()), Ok(sent.clone()));
        assert_eq!((sent.address(), sent.bytes()), (0x7f00_0000_012c, 1 << 20));
        assert_eq!((sent.base(), sent.allocated()), (0x7f00_0000_0000, 1 << 21));
    }

    #[test]
    fn bytes_that_describe_no_memory_are_refused() {
        let bytes = exported(4096, 100, 10, 90).to_bytes();
        let short = Exported::from_bytes(&bytes[1..]);
        assert!(matches!(short, Err(DecodeError::Length { found: 127, .. })));
        let mut other = bytes;
        other[7] = b'2';
        assert_eq!(Exported::from_bytes(&other), Err(DecodeError::Unknown));
        // One byte beyond the end, none at all, before the beginning, and round the end.
        let changes = [(120, 91), (120, 0), (112, 4095), (96, u64::MAX), (104, 0)];
        for (at, value) in changes {
            let mut wrong = bytes;
            wrong[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let read = Exported::from_bytes(&wrong);
            let refused = matches!(read, Err(DecodeError::Range { .. }));
            assert!(refused, "{at} {value}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_lies_in_its_allocation(
            mut bytes in prop::collection::vec(any::<u8>(), Exported::BYTES),
            small in any::<[u8; 5]>(),
        ) {
            bytes[..8].copy_from_slice(MAGIC);
            // Small numbers, so that many of them fit.
            for (i, low) in small.into_iter().enumerate() {
                bytes[88 + 8 * i..96 + 8 * i].copy_from_slice(&u64::from(low).to_le_bytes());
            }
            if let Ok(read) = Exported::from_bytes(&bytes) {
                let end = read.address() as usize + read.bytes();
                prop_assert!(read.base() <= read.address() && read.bytes() > 0);
                prop_assert!(end <= read.base() as usize + read.allocated());
                prop_assert_eq!(&read.to_bytes()[..], &bytes[..]);
            }
        }
    }
}
