//! Memory of the C library, given back and allocated again.

mod common;

use common::churn;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: System = System;

#[test]
fn memory_of_the_allocator_is_never_a_stale_hit() {
    churn::sees_no_stale_hit();
}

#[test]
fn without_following_there_are_stale_hits() {
    churn::sees_stale_hits_without_following();
}
