//! The description of a mapping: which fields lie where. It is a TOML file, which
//! `docs/preload.md` describes.

use crate::clock::{self, Clock, Place};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Attr, Centering, DType, FieldDesc, Mesh, Order};
use thiserror::Error;

/// The environment variable with the description, or with a folder of descriptions.
const ENV: &str = "TCASM_DESCRIPTION";

/// The known facts about a mapping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The fields, in ascending order of their offsets.
    pub fields: Vec<FieldDesc>,
    pub clock: Clock,
    pub attributes: BTreeMap<String, Attr>,
    pub versions: Option<usize>,
    pub history: Option<usize>,
    pub memory: Option<u64>,
}

/// The reason why a description cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot read {path:?}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path:?}: {text}")]
    Parse { path: PathBuf, text: String },
    #[error("{path:?}: {source}")]
    Content { path: PathBuf, source: Unfit },
}

/// The reason why a description does not fit its mapping.
#[derive(Debug, Error)]
pub enum Unfit {
    #[error("it describes no field; add a [[field]], or remove the file to publish plain bytes")]
    NoField,
    #[error(transparent)]
    Field(#[from] tcasm_core::field::FieldError),
    #[error(
        "field {name:?} is at offset {offset}, which is no multiple of the page size {page}; \
         versions consist of pages, so move it in the program, or describe it as a part of a \
         field of bytes"
    )]
    Offset {
        name: String,
        offset: u64,
        page: u64,
    },
    #[error(
        "{what} has {bytes} bytes at offset {offset}, which are not all in the mapping of {len} \
         bytes"
    )]
    Outside {
        what: String,
        offset: u64,
        bytes: u64,
        len: u64,
    },
    #[error("fields {first:?} and {second:?} overlap, or share a page")]
    Overlap { first: String, second: String },
    #[error("two fields are called {0:?}")]
    Twice(String),
    #[error("{0} cannot be complex")]
    Complex(&'static str),
}

impl Description {
    /// Returns the description of the region `name`: the file that the environment names, or the
    /// file `NAME.toml` in `folder`, or if there is none, a field `bytes` of all of the mapping.
    pub fn find(name: &str, folder: &Path, len: usize) -> Result<Self, Error> {
        let file = format!("{name}.toml");
        let chosen = std::env::var_os(ENV).filter(|path| !path.is_empty());
        let path = match chosen.map(PathBuf::from) {
            Some(path) if path.is_dir() => path.join(file),
            Some(path) => return Description::read(&path, len),
            None => folder.join(file),
        };
        match path.exists() {
            true => Description::read(&path, len),
            false => Ok(Description::bytes(len)),
        }
    }

    /// Returns the description of a mapping of which nothing is known.
    fn bytes(len: usize) -> Self {
        Description {
            fields: vec![FieldDesc::new("bytes", DType::U8, &[len])],
            ..Description::default()
        }
    }

    fn read(path: &Path, len: usize) -> Result<Self, Error> {
        let path = path.to_owned();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(Error::Read { path, source }),
        };
        let file: Written = match toml::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                let text = in_one_line(&error, &text);
                return Err(Error::Parse { path, text });
            }
        };
        let described = Description::of(file, len as u64);
        described.map_err(|source| Error::Content { path, source })
    }

    fn of(file: Written, len: u64) -> Result<Self, Unfit> {
        let clock = Clock {
            step: file.step.map(|n| n.place("step", len)).transpose()?,
            time: file.time.map(|n| n.place("time", len)).transpose()?,
        };
        let fields = file.field.into_iter().map(|field| field.described(len));
        let mut fields: Vec<FieldDesc> = fields.collect::<Result<_, _>>()?;
        fields.sort_by_key(|field| field.offset);
        check_together(&fields)?;
        Ok(Description {
            fields,
            clock,
            attributes: file.region.attributes,
            versions: file.region.versions,
            history: file.region.history,
            memory: file.region.memory,
        })
    }
}

