//! Memory for what a file asks: never more than there is.

use tcasm_core::sys::room;

/// Memory for a part of a file that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes that were asked for.
    pub need: u64,
    /// Bytes that there are.
    pub have: u64,
}

/// So few bytes are not worth a look.
const SMALL: u64 = 16 << 20;

/// Checks that there is memory for `need` bytes, on the machine, in the control groups of this
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
            "{need} bytes of memory are needed at once, {have} are free"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_and_what_every_one_has_is_not() {
        assert_eq!(check(1 << 20), Ok(()));
        assert_eq!(check(1 << 26), Ok(()));
        for need in [1 << 50, 1 << 62, u64::MAX] {
            assert_eq!(check(need).unwrap_err().need, need);
        }
    }
}
