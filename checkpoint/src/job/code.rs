//! Computes parity, and data from parity, for one piece of a stripe.

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

/// Returns `parities` pieces of parity of these pieces of data, which all have the same even
/// length. The first of one is their exclusive or.
pub fn encode(data: &[Vec<u8>], parities: usize) -> Result<Vec<Vec<u8>>, String> {
    if parities == 1 {
        return Ok(vec![xor(data.iter())]);
    }
    let length = data.first().map_or(0, Vec::len);
    let mut encoder = ReedSolomonEncoder::new(data.len(), parities, length).map_err(text)?;
    for piece in data {
        encoder.add_original_shard(piece).map_err(text)?;
    }
    let encoded = encoder.encode().map_err(text)?;
    Ok(encoded.recovery_iter().map(<[u8]>::to_vec).collect())
}

/// Returns all pieces of data, of which those that are `None` are computed from the pieces of
/// parity that are there.
pub fn decode(
    data: Vec<Option<Vec<u8>>>,
    parity: Vec<Option<Vec<u8>>>,
) -> Result<Vec<Vec<u8>>, String> {
    let lost: Vec<usize> = (0..data.len()).filter(|i| data[*i].is_none()).collect();
    let computed = match (&lost[..], &parity[..]) {
        ([], _) => Vec::new(),
        ([_], [Some(parity)]) => vec![xor(data.iter().flatten().chain([parity]))],
        _ => decode_several(&data, &parity, &lost)?,
    };
    let mut computed = computed.into_iter();
    let all = data
        .into_iter()
        .map(|piece| piece.or_else(|| computed.next()));
    let all: Option<Vec<_>> = all.collect();
    all.ok_or_else(|| "too few pieces are there".to_owned())
}

/// Returns the pieces of data with the numbers `lost`.
fn decode_several(
    data: &[Option<Vec<u8>>],
    parity: &[Option<Vec<u8>>],
    lost: &[usize],
) -> Result<Vec<Vec<u8>>, String> {
    let length = data.iter().chain(parity).flatten().map(Vec::len).next();
    let length = length.ok_or("no piece is there")?;
    let mut decoder = ReedSolomonDecoder::new(data.len(), parity.len(), length).map_err(text)?;
    for (i, piece) in data.iter().enumerate() {
        if let Some(piece) = piece {
            decoder.add_original_shard(i, piece).map_err(text)?;
        }
    }
    for (i, piece) in parity.iter().enumerate() {
        if let Some(piece) = piece {
            decoder.add_recovery_shard(i, piece).map_err(text)?;
        }
    }
    let decoded = decoder.decode().map_err(text)?;
    let restored = |i: &usize| decoded.restored_original(*i).map(<[u8]>::to_vec);
    let all: Option<Vec<_>> = lost.iter().map(restored).collect();
    all.ok_or_else(|| "a piece was not computed".to_owned())
}

fn xor<'p>(mut pieces: impl Iterator<Item = &'p Vec<u8>>) -> Vec<u8> {
    let mut sum = pieces.next().cloned().unwrap_or_default();
    for piece in pieces {
        sum.iter_mut().zip(piece).for_each(|(a, b)| *a ^= b);
    }
    sum
}

fn text(error: reed_solomon_simd::Error) -> String {
    format!("Reed-Solomon: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(count: usize, length: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), length), count)
    }

    proptest! {
        #[test]
        fn lost_pieces_are_computed_from_the_others(
            data in (1..8_usize, 1..5_usize).prop_flat_map(|(n, len)| pieces(n, 64 * len)),
            parities in 1..3_usize,
            lost in any::<[prop::sample::Index; 2]>(),
            only in prop::option::of(0..2_usize),
        ) {
            let parity = encode(&data, parities).unwrap();
            let mut parity: Vec<_> = parity.into_iter().map(Some).collect();
            let mut left: Vec<_> = data.iter().cloned().map(Some).collect();
            // One piece of parity may be lost instead of one of data.
            let count = match only {
                Some(i) if parities == 2 => { parity[i] = None; 1 }
                _ => parities,
            };
            for index in &lost[..count] {
                left[index.index(data.len())] = None;
            }
            prop_assert_eq!(decode(left, parity).unwrap(), data);
        }

        #[test]
        fn parity_of_changes_added_to_old_parity_is_parity_from_scratch(
            old in pieces(5, 128),
            new in pieces(5, 128),
            parities in 1..3_usize,
        ) {
            let add = |(a, b): (&Vec<u8>, &Vec<u8>)| xor([a, b].into_iter());
            let changes: Vec<_> = old.iter().zip(&new).map(add).collect();
            let old = encode(&old, parities).unwrap();
            let changes = encode(&changes, parities).unwrap();
            let updated: Vec<_> = old.iter().zip(&changes).map(add).collect();
            prop_assert_eq!(updated, encode(&new, parities).unwrap());
        }
    }

    #[test]
    fn too_many_losses_are_an_error() {
        let data = vec![vec![1; 64], vec![2; 64], vec![3; 64]];
        for parities in [1, 2] {
            let parity = encode(&data, parities).unwrap();
            let parity: Vec<_> = parity.into_iter().map(Some).collect();
            let mut left: Vec<_> = data.iter().cloned().map(Some).collect();
            left.iter_mut()
                .take(parities + 1)
                .for_each(|piece| *piece = None);
            assert!(decode(left, parity).is_err());
        }
    }
}
