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

/// The form of a series, as its name tells it.
#[derive(Debug, PartialEq, Eq)]
pub enum Series<'f> {
    /// One temporal file of VTKHDF.
    One,
    /// A file of this layout for each version, `<name>_<step>`.
    Each { name: &'f str, layout: Layout },
}

impl<'f> Series<'f> {
    /// The ends of the names of series with a file for each version. `%T` stands for the step, as
    /// in openPMD-api; files have at least eight digits.
    const ENDS: [(&'static str, Layout); 3] = [
        (".vtkhdf.series", Layout::Vtkhdf),
        ("_%T.h5", Layout::Openpmd),
        ("_%08T.h5", Layout::Openpmd),
    ];

    /// Returns the form of the series `file`. Fails if no series has such a name, or only one of
    /// another layout than `asked`.
    pub fn of(file: &'f Path, asked: Option<Layout>) -> Result<Self, Failure> {
        let text = file.file_name().and_then(|name| name.to_str());
        let text = text.unwrap_or_default();
        let each = Self::ENDS.into_iter().find_map(|(end, layout)| {
            let name = text.strip_suffix(end).filter(|name| !name.is_empty())?;
            Some((Series::Each { name, layout }, layout))
        });
        let is_one = extension(file) == Some("vtkhdf") && !is_pattern(file);
        let one = is_one.then_some((Series::One, Layout::Vtkhdf));
        match each.or(one) {
            Some((series, layout)) if asked.is_none_or(|asked| asked == layout) => Ok(series),
            _ => Err(no_series(file, asked)),
        }
    }
}

/// Returns the layout of files that are called like `file`.
fn layout_of(file: &Path) -> Result<Layout, Failure> {
    let found = |layout: &Layout| extension(file) == Some(layout.extension());
    let layout = Layout::ALL.into_iter().find(found);
    layout
        .filter(|_| !is_pattern(file))
        .ok_or_else(|| written_by_none(file))
}

fn extension(file: &Path) -> Option<&str> {
    file.extension()?.to_str()
}

/// Returns true if the name of `file` stands for several files: it has `%T`, or `%08T`.
fn is_pattern(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut after = name.split('%').skip(1);
    after.any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with('T')
    })
}

/// Returns the failure for a name that no layout has.
fn written_by_none(file: &Path) -> Failure {
    let [vtkhdf, openpmd] = Layout::ALL.map(|layout| layout.advice(file));
    let advice = match extension(file) {
        Some("npy") => "for numpy, use tcasm dump NAME FIELD --npy FILE".to_owned(),
        Some("series") => "only export --follow writes a series".to_owned(),
        _ if is_pattern(file) => "only export --follow writes a series".to_owned(),
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

/// Returns the failure for a name that no series has, or none of the layout `asked`.
fn no_series(file: &Path, asked: Option<Layout>) -> Failure {
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = file_name.split(['.', '%']).next().unwrap_or_default();
    let stem = match stem.trim_end_matches('_') {
        "" => "run",
        stem => stem,
    };
    let vtkhdf = format!("{stem}.vtkhdf (one temporal file), {stem}.vtkhdf.series (a list)");
    let openpmd = format!("{stem}_%T.h5 (openPMD)");
    let (what, names) = match asked {
        None => (String::new(), format!("{vtkhdf} or {openpmd}")),
        Some(Layout::Vtkhdf) => (" of --layout vtkhdf".to_owned(), vtkhdf),
        Some(Layout::Openpmd) => (" of --layout openpmd".to_owned(), openpmd),
    };
    let text = format!("{file:?} is not the name of a series{what}; call it {names}");
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
        assert_eq!(layout(&["50%.vtkhdf"]), Ok(Layout::Vtkhdf));
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
        assert!(layout(&["run_%T.h5"]).unwrap_err().contains("--follow"));
    }

    #[test]
    fn name_of_a_series_tells_its_form() {
        let form = |file: &'static str, asked| Series::of(Path::new(file), asked).ok();
        let each = |name, layout| Some(Series::Each { name, layout });
        let (vtkhdf, openpmd) = (Layout::Vtkhdf, Layout::Openpmd);
        assert_eq!(form("a/run.vtkhdf", None), Some(Series::One));
        assert_eq!(form("run.vtkhdf.series", None), each("run", vtkhdf));
        assert_eq!(form("a/r_1_%T.h5", Some(openpmd)), each("r_1", openpmd));
        assert_eq!(form("run_%08T.h5", None), each("run", openpmd));
        for other in [
            "run.h5",
            "run",
            "run_%06T.h5",
            "_%T.h5",
            ".vtkhdf",
            "run_%T.vtk",
            "run_%T.vtkhdf",
        ] {
            assert_eq!(form(other, None), None, "{other}");
        }
        for (file, other) in [
            ("run.vtkhdf", openpmd),
            ("run.vtkhdf.series", openpmd),
            ("run_%T.h5", vtkhdf),
        ] {
            assert_eq!(form(file, Some(other)), None, "{file}");
        }
        let message = |file: &str, asked| {
            let refused = Series::of(Path::new(file), asked);
            refused.unwrap_err().message
        };
        assert_eq!(
            message("a/run.h5", None),
            "\"a/run.h5\" is not the name of a series; call it run.vtkhdf (one temporal file), \
             run.vtkhdf.series (a list) or run_%T.h5 (openPMD)"
        );
        assert_eq!(
            message("run.vtkhdf", Some(openpmd)),
            "\"run.vtkhdf\" is not the name of a series of --layout openpmd; call it run_%T.h5 \
             (openPMD)"
        );
    }
}
