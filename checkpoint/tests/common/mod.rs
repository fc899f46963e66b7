//! Versions that the tests make up.
#![allow(dead_code, missing_docs)] // each test uses some of it

use nix::fcntl::OFlag;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use tcasm_checkpoint::{Compression, DirectIo, Layout, Mode, Options, Snapshot};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

pub const STAMP: Stamp = Stamp {
    version: 7,
    step: 42,
    time: 0.125,
};

pub const PLAIN: Options = Options {
    compression: Compression::None,
    layout: Layout::VtkHdf,
    mode: Mode::PRIVATE,
    direct: DirectIo::Auto,
};

pub const LAYOUTS: [Layout; 2] = [Layout::VtkHdf, Layout::OpenPmd];

/// A field table, and the bytes of the fields by name.
#[derive(Clone, Debug, Default)]
pub struct Version {
    pub table: FieldTable,
    pub bytes: HashMap<String, Vec<u8>>,
}

impl Version {
    pub fn of(fields: impl IntoIterator<Item = FieldDesc>) -> Self {
        let mut version = Version::default();
        for (i, field) in fields.into_iter().enumerate() {
            let bytes = values(
                field.dtype,
                (field.bytes() as usize) / field.dtype.size(),
                i,
            );
            version.bytes.insert(field.name.clone(), bytes);
            version.table.fields.push(field);
        }
        version
    }

    /// Returns the same with floats that need all bits of their mantissas.
    pub fn noisy(fields: impl IntoIterator<Item = FieldDesc>) -> Self {
        let mut version = Version::of(fields);
        for field in &version.table.fields {
            let bytes = version.bytes.get_mut(&field.name).unwrap();
            fill_with_noise(field.dtype, bytes);
        }
        version
    }

    /// Lets the writer round floats with this bound.
    pub fn round(&mut self, relative_error: f64) {
        for field in &mut self.table.fields {
            let rounds = field.dtype.significant_bits(relative_error).is_some();
            field.relative_error = rounds.then_some(relative_error);
        }
    }

    pub fn snapshot(&self, stamp: Stamp) -> Snapshot<'_> {
        Snapshot::new("test", stamp, &self.table, |field| &self.bytes[&field.name])
    }
}

/// Returns numbers that differ from place to place and are exact in `dtype`.
fn values(dtype: DType, count: usize, seed: usize) -> Vec<u8> {
    tcasm_core::with_dtype!(dtype, T => {
        let value = |i: usize| ((i * 7 + seed * 13) % 101) as u8;
        let parts = |v: u8| -> T { number(v) };
        (0..count).flat_map(|i| bytemuck::bytes_of(&parts(value(i))).to_vec()).collect()
    })
}

/// Returns `value` as a number of type `T`. For integers it is the first byte.
fn number<T: tcasm_core::field::Element>(value: u8) -> T {
    let mut number = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut number);
    match T::DTYPE {
        DType::F32 => bytes.copy_from_slice(&f32::from(value).to_le_bytes()),
        DType::F64 => bytes.copy_from_slice(&f64::from(value).to_le_bytes()),
        DType::C32 => {
            bytes[..4].copy_from_slice(&f32::from(value).to_le_bytes());
            bytes[4..].copy_from_slice(&(-f32::from(value)).to_le_bytes());
        }
        DType::C64 => {
            bytes[..8].copy_from_slice(&f64::from(value).to_le_bytes());
            bytes[8..].copy_from_slice(&(-f64::from(value)).to_le_bytes());
        }
        _ => bytes[0] = value,
    }
    number
}

/// Fills `bytes` with floats of the dtype. Those of other types stay as they are.
fn fill_with_noise(dtype: DType, bytes: &mut [u8]) {
    let value = |i: usize| (i as f64 * 0.7 + 0.1).sin() * 1e3;
    match dtype {
        DType::F32 | DType::C32 => {
            for (i, bytes) in bytes.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&(value(i) as f32).to_le_bytes());
            }
        }
        DType::F64 | DType::C64 => {
            for (i, bytes) in bytes.chunks_exact_mut(8).enumerate() {
                bytes.copy_from_slice(&value(i).to_le_bytes());
            }
        }
        _ => {}
    }
}

/// Returns a field with default settings.
pub fn field(name: &str, dtype: DType, shape: &[usize]) -> FieldDesc {
    FieldDesc::new(name, dtype, shape)
}

/// Returns a three-dimensional version with fields of many kinds.
pub fn mixed() -> Version {
    let mut vector = field("vector", DType::F32, &[4, 5, 6]);
    vector.components = 3;
    let mut ghosts = field("ghosts", DType::F64, &[6, 7, 8]);
    ghosts.ghosts = vec![[1, 1]; 3];
    Version::of([
        field("scalar", DType::F64, &[4, 5, 6]),
        vector,
        ghosts,
        field("complex", DType::C64, &[4, 5]),
        field("zero_dims", DType::I32, &[]),
    ])
}

/// Returns a new folder beside the programs of the tests. Its file system is more likely to take
/// direct writes than that of temporary files.
pub fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Returns true if a file in `dir` can be written with `O_DIRECT`.
pub fn takes_direct_writes(dir: &Path) -> bool {
    const PAGE: usize = 4096;
    let probe = tempfile::NamedTempFile::new_in(dir).unwrap();
    let file = File::options()
        .write(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(probe.path());
    let memory = [0_u8; 2 * PAGE];
    let address = memory.as_ptr().addr();
    let start = address.next_multiple_of(PAGE) - address;
    file.is_ok_and(|file| file.write_all_at(&memory[start..start + PAGE], 0).is_ok())
}

/// Returns the names in `dir`, sorted.
pub fn names_in(dir: &Path) -> Vec<String> {
    let name =
        |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}
