//! Memory that is given back and mapped again at the same address.

mod common;

use common::{
    attach_system_v, detach_system_v, empty, grow_data, map, map_at, map_over, move_and_stay,
    move_to, must_end, pages, set_data_end, unmap,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tcasm_registration::{
    Following, GetError, Limits, Memory, Recording, RegisterError, RegistrationCache, Token,
};

type Cache = RegistrationCache<Recording>;

fn cache(following: Following) -> Cache {
    let builder = RegistrationCache::builder(Recording::default());
    builder.following(following).build().unwrap()
}

fn touch(cache: &Cache, addr: usize, len: usize) -> Token {
    *cache.get(addr, len).unwrap().handle()
}

/// Checks that `change` ends the registration of four pages in the middle of six, whose memory it
/// gets. Afterwards the four pages must be mapped.
fn ends_by(change: impl Fn(usize)) {
    let cache = cache(Following::Kernel);
    let memory = map(pages(6));
    let at = memory + pages(1);
    let (before, held) = (
        touch(&cache, at, pages(4)),
        cache.get(at, pages(4)).unwrap(),
    );
    assert_eq!(*held.handle(), before);
    change(at);
    let after = touch(&cache, at, pages(4));
    assert_ne!(after, before, "the memory is not the same");
    assert!(!held.is_current());
    drop(held);
    assert_eq!(cache.registrar().ended(), [(before, Memory::Gone)]);
    assert_eq!(touch(&cache, at, pages(4)), after);
    unmap(memory, pages(6));
}

#[test]
fn memory_that_was_unmapped_and_mapped_again_is_no_hit() {
    ends_by(|at| {
        unmap(at, pages(4));
        assert!(map_at(&(at..at + pages(4))));
    });
}

#[test]
fn memory_that_was_mapped_over_is_no_hit() {
    ends_by(|at| map_over(at, pages(4)));
}

#[test]
fn memory_of_which_one_page_was_replaced_is_no_hit() {
    ends_by(|at| map_over(at + pages(2), pages(1)));
}

#[test]
fn memory_that_was_emptied_is_no_hit() {
    ends_by(|at| empty(at + pages(1), pages(1)));
}

#[test]
fn memory_that_was_moved_is_no_hit() {
    ends_by(|at| {
        let elsewhere = map(pages(4));
        move_to(at, pages(4), elsewhere);
        assert!(map_at(&(at..at + pages(4))));
        unmap(elsewhere, pages(4));
    });
}

#[test]
fn memory_that_was_moved_and_stays_mapped_is_no_hit() {
    ends_by(|at| {
        let elsewhere = map(pages(4));
        move_and_stay(at, pages(4), elsewhere);
        unmap(elsewhere, pages(4));
    });
}

#[test]
fn a_data_segment_that_shrank_and_grew_is_no_hit() {
    must_end(|| {
        let cache = cache(Following::Kernel);
        let end = grow_data(pages(5));
        let at = end.next_multiple_of(pages(1));
        let before = touch(&cache, at, pages(4));
        assert_eq!(touch(&cache, at, pages(4)), before);
        set_data_end(at);
        set_data_end(at + pages(4));
        assert_ne!(touch(&cache, at, pages(4)), before);
        drop(cache);
        set_data_end(end);
    });
}

#[test]
fn segments_of_system_v_are_never_hit_because_nothing_tells_that_they_go() {
    let cache = cache(Following::Kernel);
    let at = map(pages(4));
    unmap(at, pages(4));
    let attach = || attach_system_v(at, pages(4));
    attach();
    let before = touch(&cache, at, pages(4));
    detach_system_v(at);
    attach();
    assert_ne!(touch(&cache, at, pages(4)), before);
    assert_eq!((cache.stats().not_followed, cache.stats().entries), (2, 0));
    detach_system_v(at);
}

#[test]
fn a_range_with_a_hole_is_refused_whatever_the_device_says() {
    let (cache, memory) = (cache(Following::Kernel), map(pages(4)));
    let before = touch(&cache, memory, pages(1));
    unmap(memory + pages(2), pages(1));
    let error = cache.get(memory, pages(4)).unwrap_err();
    let hole = matches!(
        error,
        GetError::Register(RegisterError::Unmapped { hole, .. }) if hole == memory + pages(2)
    );
    assert!(hole, "{error}");
    assert!(matches!(
        cache.get(memory + pages(2), 1),
        Err(GetError::Register(RegisterError::Unmapped { .. }))
    ));
    let kept = touch(&cache, memory, pages(1));
    assert_eq!(kept, before, "a request that is none ends nothing");
    unmap(memory, pages(4));
}

#[test]
fn a_smaller_and_a_larger_mapping_at_the_same_address_are_no_hits() {
    let (cache, memory) = (cache(Following::Kernel), map(pages(8)));
    let mut seen = vec![touch(&cache, memory, pages(4))];
    for count in [2, 8, 1] {
        unmap(memory, pages(8));
        assert!(map_at(&(memory..memory + pages(8))));
        let token = touch(&cache, memory, pages(count));
        assert!(!seen.contains(&token), "{token:?} with {count} pages");
        seen.push(token);
    }
    unmap(memory, pages(8));
}

#[test]
fn neighbours_of_unmapped_memory_stay_registered() {
    let (cache, memory) = (cache(Following::Kernel), map(pages(6)));
    let (low, high) = (touch(&cache, memory, pages(2)), memory + pages(4));
    let high = (touch(&cache, high, pages(2)), high);
    unmap(memory + pages(2), pages(2));
    assert_eq!(touch(&cache, memory, pages(2)), low);
    assert_eq!(touch(&cache, high.1, pages(2)), high.0);
    unmap(memory, pages(6));
}

#[test]
fn a_registration_ends_with_its_mapping_though_nobody_calls_the_cache() {
    must_end(|| {
        let (cache, memory) = (cache(Following::Kernel), map(pages(2)));
        touch(&cache, memory, pages(2));
        unmap(memory, pages(2));
        while !cache.registrar().live().is_empty() {
            std::thread::yield_now();
        }
    });
}

#[test]
fn invalidated_memory_is_no_hit() {
    let (cache, memory) = (cache(Following::ByHand), map(pages(4)));
    let before = touch(&cache, memory, pages(4));
    assert_eq!(touch(&cache, memory, pages(4)), before);
    cache.invalidate(memory + pages(3), 1).unwrap();
    assert_ne!(touch(&cache, memory, pages(4)), before);
    unmap(memory, pages(4));
}

/// Lets threads map, register and unmap random parts of one range, and counts hits on
/// registrations of earlier mappings.
struct Storm {
    cache: Cache,
    arena: Range<usize>,
    mappings: AtomicU64,
    /// For which mapping a registration was first returned.
    first: Mutex<HashMap<Token, u64>>,
    stale: AtomicUsize,
    hits: AtomicUsize,
}

impl Storm {
    const THREADS: u64 = 4;
    const ROUNDS: usize = 4000;

    fn run(following: Following) -> Self {
        let arena = map(pages(24));
        unmap(arena, pages(24));
        let storm = Storm {
            cache: cache(following),
            arena: arena..arena + pages(24),
            mappings: AtomicU64::new(0),
            first: Mutex::default(),
            stale: AtomicUsize::new(0),
            hits: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            for seed in 1..=Storm::THREADS {
                let storm = &storm;
                scope.spawn(move || storm.thread(seed));
            }
        });
        storm
    }

    fn thread(&self, seed: u64) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % below
        };
        for _ in 0..Storm::ROUNDS {
            let len = pages(1 + random(6));
            let start = self.arena.start + pages(random(18));
            let range = start..start + len;
            if map_at(&range) {
                self.mapped(&range, &mut random);
                unmap(range.start, range.len());
            }
        }
    }

    fn mapped(&self, range: &Range<usize>, random: &mut impl FnMut(usize) -> usize) {
        let mapping = self.mappings.fetch_add(1, Ordering::Relaxed);
        for _ in 0..3 {
            let part = pages(random(range.len() / pages(1)));
            let got = match self.cache.get(range.start + part, range.len() - part) {
                Ok(got) => got,
                // A change of earlier memory there was seen late.
                Err(GetError::Changed { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            let mut first = self.first.lock().unwrap();
            let known = first.insert(*got.handle(), mapping);
            match known {
                Some(earlier) if earlier != mapping => {
                    self.stale.fetch_add(1, Ordering::Relaxed);
                }
                Some(_) => {
                    self.hits.fetch_add(1, Ordering::Relaxed);
                }
                None => {}
            }
        }
    }
}

#[test]
fn threads_that_map_and_unmap_the_same_addresses_see_no_stale_hit() {
    must_end(|| {
        let storm = Storm::run(Following::Kernel);
        assert_eq!(storm.stale.into_inner(), 0, "stale hits");
        assert!(storm.hits.into_inner() > 0, "nothing was ever hit");
    });
}

#[test]
fn without_following_the_same_threads_see_stale_hits() {
    must_end(|| {
        let storm = Storm::run(Following::ByHand);
        assert!(
            storm.stale.into_inner() > 0,
            "the test above could not see one"
        );
    });
}

#[test]
fn limits_that_keep_nothing_have_no_stale_hits_either() {
    let builder = RegistrationCache::builder(Recording::default());
    let cache = builder.limits(Limits::in_use()).build().unwrap();
    let memory = map(pages(2));
    let held = cache.get(memory, pages(2)).unwrap();
    map_over(memory, pages(2));
    let again = cache.get(memory, pages(2)).unwrap();
    assert_ne!(held.handle(), again.handle());
    assert!(again.is_current() && !held.is_current());
    drop((held, again));
    unmap(memory, pages(2));
}

#[test]
fn a_registration_that_ends_when_it_is_released_knows_that_its_memory_is_gone() {
    let builder = RegistrationCache::builder(Recording::default());
    let cache = builder.limits(Limits::in_use()).build().unwrap();
    for _ in 0..200 {
        let memory = map(pages(2));
        let held = cache.get(memory, pages(2)).unwrap();
        unmap(memory, pages(2));
        drop(held);
    }
    let ended = cache.registrar().ended();
    assert_eq!(ended.len(), 200);
    assert!(
        ended.iter().all(|(_, memory)| *memory == Memory::Gone),
        "{ended:?}"
    );
}
