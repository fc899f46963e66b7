//! Properties of offers.

use super::*;
use crate::regions::Span;
use proptest::prelude::*;

/// Arbitrary steps, near each other so that sets have some in common.
fn steps<const N: usize>() -> impl Strategy<Value = Steps<N>> {
    let some = proptest::collection::vec(0..40u64, 0..50).prop_map(Steps::greatest);
    prop_oneof![9 => some, 1 => Just(Steps::ALL)]
}

fn span() -> impl Strategy<Value = Span> {
    proptest::collection::vec(0..9u64, 0..3).prop_map(Span::from_iter)
}

fn offer() -> impl Strategy<Value = Offer> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    let spans = (span(), span(), span());
    let parts = (numbers, spans, steps(), steps());
    parts.prop_map(|(numbers, spans, held, prepared)| Offer {
        present: numbers.0,
        marks: numbers.1,
        ranks: spans.0,
        run: spans.1,
        newest: spans.2,
        wishes: numbers.2,
        held,
        prepared,
    })
}

fn merged(one: &OfferBytes, other: &OfferBytes) -> OfferBytes {
    let mut into = *other;
    merge_bytes(one, &mut into);
    into
}

proptest! {
    #[test]
    fn merging_is_commutative_and_associative_and_has_an_identity(
        a in offer(), b in offer(), c in offer()
    ) {
        let merge = |one: &Offer, other: &Offer| one.clone().merge(other);
        prop_assert_eq!(merge(&a, &b), merge(&b, &a));
        prop_assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
        prop_assert_eq!(merge(&a, &Offer::NOTHING), a.clone());
        prop_assert_eq!(merge(&Offer::NOTHING, &a), a);
    }

    #[test]
    fn merged_offer_says_what_all_offers_say(offers in proptest::collection::vec(offer(), 1..6)) {
        let all = offers.iter().fold(Offer::NOTHING, Offer::merge);
        let of = |get: fn(&Offer) -> Span| offers.iter().map(get).filter(|span| !span.is_empty());
        let least = |get| of(get).map(|span| span.min).min().unwrap_or(u64::MAX);
        let most = |get| of(get).map(|span| span.max).max().unwrap_or(0);
        for get in [|o: &Offer| o.run, |o| o.ranks, |o| o.newest] as [fn(&Offer) -> Span; 3] {
            prop_assert_eq!(get(&all), Span { min: least(get), max: most(get) });
        }
        for step in 0..40 {
            let lists = |o: &Offer| o.held.list().is_none() || o.held.lists(step);
            let somewhere = offers.iter().any(|o| o.held.lists(step));
            prop_assert_eq!(all.held.lists(step), somewhere && offers.iter().all(lists));
        }
        let present = offers.iter().fold(0u64, |sum, o| sum.wrapping_add(o.present));
        prop_assert_eq!(all.present, present);
        prop_assert_eq!(all.wishes, offers.iter().fold(0, |all, o| all | o.wishes));
    }

    #[test]
    fn bytes_are_merged_as_offers_are(a in offer(), b in offer()) {
        let (one, other) = (a.encode(), b.encode());
        prop_assert_eq!(Offer::decode(&one), Ok(a.clone()));
        let both = a.merge(&b);
        prop_assert_eq!(Offer::decode(&merged(&one, &other)), Ok(both));
    }

    #[test]
    fn bytes_that_are_no_offer_spoil_the_result_in_any_order(
        a in offer(), b in offer(), at in 0..OFFER_BYTES, value in any::<u8>()
    ) {
        let (good, third) = (a.encode(), b.encode());
        let mut bad = good;
        bad[at] = value;
        let spoilt = Offer::decode(&bad).is_err();
        let results = [
            merged(&merged(&bad, &good), &third),
            merged(&bad, &merged(&good, &third)),
            merged(&good, &merged(&third, &bad)),
        ];
        for result in results {
            prop_assert_eq!(Offer::decode(&result).is_err(), spoilt);
            prop_assert_eq!(result, results[0]);
        }
    }
}

#[test]
fn bytes_are_laid_out_as_documented() {
    assert_eq!(OFFER_BYTES, 480);
    let offer = Offer {
        present: 0x11,
        marks: 0x22,
        ranks: Span {
            min: 0x33,
            max: 0x34,
        },
        run: Span {
            min: 0x35,
            max: 0x36,
        },
        newest: Span {
            min: 0x37,
            max: 0x38,
        },
        wishes: 0x44,
        held: Steps::greatest([0x55, 0x56]),
        prepared: Steps::greatest([0x66]),
    };
    let bytes = offer.encode();
    let number = |at: usize| bytes[at];
    let found = [
        0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 344, 352, 360,
    ]
    .map(number);
    let expected = [
        1, 0x11, 0x22, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x44, 2, 0x55, 0x56, 0, 1, 0x66, 0,
    ];
    assert_eq!(found, expected);
    assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 15);
    let all = Offer::NOTHING.encode();
    assert_eq!(
        (&all[80..88], &all[344..352]),
        (&[0xff; 8][..], &[0xff; 8][..])
    );
}

#[test]
fn other_formats_and_lists_that_do_not_ascend_are_refused() {
    let good = Offer {
        held: Steps::greatest([3, 4]),
        ..Offer::NOTHING
    }
    .encode();
    let with = |at: usize, value: u8| {
        let mut bytes = good;
        bytes[at] = value;
        Offer::decode(&bytes)
    };
    assert_eq!(with(0, 2), Err(BadOffer::Format { found: 2 }));
    assert_eq!(with(80, 33), Err(BadOffer::Steps { count: 33 }));
    assert_eq!(with(96, 3), Err(BadOffer::Steps { count: 2 }));
    assert!(with(96, 5).is_ok());
}
