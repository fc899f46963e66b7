//! Tiers that several threads share.

use super::open::Tier;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A tier that several threads share.
pub type Shared = Arc<Mutex<Tier>>;

/// Locks `tier`. The lock is taken even if a thread panicked while holding it, because the tier is
/// then still what the disk says.
pub fn lock(tier: &Shared) -> MutexGuard<'_, Tier> {
    tier.lock().unwrap_or_else(PoisonError::into_inner)
}
