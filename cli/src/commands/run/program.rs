//! Finds out why a program has published nothing.

use nix::unistd::{getegid, geteuid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The bytes of a program that are looked at.
const HEAD: usize = 64 << 10;

/// Returns why the program `name` may have published nothing.
pub fn why_nothing(name: &OsStr) -> String {
    let path = found(name);
    let script = path.as_deref().and_then(interpreter);
    let programs = path.into_iter().chain(script);
    let why = programs.filter_map(|path| refuses(&path)).next();
    why.unwrap_or_else(|| {
        "no file called tcasm:NAME, and none that matches --region, was mapped as shared memory \
         that can be written"
            .to_owned()
    })
}

/// Returns the path of a program as the system finds it.
fn found(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let folders = std::env::var_os("PATH")?;
    let paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
    };
    { paths }.find(is_program)
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEAD as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the program that runs a script.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let head = head(path)?;
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let mut words = line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty());
    Some(OsString::from_vec(words.next()?.to_vec()).into())
}

/// Returns why a program does not load libraries that are named in the environment.
fn refuses(path: &Path) -> Option<String> {
    let meta = path.metadata().ok()?;
    let mode = meta.permissions().mode();
    let becomes_user = mode & 0o4000 != 0 && meta.uid() != geteuid().as_raw();
    let becomes_group = mode & 0o2000 != 0 && meta.gid() != getegid().as_raw();
    if becomes_user || becomes_group {
        return Some(format!(
            "{path:?} runs with the rights of another user or group (setuid), and the system \
             preloads no library of this user into such programs"
        ));
    }
    match kind(&head(path)?)? {
        Kind::Shared => None,
        Kind::Static => Some(format!(
            "{path:?} is linked statically, and loads no shared libraries; link it dynamically, \
             or use tcasm-producer or libtcasm in it"
        )),
        Kind::OtherSize => Some(format!("{path:?} is not a 64-bit program")),
    }
}

/// What a program is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// It names a program that loads its libraries.
    Shared,
    Static,
    /// It is not of 64 bits.
    OtherSize,
}

/// Returns what an ELF file is, from its header and its program headers. `None` for other files.
fn kind(elf: &[u8]) -> Option<Kind> {
    const PT_INTERP: u32 = 3;
    const CLASS_64: u8 = 2;
    elf.strip_prefix(b"\x7fELF")?;
    if *elf.get(4)? != CLASS_64 {
        return Some(Kind::OtherSize);
    }
    let short = |at: usize| Some(u16::from_le_bytes(*elf.get(at..)?.first_chunk()?));
    let headers = usize::try_from(u64::from_le_bytes(*elf.get(32..)?.first_chunk()?)).ok()?;
    let (size, count) = (usize::from(short(54)?), usize::from(short(56)?));
    let types = (0..count).map(|i| {
        let at = i.checked_mul(size)?.checked_add(headers)?;
        Some(u32::from_le_bytes(*elf.get(at..)?.first_chunk()?))
    });
    let types: Vec<u32> = types.collect::<Option<_>>()?;
    Some(match types.contains(&PT_INTERP) {
        true => Kind::Shared,
        false => Kind::Static,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_this_machine_load_libraries_and_scripts_name_theirs() {
        let shell = found(OsStr::new("sh")).unwrap();
        assert_eq!(kind(&head(&shell).unwrap()), Some(Kind::Shared));
        assert_eq!(refuses(&shell), None);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#! /bin/sh -e\necho\n").unwrap();
        assert_eq!(interpreter(&script), Some("/bin/sh".into()));
        assert_eq!(kind(&head(&script).unwrap()), None);
        assert_eq!(found(OsStr::new("no-such-program-anywhere")), None);
    }

    #[test]
    fn headers_that_are_cut_short_or_wrong_are_no_programs() {
        let whole = head(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(kind(&whole), Some(Kind::Shared));
        for len in 0..64 {
            assert!(
                kind(&whole[..len]).is_none_or(|kind| kind != Kind::Shared),
                "{len}"
            );
        }
        let mut far = whole.clone();
        far[32..40].fill(255);
        assert_eq!(kind(&far), None, "headers outside of the file");
        let mut small = whole;
        small[4] = 1;
        assert_eq!(kind(&small), Some(Kind::OtherSize));
    }
}
