//! The permissions of new files.

use std::str::FromStr;

/// The permission bits of new files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At most these bits: the umask of the process takes away more.
    AtMost(u32),
    /// Exactly these bits. The umask has no effect.
    Exactly(u32),
}

impl Mode {
    /// Only the owner may read and write, as with regions. This is the default.
    pub const PRIVATE: Mode = Mode::AtMost(0o600);
    /// The umask decides, as for files that other programs create.
    pub const USUAL: Mode = Mode::AtMost(0o666);

    /// Returns the bits that a file is created with.
    pub(crate) fn at_creation(self) -> u32 {
        match self {
            Mode::AtMost(bits) => bits & 0o666,
            // No other user may open the file before it has its final bits.
            Mode::Exactly(bits) => bits & 0o600,
        }
    }

    /// Returns the bits of a folder. Users who may read the files in it may also enter it.
    pub(crate) fn of_folder(self) -> u32 {
        let (Mode::AtMost(bits) | Mode::Exactly(bits)) = self;
        bits | (bits & 0o444) >> 2
    }
}

impl Default for Mode {
    fn default() -> Self {
        Mode::PRIVATE
    }
}

impl FromStr for Mode {
    type Err = String;

    /// Reads exact bits, written in octal as for `chmod`.
    fn from_str(text: &str) -> Result<Self, String> {
        let bits = u32::from_str_radix(text, 8).ok();
        let usable = |bits: &u32| bits & 0o600 == 0o600 && bits & !0o666 == 0;
        bits.filter(usable).map(Mode::Exactly).ok_or_else(|| {
            "write octal permissions of files that the owner may read and write, such as 0640"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_text_becomes_exact_bits() {
        assert_eq!("0640".parse(), Ok(Mode::Exactly(0o640)));
        assert_eq!("644".parse(), Ok(Mode::Exactly(0o644)));
        for bad in ["", "0440", "0755", "1777", "0o640", "u+r", "-1", "8"] {
            assert!(bad.parse::<Mode>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn folders_can_be_entered_by_readers() {
        assert_eq!(Mode::Exactly(0o640).of_folder(), 0o750);
        assert_eq!(Mode::USUAL.of_folder(), 0o777);
        assert_eq!(Mode::PRIVATE.of_folder(), 0o700);
    }
}
