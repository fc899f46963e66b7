//! The secret that the hosts of a job and their rendezvous share.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The fewest bytes of a secret.
const FEWEST: usize = 16;

/// A shared secret. It is not shown by `Debug`.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes at least 16 random bytes.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        match bytes.len() >= FEWEST {
            true => Ok(Secret(bytes.to_vec())),
            false => Err(io::Error::other(format!(
                "a secret of {} bytes is too short; use at least {FEWEST} random ones",
                bytes.len()
            ))),
        }
    }

    /// Reads a secret from a file, without white space at its ends. Other users must not be able to
    /// read the file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let status = file.metadata()?;
        if !status.is_file() || status.mode() & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "other users can use {path:?}, or it is no file; make it one of your own (chmod \
                 600)"
            )));
        }
        let mut text = Vec::new();
        file.take(4096).read_to_end(&mut text)?;
        Secret::new(text.trim_ascii())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secret_that_others_can_read_or_that_is_short_is_refused() {
        let name = format!("tcasm-secret-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, " 0123456789abcdef\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let open = Secret::read(&path).unwrap_err().to_string();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let own = Secret::read(&path);
        fs::write(&path, "0123456789abcde").unwrap();
        let short = Secret::read(&path).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(open.contains("chmod 600"), "{open}");
        assert_eq!(own.unwrap().bytes(), b"0123456789abcdef");
        assert!(short.contains("15 bytes"), "{short}");
    }
}
