//! The layout of a file, as its name tells it.

use crate::failure::{Code, Failure};
use crate::files::storage::{Layout, Storage};
use std::path::Path;

impl Storage {
    /// Returns the same options with the layout that the name of `file` tells. Fails if no layout
    /// writes files of that name, or another one than `--layout` says.
    pub fn for_file(self, file: &Path) -> Result<Self, Failure> {
        let layout = layout_of(file)?;
        match self.layout {
            Some(asked) if asked != layout => Err(contradicts(file, asked)),
            _ => Ok(Storage {
                layout: Some(layout),
                ..self
            }),
        }
    }
}

impl Layout {
    /// The layouts in which a single version is written.
    const ALL: [Layout; 2] = [Layout::Vtkhdf, Layout::Openpmd];

    /// Returns the extension of files of this layout.
    fn extension(self) -> &'static str {
        match self {
            Layout::Vtkhdf => "vtkhdf",
            Layout::Openpmd => "h5",
        }
    }

    /// Returns the name of the layout, as `--layout` takes it.
    fn name(self) -> &'static str {
        match self {
            Layout::Vtkhdf => "vtkhdf",
            Layout::Openpmd => "openpmd",
        }
    }

    /// Returns the name that `file` would have in this layout, and the name of the layout.
    fn advice(self, file: &Path) -> String {
        let name = file.with_extension(self.extension());
        format!("{} ({})", name.display(), self.name())
    }
}

/// Returns the layout of files that are called like `file`.
fn layout_of(file: &Path) -> Result<Layout, Failure> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    let found = |layout: &Layout| extension == Some(layout.extension());
    // `%T` stands for a step in the names of a series.
    let is_pattern = file.to_string_lossy().contains("%T");
    let layout = Layout::ALL.into_iter().find(found);
    layout
        .filter(|_| !is_pattern)
        .ok_or_else(|| written_by_none(file, extension))
}

/// Returns the failure for a name that no layout has.
fn written_by_none(file: &Path, extension: Option<&str>) -> Failure {
    let [vtkhdf, openpmd] = Layout::ALL.map(|layout| layout.advice(file));
    let advice = match extension {
        Some("npy") => "for numpy, use tcasm dump NAME FIELD --npy FILE".to_owned(),
        Some("series") => "a list of files needs --follow".to_owned(),
        _ => format!("call it {vtkhdf} or {openpmd}"),
    };
    let text = format!("no layout writes a single version to {file:?}; {advice}");
    Failure::new(Code::Usage, text)
}

fn contradicts(file: &Path, asked: Layout) -> Failure {
    let text = format!(
        "{file:?} is not the name of a file of --layout {}; call it {}, or leave --layout out",
        asked.name(),
        asked.advice(file)
    );
    Failure::new(Code::Usage, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        storage: Storage,
        file: std::path::PathBuf,
    }

    /// Returns the layout for these arguments, or the message.
    fn layout(args: &[&str]) -> Result<Layout, String> {
        let args = Args::try_parse_from([&["x"], args].concat()).unwrap();
        let storage = args.storage.for_file(&args.file);
        storage.map(|s| s.layout.unwrap()).map_err(|f| f.message)
    }

    #[test]
    fn name_tells_the_layout() {
        assert_eq!(layout(&["a/one.vtkhdf"]), Ok(Layout::Vtkhdf));
        assert_eq!(layout(&["one.h5"]), Ok(Layout::Openpmd));
        assert_eq!(
            layout(&["--layout", "openpmd", "one.h5"]),
            Ok(Layout::Openpmd)
        );
        assert_eq!(
            layout(&["--layout", "vtkhdf", "one.h5"]).unwrap_err(),
            "\"one.h5\" is not the name of a file of --layout vtkhdf; call it one.vtkhdf \
             (vtkhdf), or leave --layout out"
        );
        assert!(layout(&["--layout", "openpmd", "one.vtkhdf"]).is_err());
    }

    #[test]
    fn names_that_no_layout_writes_are_refused_with_advice() {
        for (file, advice) in [
            ("a/one.vtk", "a/one.vtkhdf (vtkhdf) or a/one.h5 (openpmd)"),
            ("one", "one.vtkhdf (vtkhdf) or one.h5 (openpmd)"),
            ("one.npy", "dump NAME FIELD --npy"),
            ("one.vtkhdf.series", "--follow"),
            (".h5", "(openpmd)"),
        ] {
            for args in [&[file][..], &["--layout", "vtkhdf", file]] {
                let message = layout(args).unwrap_err();
                assert!(message.contains(advice), "{message}");
            }
        }
        assert!(layout(&["run_%T.h5"]).is_err());
    }
}
