//! The settings of a cache.

use crate::cache::RegistrationCache;
use crate::error::BuildError;
use crate::follow::Follower;
use crate::limits::Limits;
use crate::registrar::Registrar;

/// How a cache learns that memory is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Following {
    /// From the kernel, by events of userfaultfd.
    #[default]
    Kernel,
    /// From the program, which calls `invalidate` before memory that was registered can be mapped
    /// again. Every hit depends on that.
    ByHand,
}

/// Builds a [`RegistrationCache`].
#[derive(Debug)]
pub struct Builder<R> {
    registrar: R,
    limits: Limits,
    following: Following,
}

impl<R: Registrar> RegistrationCache<R> {
    /// Begins a cache with this registrar.
    pub fn builder(registrar: R) -> Builder<R> {
        Builder::new(registrar)
    }
}

impl<R: Registrar> Builder<R> {
    pub(crate) fn new(registrar: R) -> Self {
        Builder {
            registrar,
            limits: Limits::keep(),
            following: Following::Kernel,
        }
    }

    /// Sets what is kept, and how much. The default is [`Limits::keep`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how the cache learns that memory is gone.
    #[must_use]
    pub fn following(mut self, following: Following) -> Self {
        self.following = following;
        self
    }

    /// Builds the cache. If the address space cannot be followed, this fails for limits that keep
    /// unused registrations. With other limits every request is registered anew.
    pub fn build(self) -> Result<RegistrationCache<R>, BuildError> {
        let follower = match self.following {
            Following::ByHand => None,
            Following::Kernel => match Follower::shared() {
                Ok(follower) => Some(follower),
                Err(BuildError::NotFollowed(_)) if !self.limits.leave_pinned => None,
                Err(error) => return Err(error),
            },
        };
        let by_hand = self.following == Following::ByHand;
        RegistrationCache::start(self.registrar, self.limits, follower, by_hand)
    }
}
