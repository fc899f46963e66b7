//! Cookies: the random numbers by which peers name a declaration.

use std::fmt;
use std::io;
use std::str::FromStr;
use thiserror::Error;

/// The name of a declaration, and the right to use it: 128 random bits. Its text has 32
/// hexadecimal digits. Who knows it can use it, so it is not part of debug output.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; 16]);

impl Cookie {
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Cookie(bytes))
    }

    /// Returns the cookie with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Cookie(bytes)
    }

    /// Returns the bytes, to send them.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// The error for a text that is not a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a cookie has 32 hexadecimal digits; this text has {0} characters, or others than digits")]
pub struct BadCookie(usize);

impl FromStr for Cookie {
    type Err = BadCookie;

    fn from_str(text: &str) -> Result<Self, BadCookie> {
        let bad = || BadCookie(text.chars().count());
        // A sign would be accepted as a part of a number.
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| bad())?;
        Ok(Cookie(number.to_be_bytes()))
    }
}

/// The access of peers to a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Peers read.
    Read,
    /// Peers write.
    Write,
    /// Peers read and write.
    ReadWrite,
}

impl Access {
    /// Returns true if peers may read.
    pub fn reads(self) -> bool {
        self != Access::Write
    }

    /// Returns true if peers may write.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_cookie_is_read_back_and_other_texts_are_refused() {
        let cookie = Cookie::random().unwrap();
        assert_eq!(cookie.to_string().parse(), Ok(cookie));
        assert_ne!(cookie, Cookie::random().unwrap());
        let long = "0".repeat(33);
        for bad in ["", "12", "+123456789012345678901234567890ff", long.as_str()] {
            assert!(bad.parse::<Cookie>().is_err(), "{bad}");
        }
        assert!(!format!("{cookie:?}").contains(&cookie.to_string()));
    }
}
