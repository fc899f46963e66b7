//! Lines of text with a checksum: `#` and the xxh3 (16 hexadecimal digits) of the JSON before it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_64;

/// Returns `value` as a line with its checksum.
pub fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    let sum = xxh3_64(&line);
    writeln!(line, "#{sum:016x}")?;
    Ok(line)
}

/// Returns the value in `line`, or `None` if the line is damaged, or has another value.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(text(line)?).ok()
}

/// Returns the JSON in `line`, or `None` if the line is damaged.
pub fn text(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n")?;
    let (text, sum) = line.split_at_checked(line.len().checked_sub(17)?)?;
    let sum = std::str::from_utf8(sum.strip_prefix(b"#")?).ok()?;
    let same = u64::from_str_radix(sum, 16).ok()? == xxh3_64(text);
    same.then_some(text)
}
