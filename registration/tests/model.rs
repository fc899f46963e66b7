//! Sequences of requests, releases and invalidations, beside a list of what must be registered.

mod common;

use common::pages;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tcasm_registration::{
    Following, GetError, Limits, Recording, Registration, RegistrationCache, Token,
};

/// Addresses that nothing is mapped at: a recording registrar does not look.
const BASE: usize = 1 << 40;

#[derive(Clone, Debug)]
enum Step {
    Get(usize, usize),
    Release(usize),
    Invalidate(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0usize..24, 1usize..8);
    let step = prop_oneof![
        4 => range.clone().prop_map(|(at, len)| Step::Get(at, len)),
        3 => any::<prop::sample::Index>().prop_map(|i| Step::Release(i.index(64))),
        1 => range.prop_map(|(at, len)| Step::Invalidate(at, len)),
    ];
    prop::collection::vec(step, 1..60)
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        Just(Limits::in_use()),
        Just(Limits::in_use_at_most(3, pages(20))),
        Just(Limits::keep()),
        Just(Limits::keep_at_most(3, pages(20))),
    ]
}

fn at(page: usize, count: usize) -> Range<usize> {
    BASE + pages(page)..BASE + pages(page + count)
}

struct World {
    cache: RegistrationCache<Recording>,
    limits: Limits,
    held: Vec<Registration<Recording>>,
    /// The ranges of all registrations so far, and those whose memory is gone.
    known: BTreeMap<Token, Range<usize>>,
    gone: BTreeSet<Token>,
}

impl World {
    fn new(limits: Limits) -> Self {
        let builder = RegistrationCache::builder(Recording::default());
        let builder = builder.limits(limits).following(Following::ByHand);
        World {
            cache: builder.build().unwrap(),
            limits,
            held: Vec::new(),
            known: BTreeMap::new(),
            gone: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Get(page, count) => self.get(&at(page, count)),
            Step::Release(_) if self.held.is_empty() => {}
            Step::Release(n) => drop(self.held.swap_remove(n % self.held.len())),
            Step::Invalidate(page, count) => self.invalidate(&at(page, count)),
        }
        self.check();
    }

    fn get(&mut self, range: &Range<usize>) {
        let got = match self.cache.get(range.start, range.len()) {
            Ok(got) => got,
            Err(GetError::Full { .. }) => {
                let bytes: usize = self
                    .cache
                    .registrar()
                    .live()
                    .values()
                    .map(|r| r.len())
                    .sum();
                let entries = self.cache.registrar().live().len();
                let fits = entries < self.limits.entries
                    && bytes.saturating_add(range.len()) <= self.limits.bytes;
                assert!(!fits, "there was room for {range:?}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let covered = got.range().start <= range.start && range.end <= got.range().end;
        assert!(covered, "{:?} for {range:?}", got.range());
        assert!(
            !self.gone.contains(got.handle()),
            "{:?} is stale",
            got.handle()
        );
        let known = self.known.entry(*got.handle()).or_insert(got.range());
        assert_eq!(*known, got.range());
        self.held.push(got);
    }

    fn invalidate(&mut self, range: &Range<usize>) {
        self.cache.invalidate(range.start, range.len()).unwrap();
        let touched = |own: &Range<usize>| own.start < range.end && range.start < own.end;
        let known = self.known.iter().filter(|(_, own)| touched(own));
        self.gone.extend(known.map(|(token, _)| *token));
    }

    fn check(&self) {
        let (live, stats) = (self.cache.registrar().live(), self.cache.stats());
        assert_eq!(stats.entries, live.len());
        assert_eq!(stats.bytes, live.values().map(|r| r.len()).sum::<usize>());
        assert!(stats.entries <= self.limits.entries && stats.bytes <= self.limits.bytes);
        let used: BTreeSet<Token> = self.held.iter().map(|held| *held.handle()).collect();
        assert_eq!(stats.unused, live.len() - used.len());
        for held in &self.held {
            assert!(
                live.contains_key(held.handle()),
                "{:?} is used",
                held.handle()
            );
            assert_eq!(held.is_current(), !self.gone.contains(held.handle()));
        }
        for unused in live.keys().filter(|token| !used.contains(token)) {
            assert!(self.limits.leave_pinned && !self.gone.contains(unused));
        }
    }
}

proptest! {
    #[test]
    fn a_cache_does_what_a_list_says(limits in limits(), steps in steps()) {
        let mut world = World::new(limits);
        for step in &steps {
            world.step(step);
        }
        world.held.clear();
        world.check();
    }
}
