//! Memory of jemalloc, which gives memory back after 20 ms, given back and allocated again.

mod common;

use common::churn;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Read by jemalloc when it starts. Otherwise it keeps memory for 10 s.
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static SETTINGS: &[u8; 49] = b"dirty_decay_ms:20,muzzy_decay_ms:20,retain:false\0";

#[test]
fn memory_of_the_allocator_is_never_a_stale_hit() {
    churn::sees_no_stale_hit();
}

#[test]
fn without_following_there_are_stale_hits() {
    churn::sees_stale_hits_without_following();
}
