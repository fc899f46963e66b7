//! Checks that there is enough memory before a file is read into it.

use tcasm_core::sys::room;

/// The error that there is not enough memory for a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The number of bytes that are needed.
    pub need: u64,
    /// The number of bytes that are free.
    pub have: u64,
}

/// The number of bytes up to which no check is made.
const SMALL: u64 = 16 << 20;

/// Checks that there are `need` bytes of memory on the machine, in the control groups of this
/// process, and under the process's own limits.
pub fn check(need: u64) -> Result<(), TooLarge> {
    if need <= SMALL {
        return Ok(());
    }
    let bytes = usize::try_from(need).ok();
    let granted = || bytes.is_some_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    match room::shortage(need) {
        None if granted() => Ok(()),
        short => {
            let short = short.or_else(|| room::shortage(u64::MAX));
            let have = short.map_or(0, |room| room.bytes);
            Err(TooLarge { need, have })
        }
    }
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooLarge { need, have } = self;
        write!(
            f,
            "{need} bytes of memory are needed at once, but {have} are free"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_and_small_ones_are_not() {
        assert_eq!(check(1 << 20), Ok(()));
        assert_eq!(check(1 << 26), Ok(()));
        for need in [1 << 50, 1 << 62, u64::MAX] {
            assert_eq!(check(need).unwrap_err().need, need);
        }
    }
}
