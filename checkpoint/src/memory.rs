//! Memory for what a file asks: never more than there is.

use std::fs;

/// Memory for a part of a file that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes that were asked for.
    pub need: u64,
    /// Bytes that there are.
    pub have: u64,
}

/// Checks that there is memory for `need` bytes.
pub fn check(need: u64) -> Result<(), TooLarge> {
    let have = available();
    // Also where the process may not have as much as there is.
    let granted = || {
        let bytes = usize::try_from(need).ok();
        bytes.is_some_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok())
    };
    match need <= SMALL || (need <= have && granted()) {
        true => Ok(()),
        false => Err(TooLarge { need, have }),
    }
}

/// So few bytes are not worth a look.
const SMALL: u64 = 16 << 20;

/// Returns the bytes that can be had without harm to others; all, where the system does not tell.
fn available() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| kilobytes(&text, "MemAvailable:"));
    let of_group = group_headroom();
    machine
        .unwrap_or(u64::MAX)
        .min(of_group.unwrap_or(u64::MAX))
}

/// The number of bytes in the line of `/proc/meminfo` that begins with `name`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Bytes that the control group of this process may still take, where it has a limit.
fn group_headroom() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |file: &str| -> Option<u64> {
        let path = format!("/sys/fs/cgroup/{group}/{file}");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    // Without a limit this is no number, but "max". What is cached gives way.
    let cached = || {
        let stat = fs::read_to_string(format!("/sys/fs/cgroup/{group}/memory.stat")).ok()?;
        let line = stat.lines().find_map(|line| line.strip_prefix("file "))?;
        line.parse::<u64>().ok()
    };
    let used = number("memory.current")?.saturating_sub(cached().unwrap_or_default());
    Some(number("memory.max")?.saturating_sub(used))
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

    #[test]
    fn the_line_of_memory_is_found_by_its_name() {
        let text = "MemTotal:       16 kB\nMemFree:         8 kB\nMemAvailable:   12 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(12 << 10));
        assert_eq!(kilobytes(text, "SwapFree:"), None);
    }
}
