//! Bytes that may be torn: read while their owner could write them.

use std::num::NonZeroU64;

/// What is known of bytes that [`Peer::read_either`](crate::Peer::read_either) has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the bytes of live memory can be torn"]
pub enum Consistency {
    /// They are all of the version with this number.
    Version(NonZeroU64),
    /// They are of live memory, and can be old and new ones in any mixture.
    MayBeTorn,
}

/// A value that was read from live memory. It can have old and new bytes, in any mixture.
#[derive(Debug)]
#[must_use = "the value can be used only after it is opened"]
pub struct Torn<T>(T);

impl<T> Torn<T> {
    pub(crate) fn new(value: T) -> Self {
        Torn(value)
    }

    /// Returns the value. The caller accepts that it may be torn, or knows that the owner did not
    /// write during the read.
    pub fn may_be_torn(self) -> T {
        self.0
    }

    /// Returns the value if `check` accepts it, for example by a sequence number before and behind
    /// the data. Otherwise returns the torn value as the error.
    pub fn checked(self, check: impl FnOnce(&T) -> bool) -> Result<T, Torn<T>> {
        match check(&self.0) {
            true => Ok(self.0),
            false => Err(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_opens_only_if_the_check_accepts_it() {
        let whole = |pair: &(u64, u64)| pair.0 == pair.1;
        assert_eq!(Torn::new((3, 3)).checked(whole).unwrap(), (3, 3));
        let torn = Torn::new((3, 4)).checked(whole).unwrap_err();
        assert_eq!(torn.may_be_torn(), (3, 4));
    }
}
