//! Bytes from outside, without a fuzzer. The tests call the same functions as the fuzz targets, for
//! a few seconds.

#[path = "../../fuzz/src/checkpoints.rs"]
mod checkpoints;

use checkpoints::{read_checkpoint, read_manifest};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use tcasm_tests::outside::{decode_messages, decode_transfers, read_index, sound_index};
use tcasm_tests::pattern::mix;

/// Returns how long each test runs: `TCASM_FUZZ_SECONDS` seconds, or a few.
fn duration() -> Duration {
    let seconds = std::env::var("TCASM_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(3.0))
}

/// Returns bytes that look random and are the same each time.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).flat_map(|i| mix(seed, i, 1).to_le_bytes());
    words.take(len).collect()
}

fn run(read: fn(&[u8]), kinds: std::ops::RangeInclusive<u8>, len: usize) {
    let (end, mut seed) = (Instant::now() + duration(), 0);
    while Instant::now() < end {
        let mut data = bytes(seed, 1 + seed as usize * 7 % len);
        data[0] = kinds.start() + data[0] % (kinds.end() - kinds.start() + 1);
        // A panic does not show the data, so print how to make it again.
        let survived = std::panic::catch_unwind(|| read(&data));
        assert!(
            survived.is_ok(),
            "bytes({seed}, {}) as kind {}",
            data.len(),
            data[0]
        );
        seed += 1;
    }
}

#[test]
fn fuzz_a_damaged_index_never_panics() {
    run(read_index, 2..=2, 400);
}

#[test]
fn fuzz_any_bytes_as_an_index_never_panic() {
    run(read_index, 0..=0, 20_000);
    run(read_index, 1..=1, 20_000);
}

#[test]
fn fuzz_any_bytes_as_messages_of_host_buffers_never_panic() {
    // Maps, lists, texts and bytes.
    run(tcasm_hostbuffer::decode_any, 0x80..=0xff, 300);
}

#[test]
fn fuzz_any_bytes_as_a_manifest_never_panic() {
    run(read_manifest, 0..=2, 300);
}

#[test]
fn fuzz_damaged_files_of_checkpoints_give_errors_or_what_was_written() {
    run(read_checkpoint, 0..=254, 30);
}

#[test]
fn fuzz_a_sound_index_with_flipped_bits_never_panics() {
    let sound = sound_index();
    let (end, mut i) = (Instant::now() + duration(), 0u64);
    while Instant::now() < end {
        let at = (mix(i, 1, 2) as usize % sound.len()) as u32;
        let mut data = vec![2];
        data.extend(((at << 1) | 1).to_le_bytes());
        data.extend((mix(i, 3, 4) as u16).to_le_bytes());
        read_index(&data);
        i += 1;
    }
}

proptest! {
    #[test]
    fn fuzz_any_bytes_as_a_message_never_panic(
        data in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        decode_messages(&data);
        decode_transfers(&data);
    }

    #[test]
    fn fuzz_messages_of_transfers_with_any_words_never_panic(
        numbers in proptest::collection::vec(prop_oneof![0u64..8, any::<u64>()], 5..12),
    ) {
        let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        decode_transfers(&data);
    }

    #[test]
    fn fuzz_lists_of_any_numbers_never_panic(
        numbers in proptest::collection::vec(prop_oneof![0u64..5, any::<u64>()], 0..50),
    ) {
        let data: Vec<u8> = [2]
            .iter()
            .chain(&numbers)
            .flat_map(|n: &u64| n.to_le_bytes())
            .collect();
        decode_messages(&data);
    }
}
