//! Finds the preload library.

use crate::failure::{Code, Failure};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAME: &str = "libtcasm_preload.so";
/// The environment variable with the path of the library.
const ENV: &str = "TCASM_PRELOAD_LIBRARY";

/// Returns the path of the library: the one of the environment, or else the first that exists
/// beside this program or where `make install` puts it.
pub fn find() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os(ENV).filter(|path| !path.is_empty()) {
        let path = std::path::absolute(&path).unwrap_or(path.into());
        return match path.exists() {
            true => Ok(path),
            false => Err(missing(&[path])),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.unwrap_or_default();
    let places = places(program.parent().unwrap_or(Path::new("/usr/local/bin")));
    let found = places.iter().find(|path| path.exists()).cloned();
    found.ok_or_else(|| missing(&places))
}

fn places(folder: &Path) -> Vec<PathBuf> {
    let prefix = folder.parent().unwrap_or(folder);
    let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["lib", "lib64", &multiarch].map(|name| prefix.join(name));
    let folders = [folder.to_owned()].into_iter().chain(libraries);
    folders.map(|folder| folder.join(NAME)).collect()
}

fn missing(places: &[PathBuf]) -> Failure {
    let places: Vec<String> = places.iter().map(|path| format!("{path:?}")).collect();
    let places = places.join(", ");
    let text = format!(
        "{NAME} is not at {places}; install it with `make install`, or set {ENV} to its path"
    );
    Failure::new(Code::Io, text)
}

/// Returns the libraries to preload: this one, and behind it those of the environment.
pub fn joined(library: &Path) -> Result<OsString, Failure> {
    let separates = |byte: &u8| matches!(byte, b' ' | b':');
    if library.as_os_str().as_bytes().iter().any(separates) {
        let text = format!(
            "{library:?} cannot be preloaded: LD_PRELOAD has paths without spaces and colons; set \
             {ENV} to another path"
        );
        return Err(Failure::new(Code::Io, text));
    }
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|list| !list.is_empty()) {
        list.push(":");
        list.push(others);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_is_looked_for_beside_the_command_and_in_the_folders_of_libraries() {
        let places = places(Path::new("/opt/tcasm/bin"));
        assert_eq!(places[0], Path::new("/opt/tcasm/bin/libtcasm_preload.so"));
        assert_eq!(places[1], Path::new("/opt/tcasm/lib/libtcasm_preload.so"));
        assert_eq!(places.len(), 4);
    }

    #[test]
    fn path_that_would_be_two_paths_is_refused() {
        assert!(joined(Path::new("/a b/lib.so")).is_err());
        assert!(joined(Path::new("/a:b/lib.so")).is_err());
        let list = joined(Path::new("/a/lib.so")).unwrap();
        assert!(list.to_str().unwrap().starts_with("/a/lib.so"));
    }
}
