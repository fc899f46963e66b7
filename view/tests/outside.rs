//! Client messages from untrusted peers, without a fuzzer. The test calls the same function as the
//! fuzz target.

#[path = "../../fuzz/src/requests.rs"]
mod requests;

use proptest::prelude::*;
use std::ops::Range;

/// Returns numbers for messages, as text. Most are within `sound`.
fn number(sound: Range<u64>) -> impl Strategy<Value = String> {
    prop_oneof![
        60 => sound.prop_map(|n| n.to_string()),
        1 => (0..12u64).prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => Just("-1".to_owned()),
        1 => Just("null".to_owned()),
    ]
}

/// Returns lists of mostly `count` numbers.
fn list(count: usize, sound: Range<u64>) -> impl Strategy<Value = String> {
    let count = prop_oneof![30 => Just(count), 1 => 0..=count + 1];
    let numbers =
        count.prop_flat_map(move |count| proptest::collection::vec(number(sound.clone()), count));
    numbers.prop_map(|all| format!("[{}]", all.join(",")))
}

/// Returns messages that are view requests, or nearly.
fn requests() -> impl Strategy<Value = String> {
    let parts = (
        number(0..2),
        list(2, 0..3),
        prop_oneof![list(3, 0..3), list(1, 0..9)],
        list(2, 0..4),
        list(2, 0..4),
        list(2, 1..9),
        number(0..3),
        prop_oneof![list(3, 0..3), list(1, 0..9)],
        number(1..9),
    );
    parts.prop_map(
        |(component, axes, at, rows, cols, pixels, axis, probe, volume)| {
            format!(
                r#"{{"type":"view","id":1,"field":"u",
            "component":{component},"volume":{volume},"probe":{probe},
            "slice":{{"axes":{axes},"at":{at},"rows":{rows},"cols":{cols},"pixels":{pixels}}},
            "line":{{"axis":{axis},"at":{at}}}}}"#
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn no_request_makes_the_server_panic_or_compute_more_than_asked_for(request in requests()) {
        requests::receive(request.as_bytes());
    }
}
