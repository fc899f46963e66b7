//! The token that opens the page.
//!
//! It is random, and the same for all servers of a user until the runtime folder goes (at the next start of the machine, at the
//! latest): so a page finds its server again when that was restarted. It lies in a file that only the user can read.

use nix::unistd::getuid;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use tcasm_core::place::runtime_dir;

/// Random bytes in a token.
const BYTES: usize = 16;
/// The file in the runtime folder.
const FILE: &str = "view.token";

/// The user's token; a new one, known to nobody else, where it cannot be kept.
pub fn token() -> io::Result<String> {
    let folder = runtime_dir();
    match kept(&folder) {
        Ok(token) => Ok(token),
        Err(error) => {
            tracing::warn!(
                "the token cannot be kept in {folder:?} ({error}): it will be another at the next start"
            );
            random()
        }
    }
}

fn kept(folder: &Path) -> io::Result<String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let path = folder.join(FILE);
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        token => return token,
    }
    // Whoever comes second takes the first one's: a name is linked only once it has all of its bytes.
    let token = random()?;
    let own = folder.join(format!("{FILE}.{}", random()?));
    let mut new = OpenOptions::new();
    let mut file = new.write(true).create_new(true).mode(0o600).open(&own)?;
    file.write_all(token.as_bytes())?;
    let linked = std::fs::hard_link(&own, &path);
    std::fs::remove_file(&own)?;
    match linked {
        Ok(()) => Ok(token),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path),
        Err(error) => Err(error),
    }
}

/// What is in the file, if it is this user's, and nobody else can read it.
fn read(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let file: File = options
        .read(true)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(path)?;
    let status = file.metadata()?;
    if status.uid() != getuid().as_raw() || status.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "{path:?} can be read by others; remove it"
        )));
    }
    let mut token = String::new();
    file.take(1024).read_to_string(&mut token)?;
    if token.len() == 2 * BYTES && token.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(token)
    } else {
        Err(io::Error::other(format!(
            "{path:?} holds no token; remove it"
        )))
    }
}

fn random() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn all_servers_of_a_user_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<String> = std::thread::scope(|scope| {
            let each: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| kept(folder.path()).unwrap()))
                .collect();
            each.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(
            all.iter()
                .all(|token| *token == all[0] && token.len() == 32),
            "{all:?}"
        );
        let names: Vec<_> = folder.path().read_dir().unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "nothing else is left: {names:?}");
        assert_ne!(random().unwrap(), random().unwrap());
    }

    #[test]
    fn a_file_that_others_can_read_or_have_written_is_not_trusted() {
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
}
