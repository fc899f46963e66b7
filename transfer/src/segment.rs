//! Ranges of addresses, and lists of them.

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first address.
    pub addr: usize,
    /// The number of bytes.
    pub len: usize,
}

impl Segment {
    /// Returns the range of the bytes of `values`.
    pub fn of<T>(values: &[T]) -> Self {
        Segment {
            addr: values.as_ptr().expose_provenance(),
            len: size_of_val(values),
        }
    }

    /// Returns the range of bytes that the kernel will write.
    pub(crate) fn of_mut(bytes: &mut [u8]) -> Self {
        Segment {
            addr: bytes.as_mut_ptr().expose_provenance(),
            len: bytes.len(),
        }
    }

    /// Returns the segment with its address counted from `start`, which is not above it.
    pub(crate) fn after(self, start: usize) -> Self {
        Segment {
            addr: self.addr - start,
            ..self
        }
    }

    /// Returns the address after the last one, unless the segment wraps around.
    pub(crate) fn end(self) -> Option<usize> {
        self.addr.checked_add(self.len)
    }
}

/// Returns the number of bytes of segments that came from another process.
pub(crate) fn sum(list: &[Segment]) -> Option<u64> {
    let mut lens = list.iter().map(|segment| segment.len as u64);
    lens.try_fold(0u64, u64::checked_add)
}

/// Returns what is left of a list after its first `bytes` bytes.
pub(crate) fn after(list: &mut [Segment], mut bytes: usize) -> &mut [Segment] {
    let mut whole = 0;
    while whole < list.len() && list[whole].len <= bytes {
        bytes -= list[whole].len;
        whole += 1;
    }
    let left = &mut list[whole..];
    if let Some(first) = left.first_mut() {
        first.addr += bytes;
        first.len -= bytes;
    }
    left
}

/// Cuts a list into lists of `each` bytes. The last one may have fewer.
pub(crate) fn cut(list: &[Segment], each: usize) -> Vec<Vec<Segment>> {
    let (mut blocks, mut block, mut room) = (Vec::new(), Vec::new(), each);
    for segment in list {
        let mut rest = *segment;
        while rest.len > 0 {
            let part = Segment {
                len: rest.len.min(room),
                ..rest
            };
            block.push(part);
            rest.addr += part.len;
            rest.len -= part.len;
            room -= part.len;
            if room == 0 {
                blocks.push(std::mem::take(&mut block));
                room = each;
            }
        }
    }
    if !block.is_empty() {
        blocks.push(block);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(list: &[Segment]) -> Vec<usize> {
        let ranges = list.iter().map(|s| s.addr..s.addr + s.len);
        ranges.flatten().collect()
    }

    proptest! {
        #[test]
        fn blocks_and_rests_have_the_bytes_of_the_list_in_order(
            pairs in proptest::collection::vec((0usize..1000, 0usize..30), 0..20),
            each in 1usize..50,
            skip in 0usize..300,
        ) {
            let segment = |(addr, len): (usize, usize)| Segment { addr, len };
            let mut list: Vec<Segment> = pairs.into_iter().map(segment).collect();
            let all = bytes(&list);
            prop_assert_eq!(sum(&list), Some(all.len() as u64));
            let blocks: Vec<_> = cut(&list, each).iter().map(|b| bytes(b)).collect();
            let wanted: Vec<_> = all.chunks(each).map(<[usize]>::to_vec).collect();
            prop_assert_eq!(blocks, wanted);
            let skip = skip.min(all.len());
            prop_assert_eq!(bytes(after(&mut list, skip)), &all[skip..]);
        }
    }
}
