//! The attributes of the root group: the series that a file belongs to.

use crate::file::Fault;
use crate::format::names::{Form, Found};
use crate::options::Layout;
use crate::write::attributes;
use hdf5::{File, Location};
use std::collections::BTreeMap;
use std::path::Path;
use tcasm_core::field::Attr;

/// The attributes that say how the file is to be read. No attribute of a region replaces them.
const REQUIRED: [&str; 7] = [
    "openPMD",
    "openPMDextension",
    "basePath",
    "meshesPath",
    "particlesPath",
    "iterationEncoding",
    "iterationFormat",
];

/// The attributes that openPMD recommends, which must be texts. `software` is the program that has
/// made the data, which a region may name.
const RECOMMENDED: [&str; 7] = [
    "author",
    "software",
    "softwareVersion",
    "date",
    "softwareDependencies",
    "machine",
    "comment",
];

/// Writes the attributes of the root group, except `particlesPath`. `free` are those of the region.
pub fn describe(
    file: &File,
    path: &Path,
    step: u64,
    free: &BTreeMap<String, Attr>,
) -> Result<(), Fault> {
    let (encoding, format) = encoding(path, step);
    attributes::text(file, "openPMD", "1.1.0")?;
    attributes::number(file, "openPMDextension", 0_u32)?;
    attributes::text(file, "basePath", "/data/%T/")?;
    attributes::text(file, "meshesPath", "meshes/")?;
    attributes::text(file, "iterationEncoding", encoding)?;
    attributes::text(file, "iterationFormat", &format)?;
    describe_freely(file, free)?;
    if !free.contains_key("software") {
        attributes::text(file, "software", "tcasm")?;
        if !free.contains_key("softwareVersion") {
            attributes::text(file, "softwareVersion", env!("CARGO_PKG_VERSION"))?;
        }
    }
    Ok(())
}

/// Writes free attributes under their own names, where openPMD-api finds them.
pub fn describe_freely(at: &Location, free: &BTreeMap<String, Attr>) -> Result<(), Fault> {
    for (name, value) in free {
        if is_apt(name, value) {
            attributes::one(at, name, value)?;
        }
    }
    Ok(())
}

/// Returns true if the attribute can be among those of openPMD.
fn is_apt(name: &str, value: &Attr) -> bool {
    let is_empty = matches!(value, Attr::Floats(values) if values.is_empty());
    let is_text = matches!(value, Attr::Text(_));
    // openPMD-api cannot read attributes without values, and HDF5 has none without a name.
    !name.is_empty()
        && !is_empty
        && !REQUIRED.contains(&name)
        && (is_text || !RECOMMENDED.contains(&name))
}

/// Returns the `iterationEncoding` and the `iterationFormat`. A file with the name of a checkpoint
/// is one of a series of files. Any other file is a series by itself.
fn encoding(path: &Path, step: u64) -> (&'static str, String) {
    let form = Form::Full(Layout::OpenPmd);
    match Found::at(path).filter(|found| (found.form, found.step) == (form, step)) {
        Some(found) => ("fileBased", format!("{}_%08T.h5", found.name)),
        None => ("groupBased", "/data/%T/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_the_name_of_a_checkpoint_form_a_series() {
        let format = |file: &str| encoding(Path::new(file), 7);
        let file_based = ("fileBased", "a_b_%08T.h5".to_owned());
        let group_based = ("groupBased", "/data/%T/".to_owned());
        assert_eq!(format("dir/a_b_00000007.h5"), file_based);
        for other in ["a_b_00000008.h5", "a_00000007.vtkhdf", "export.h5"] {
            assert_eq!(format(other), group_based, "{other}");
        }
    }

    #[test]
    fn attributes_of_a_region_do_not_change_how_the_file_is_read() {
        let text = Attr::from("x");
        assert!(is_apt("author", &text) && is_apt("software", &text) && is_apt("beta", &text));
        assert!(is_apt("beta", &Attr::from(1)) && !is_apt("author", &Attr::from(1)));
        assert!(!is_apt("beta", &Attr::Floats(vec![])));
        assert!(REQUIRED.iter().all(|name| !is_apt(name, &text)));
    }
}