/// Returns the error of a parser with its line, in one line of text.
fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    format!("line {line}: {}", error.message())
}

fn check_together(fields: &[FieldDesc]) -> Result<(), Unfit> {
    if fields.is_empty() {
        return Err(Unfit::NoField);
    }
    let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Unfit::Twice(pair[0].to_owned()));
    }
    let page = page_size() as u64;
    let meets = |pair: &&[FieldDesc]| pair[0].range().end.next_multiple_of(page) > pair[1].offset;
    match fields.windows(2).find(meets) {
        Some(pair) => Err(Unfit::Overlap {
            first: pair[0].name.clone(),
            second: pair[1].name.clone(),
        }),
        None => Ok(()),
    }
}

/// A description as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    region: WrittenRegion,
    step: Option<WrittenNumber>,
    time: Option<WrittenNumber>,
    #[serde(default)]
    field: Vec<WrittenField>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRegion {
    versions: Option<usize>,
    history: Option<usize>,
    memory: Option<u64>,
    #[serde(default)]
    attributes: BTreeMap<String, Attr>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNumber {
    offset: u64,
    dtype: WrittenType,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    dtype: WrittenType,
    shape: Vec<usize>,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    order: WrittenOrder,
    #[serde(default = "one")]
    components: usize,
    #[serde(default)]
    ghosts: Vec<[usize; 2]>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    centering: Centering,
    origin: Option<[f64; 3]>,
    spacing: Option<[f64; 3]>,
    #[serde(default)]
    attributes: BTreeMap<String, Attr>,
}

fn one() -> usize {
    1
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum WrittenOrder {
    #[default]
    #[serde(alias = "c")]
    C,
    #[serde(alias = "F", alias = "fortran")]
    Fortran,
}

/// A type under its name in numpy.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct WrittenType(DType);

impl TryFrom<String> for WrittenType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
        found.map(WrittenType).ok_or_else(|| {
            let names = DType::ALL.map(DType::name).join(", ");
            format!("unknown dtype {name:?}; use one of {names}")
        })
    }
}

impl WrittenNumber {
    fn place(&self, what: &'static str, len: u64) -> Result<Place, Unfit> {
        let WrittenType(dtype) = self.dtype;
        if !clock::is_number(dtype) {
            return Err(Unfit::Complex(what));
        }
        check_inside(what.to_owned(), self.offset, dtype.size() as u64, len)?;
        let offset = self.offset as usize;
        Ok(Place { offset, dtype })
    }
}

impl WrittenField {
    fn described(self, len: u64) -> Result<FieldDesc, Unfit> {
        let mesh = (self.origin.is_some() || self.spacing.is_some()).then(|| Mesh {
            origin: self.origin.unwrap_or_default(),
            spacing: self.spacing.unwrap_or([1.0; 3]),
        });
        let plain = FieldDesc::new(&self.name, self.dtype.0, &self.shape);
        let field = FieldDesc {
            offset: self.offset,
            order: match self.order {
                WrittenOrder::C => Order::C,
                WrittenOrder::Fortran => Order::F,
            },
            components: self.components,
            ghosts: match self.ghosts.is_empty() {
                true => plain.ghosts.clone(),
                false => self.ghosts,
            },
            unit: self.unit,
            centering: self.centering,
            mesh,
            attrs: self.attributes,
            ..plain
        };
        let bytes = field.check()?;
        field.check_mesh()?;
        let (name, offset, page) = (field.name.clone(), field.offset, page_size() as u64);
        if !offset.is_multiple_of(page) {
            return Err(Unfit::Offset { name, offset, page });
        }
        check_inside(format!("field {name:?}"), offset, bytes, len)?;
        Ok(field)
    }
}

fn check_inside(what: String, offset: u64, bytes: u64, len: u64) -> Result<(), Unfit> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        _ => Err(Unfit::Outside {
            what,
            offset,
            bytes,
            len,
        }),
    }
}

#[cfg(test)]
mod tests;
