//! The names of regions, in paths and as the names of files; and the patterns of files that are
//! published.

use libc::c_char;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use tcasm_core::format::layout::MAX_NAME;

/// The beginning of a path that stands for a region.
pub const PREFIX: &[u8] = b"tcasm:";
/// The environment variable with the patterns.
const PATTERNS_ENV: &str = "TCASM_PRELOAD";

/// Returns the name behind the prefix, if `path` begins with it.
///
/// # Safety
/// `path` must be null, or point to a text that ends with a NUL and stays as it is.
#[allow(unsafe_code)]
pub unsafe fn after_prefix<'a>(path: *const c_char) -> Option<&'a CStr> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the text is read up to the first byte that differs, which its NUL does.
    let begins = PREFIX
        .iter()
        .enumerate()
        .all(|(i, wanted)| unsafe { path.add(i).read() } as u8 == *wanted);
    // SAFETY: all bytes of the prefix are there, so a text that ends with a NUL follows.
    begins.then(|| unsafe { CStr::from_ptr(path.add(PREFIX.len())) })
}

/// Returns the name of the region for a file: its name, with `_` for each character that the name
/// of a region cannot have.
pub fn of_file(path: &Path) -> Option<String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = path.file_name()?.to_string_lossy();
    let mut name: String = name
        .chars()
        .map(|c| if fine(c) { c } else { '_' })
        .collect();
    if name.starts_with(['-', '.']) {
        name.insert(0, '_');
    }
    name.truncate(MAX_NAME);
    Some(name)
}

/// Patterns of files, as in a shell.
#[derive(Debug, Default)]
pub struct Patterns(Vec<CString>);

impl Patterns {
    /// Returns the patterns of the environment, as it was at the first call.
    pub fn of_environment() -> &'static Patterns {
        static PATTERNS: OnceLock<Patterns> = OnceLock::new();
        PATTERNS.get_or_init(|| {
            let list = std::env::var_os(PATTERNS_ENV);
            list.map(|list| Patterns::parse(&list)).unwrap_or_default()
        })
    }

    /// Reads a list of patterns, with colons between them.
    fn parse(list: &OsStr) -> Patterns {
        let parts = list.as_bytes().split(|b| *b == b':');
        let parts = parts.filter(|part| !part.is_empty());
        Patterns(parts.flat_map(CString::new).collect())
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a pattern matches `path`, which is absolute. A pattern without a slash
    /// matches the name of the file. `*` and `?` do not match a slash.
    pub fn match_path(&self, path: &Path) -> bool {
        let text = |part: &OsStr| CString::new(part.as_bytes()).ok();
        let name = path.file_name().and_then(text);
        let (Some(whole), Some(name)) = (text(path.as_os_str()), name) else {
            return false;
        };
        self.0.iter().any(|pattern| {
            let has_folder = pattern.as_bytes().contains(&b'/');
            matches(pattern, if has_folder { &whole } else { &name })
        })
    }
}

#[allow(unsafe_code)]
fn matches(pattern: &CStr, text: &CStr) -> bool {
    // SAFETY: both texts end with a NUL, and fnmatch only reads them.
    unsafe { libc::fnmatch(pattern.as_ptr(), text.as_ptr(), libc::FNM_PATHNAME) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    fn name_in(path: &CStr) -> Option<&CStr> {
        // SAFETY: it is a text that ends with a NUL, and outlives the result.
        unsafe { after_prefix(path.as_ptr()) }
    }

    #[test]
    fn only_paths_that_begin_with_the_prefix_mean_a_region() {
        assert_eq!(name_in(c"tcasm:heat"), Some(c"heat"));
        assert_eq!(name_in(c"tcasm:"), Some(c""));
        for other in [
            c"",
            c"t",
            c"tcasm",
            c"tcasn:heat",
            c"./tcasm:heat",
            c"/tcasm:x",
            c"TCASM:x",
        ] {
            assert_eq!(name_in(other), None, "{other:?}");
        }
        #[allow(unsafe_code)]
        // SAFETY: null is allowed.
        let null = unsafe { after_prefix(std::ptr::null()) };
        assert_eq!(null, None);
    }

    #[test]
    fn every_file_has_a_valid_name_of_a_region() {
        for (path, name) in [
            ("/scratch/heat.dat", "heat.dat"),
            ("/a/.hidden", "_.hidden"),
            ("/a/-x", "_-x"),
            ("/a/b c\u{e9}", "b_c_"),
        ] {
            assert_eq!(of_file(Path::new(path)).unwrap(), name);
        }
        let long = format!("/{}", "x".repeat(200));
        for path in ["/a b", "/$(x)", "/\n", &long] {
            let name = of_file(Path::new(path)).unwrap();
            tcasm_core::place::check_name(&name).unwrap();
        }
        assert_eq!(of_file(Path::new("/")), None);
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let patterns = Patterns::parse(OsStr::new("/scratch/*.dat::field_?:"));
        let found = |path: &str| patterns.match_path(Path::new(path));
        assert!(found("/scratch/heat.dat") && found("/anywhere/field_7"));
        assert!(!found("/scratch/deep/heat.dat"), "* matches no slash");
        assert!(!found("/other/heat.dat") && !found("/scratch/heat.data") && !found("/field_77"));
        assert!(Patterns::parse(OsStr::new(":")).is_empty());
    }
}
