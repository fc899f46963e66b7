//! Memory of mimalloc, given back and allocated again.

mod common;

use common::churn;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[test]
fn memory_of_the_allocator_is_never_a_stale_hit() {
    churn::sees_no_stale_hit();
}

#[test]
fn without_following_there_are_stale_hits() {
    churn::sees_stale_hits_without_following();
}
