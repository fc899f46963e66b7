//! The secret of a user, from which the tokens of all servers of this user are derived.
//!
//! The secret is random. It stays the same until the runtime folder is removed, at the latest at
//! the next start of the machine. So the printed address stays valid after a restart of the server.
//! The secret is in a file that only the user can read.

use nix::unistd::getuid;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tcasm_core::place::{open_runtime_dir, runtime_dir};

/// Number of random bytes in a secret.
const BYTES: usize = 16;
/// The file in the runtime folder.
const FILE: &str = "view.key";

/// Returns the user's secret. If it cannot be kept in a file, returns a new one.
pub fn secret() -> io::Result<String> {
    let folder = runtime_dir();
    match kept(&folder) {
        Ok(secret) => Ok(secret),
        Err(error) => {
            tracing::warn!(
                "cannot keep the key of the live view in {folder:?} ({error}): \
                 the address changes at the next start"
            );
            random()
        }
    }
}

/// Reads the secret, and makes it if there is none. Writes nothing to a folder that another user
/// controls.
fn kept(folder: &Path) -> io::Result<String> {
    open_runtime_dir(folder)?;
    let path = folder.join(FILE);
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        secret => return secret,
    }
    // Link the name only when the file is complete. If two servers start together, the second one
    // finds the name taken and reads the secret of the first.
    let secret = random()?;
    let own = folder.join(format!("{FILE}.{}", random()?));
    let mut new = OpenOptions::new();
    let mut file = new.write(true).create_new(true).mode(0o600).open(&own)?;
    let written = file.write_all(secret.as_bytes());
    let linked = written.and_then(|()| std::fs::hard_link(&own, &path));
    std::fs::remove_file(&own)?;
    match linked {
        Ok(()) => Ok(secret),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path),
        Err(error) => Err(error),
    }
}

/// Reads the file if it belongs to this user and no other user can read it.
fn read(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let file: File = options.read(true).custom_flags(flags).open(path)?;
    let status = file.metadata()?;
    if status.uid() != getuid().as_raw() || status.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "other users can read {path:?}, or it is theirs; remove it"
        )));
    }
    let mut secret = String::new();
    file.take(1024).read_to_string(&mut secret)?;
    if secret.len() == 2 * BYTES && secret.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(secret)
    } else {
        Err(io::Error::other(format!(
            "{path:?} does not contain a key; remove it"
        )))
    }
}

/// Returns 32 random hexadecimal digits, from the kernel's generator.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn servers_that_start_together_share_one_secret() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<String> = std::thread::scope(|scope| {
            let each: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| kept(folder.path()).unwrap()))
                .collect();
            each.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(
            all.iter()
                .all(|secret| *secret == all[0] && secret.len() == 32),
            "{all:?}"
        );
        let names: Vec<_> = folder.path().read_dir().unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "nothing else is left: {names:?}");
        assert_ne!(random().unwrap(), random().unwrap());
    }

    #[test]
    fn file_that_other_users_can_read_or_replace_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        kept(folder.path()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(
            kept(folder.path())
                .unwrap_err()
                .to_string()
                .contains("remove it")
        );
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(kept(folder.path()).is_err());
    }

    #[test]
    fn nothing_is_written_to_a_folder_where_other_users_can_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shared");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let told = kept(&path).unwrap_err().to_string();
        assert!(told.contains("every user can replace"), "{told}");
        assert_eq!(path.read_dir().unwrap().count(), 0);
    }
}
