//! Arguments that say how files are written: layout, compression and direct I/O.

use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use tcasm_checkpoint::{Compression, DirectIo, Mode, Options};
use tcasm_core::field::{FieldTable, MeshDesc, MeshKind};

#[derive(Clone, Copy, Debug, Args)]
pub struct Storage {
    /// The layout of the files, which decides what other programs can read them [default: that of
    /// the name of FILE, else vtkhdf]
    #[arg(long, value_enum)]
    pub layout: Option<Layout>,
    /// Compress fields: none (fastest); deflate:1 to deflate:9, or the number alone (0 is none); or
    /// zstd:1 to zstd:9, for which other readers need the Blosc plugin
    #[arg(long, value_name = "HOW", default_value = "1", value_parser = compression)]
    pub compress: Compression,
    /// Write large fields past the page cache (O_DIRECT), if they are not compressed
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub direct: Direct,
}

impl Storage {
    /// Returns the options for files with these permissions.
    pub fn options(self, mode: Mode) -> Options {
        Options {
            compression: self.compress,
            layout: match self.layout.unwrap_or_default() {
                Layout::Vtkhdf => tcasm_checkpoint::Layout::VtkHdf,
                Layout::Openpmd => tcasm_checkpoint::Layout::OpenPmd,
            },
            mode,
            direct: self.direct.into(),
        }
    }
}

/// When large fields are written past the page cache.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Direct {
    /// Where the file system takes such writes
    #[default]
    Auto,
    /// Never
    Off,
}

impl From<Direct> for DirectIo {
    fn from(direct: Direct) -> Self {
        match direct {
            Direct::Auto => DirectIo::Auto,
            Direct::Off => DirectIo::Off,
        }
    }
}

/// The layouts of full checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// VTKHDF images, for ParaView and VisIt: .vtkhdf
    #[default]
    Vtkhdf,
    /// openPMD, for openPMD-api and programs that use it: .h5
    Openpmd,
}

/// Returns a note on the fields of `table` that openPMD has no place for, if there are some and a
/// file with `options` is openPMD.
fn left_out(options: &Options, table: &FieldTable) -> Option<String> {
    let left_out = options.layout.left_out(table);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, why) in &left_out {
        reasons.entry(*why).or_default().push(name);
    }
    let parts = reasons.iter().map(|(why, names)| {
        let names = names.join(", ");
        format!("{names} ({why})")
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    let rest = "TCASM and h5py find them under /tcasm";
    (!parts.is_empty()).then(|| format!("not stored for openPMD: {parts}; {rest}"))
}

/// Returns a note on what other programs do not find in checkpoints of `table` with `options`, if
/// there is something.
pub fn not_in_checkpoints(options: &Options, table: &FieldTable) -> Option<String> {
    match options.layout {
        tcasm_checkpoint::Layout::OpenPmd => left_out(options, table),
        tcasm_checkpoint::Layout::VtkHdf => grids(table),
    }
}

/// Returns a note on the meshes of `table` that only exports show, if there are some.
fn grids(table: &FieldTable) -> Option<String> {
    let is_grid = |mesh: &&MeshDesc| {
        let kind = &mesh.kind;
        matches!(
            kind,
            MeshKind::Rectilinear { .. } | MeshKind::Curvilinear { .. }
        )
    };
    let names = table.meshes.iter().filter(is_grid);
    let names: Vec<&str> = names.map(|mesh| mesh.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "checkpoints have no points and cells of grids, so ParaView does not show {} there; \
             tcasm restore --out FILE.vtkhdf writes a file that has them",
            names.join(", ")
        )
    })
}

fn compression(text: &str) -> Result<Compression, String> {
    let (how, level) = text.split_once(':').unwrap_or(match text.parse::<u8>() {
        Ok(0) => ("none", ""),
        Ok(_) => ("deflate", text),
        Err(_) => (text, ""),
    });
    let level = |most: u8| {
        let level = level.parse().ok().filter(|n| (1..=most).contains(n));
        level.ok_or_else(|| format!("{how} has levels from 1 to {most}, as in {how}:1"))
    };
    match how {
        "none" if text.len() <= how.len() => Ok(Compression::None),
        "deflate" => Ok(Compression::Deflate(level(9)?)),
        "zstd" => Ok(Compression::Zstd(level(9)?)),
        _ => Err("use none, deflate:LEVEL, zstd:LEVEL, or a level from 0 to 9".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, FieldDesc};

    #[test]
    fn fields_without_a_place_in_openpmd_are_named_with_the_reason() {
        let options = |layout| Options {
            layout,
            ..Options::default()
        };
        let openpmd = options(tcasm_checkpoint::Layout::OpenPmd);
        let mut table = FieldTable::default();
        let mut add = |name: &str, dtype| {
            table.fields.push(FieldDesc::new(name, dtype, &[3]));
            left_out(&openpmd, &table)
        };
        assert_eq!(add("t", DType::F64), None);
        add("psi", DType::C64);
        let text = add("phi", DType::C32).unwrap();
        assert!(text.contains("openPMD: psi, phi ("), "{text}");
        let vtkhdf = options(tcasm_checkpoint::Layout::VtkHdf);
        assert_eq!(left_out(&vtkhdf, &table), None);
    }

    #[test]
    fn grids_that_checkpoints_do_not_show_are_named_with_the_way_to_see_them() {
        let mesh = |name: &str, kind| MeshDesc {
            name: name.to_owned(),
            kind,
            block: None,
            attrs: BTreeMap::new(),
        };
        let mut table = FieldTable::default();
        let mut note = |mesh: MeshDesc| {
            table.meshes.push(mesh);
            not_in_checkpoints(&Options::default(), &table)
        };
        let positions = "x".to_owned();
        assert_eq!(note(mesh("atoms", MeshKind::Particles { positions })), None);
        let coordinates = "x".to_owned();
        note(mesh("bent", MeshKind::Curvilinear { coordinates }));
        let coordinates = vec!["x".to_owned()];
        let text = note(mesh("even", MeshKind::Rectilinear { coordinates })).unwrap();
        assert!(text.contains("does not show bent, even there"), "{text}");
        assert!(text.contains("tcasm restore"), "{text}");
    }

    #[test]
    fn compression_is_a_method_with_a_level_or_a_level_of_deflate() {
        for (text, expected) in [
            ("none", Compression::None),
            ("0", Compression::None),
            ("6", Compression::Deflate(6)),
            ("deflate:9", Compression::Deflate(9)),
            ("zstd:3", Compression::Zstd(3)),
        ] {
            assert_eq!(compression(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "10",
            "-1",
            "none:1",
            "deflate",
            "deflate:0",
            "deflate:10",
            "zstd",
            "zstd:10",
            "lz4:1",
        ] {
            assert!(compression(text).is_err(), "{text}");
        }
        let error = compression("deflate:10").unwrap_err();
        assert_eq!(error, "deflate has levels from 1 to 9, as in deflate:1");
    }
}
