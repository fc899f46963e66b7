//! Copies what a step leaves as it was, for methods where each step computes in other memory than
//! the step before.

use crate::workload::PAGE;

/// Copies all pages that the step will not rewrite.
pub fn carry_over(from: &[u8], to: &mut [u8], rewritten: &[usize]) {
    let mut start = 0;
    for end in rewritten.iter().map(|page| page * PAGE).chain([from.len()]) {
        let kept = start..end.max(start);
        to[kept.clone()].copy_from_slice(&from[kept]);
        start = end + PAGE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carry_over_copies_all_pages_but_those_that_are_rewritten() {
        let from = vec![7; 5 * PAGE];
        for rewritten in [&[][..], &[0], &[4], &[1, 2], &[0, 1, 2, 3, 4]] {
            let mut to = vec![0; from.len()];
            carry_over(&from, &mut to, rewritten);
            for page in 0..5 {
                let wanted = if rewritten.contains(&page) { 0 } else { 7 };
                let bytes = &to[page * PAGE..(page + 1) * PAGE];
                assert!(bytes.iter().all(|b| *b == wanted), "{rewritten:?} {page}");
            }
        }
    }
}
