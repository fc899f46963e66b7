//! The data that a command looks at: of one version of a region, or of one step of a group.

use crate::failure::{Code, Failure};
use crate::named::{self, Named};
use crate::ranks::Ranks;
use crate::{output, region};
use serde::Serialize;
use std::fmt;
use std::ops::Range;
use tcasm_core::field::{FieldDesc, Order};
use tcasm_core::with_dtype;
use tcasm_observer::{GlobalField, GroupVersion, Version};

/// A pinned version of a region, or a pinned step of all ranks of a group.
pub enum Source {
    Region(Version),
    Group(GroupVersion),
}

/// A field of a region, or an array of which the ranks of a group have blocks.
pub enum Subject<'s> {
    Field(&'s Version, &'s FieldDesc),
    Blocks(Box<Blocks<'s>>),
}

/// An array of which the ranks of this host have blocks. Indices that no block has are errors.
pub struct Blocks<'s> {
    /// The whole array. Slices have its indices.
    pub all: GlobalField<'s>,
    /// The part that is on this host, which is taken without a slice.
    pub here: GlobalField<'s>,
    /// True if `all` has only the fields of this host, and other hosts have more.
    lacks_ranks: bool,
}

/// The time of the data. A group has no numbers of versions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Moment {
    version: Option<u64>,
    step: u64,
    time: f64,
}

impl Source {
    /// Attaches to what `name` means, and pins version `number`, or the newest.
    pub fn pin(name: &str, number: Option<u64>) -> Result<Source, Failure> {
        match (named::attach(name)?, number) {
            (Named::Region(observer), _) => {
                Ok(Source::Region(region::pin(observer, name, number)?))
            }
            (Named::Group(mut group), None) => Ok(Source::Group(group.latest()?)),
            (Named::Group(_), Some(_)) => {
                let text = format!(
                    "{name:?} is a group: its ranks have a step in common, but no number of a \
                     version; leave --version out, or name the region of a rank ({name}.0)"
                );
                Err(Failure::new(Code::Usage, text))
            }
        }
    }

    /// Returns the field `name`. In a group it is the global array, or without one the fields of
    /// all ranks, one behind the other along their first axis.
    pub fn field(&self, name: &str) -> Result<Subject<'_>, Failure> {
        match self {
            Source::Region(version) => Ok(Subject::Field(version, region::field(version, name)?)),
            Source::Group(version) => {
                let is_local = version
                    .blocks(name)
                    .all(|block| block.field.global.is_none());
                let all = match is_local {
                    true => version.concatenated(name)?,
                    false => version.global(name)?,
                };
                let lacks_ranks = version.members().len() < version.ranks() as usize;
                Ok(Subject::Blocks(Box::new(Blocks {
                    here: all.here(),
                    all,
                    lacks_ranks: is_local && lacks_ranks,
                })))
            }
        }
    }

    pub fn moment(&self) -> Moment {
        match self {
            Source::Region(version) => Moment::of(version),
            Source::Group(version) => Moment {
                version: None,
                step: version.step(),
                time: version.time(),
            },
        }
    }
}

impl Subject<'_> {
    /// Returns the description of the field, or of the array as if one region had it.
    pub fn desc(&self) -> &FieldDesc {
        match self {
            Subject::Field(_, desc) => desc,
            Subject::Blocks(blocks) => blocks.all.desc(),
        }
    }

    /// Describes what is here of the array of a group, or of the indices `part` of it.
    pub fn ranks(&self, part: Option<&[Range<usize>]>) -> Option<Ranks> {
        match self {
            Subject::Field(..) => None,
            Subject::Blocks(blocks) => Some(Ranks::of(&blocks.all, part, blocks.lacks_ranks)),
        }
    }

    /// Calls `work` with the description, and with a function that copies bytes of the field, from
    /// an offset on. Of a group it is the part that is on this host, in C order, whatever the order
    /// of the blocks is. Floats that no block has are NaN.
    pub fn read<R>(
        &self,
        work: impl FnOnce(&FieldDesc, &ReadBytes<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match self {
            Subject::Field(version, desc) => {
                work(
                    desc,
                    &|at, out| Ok(version.read_bytes(&desc.name, at, out)?),
                )
            }
            Subject::Blocks(blocks) => {
                let here = blocks.here.clone().or_nan();
                let desc = FieldDesc {
                    order: Order::C,
                    ..here.desc().clone()
                };
                with_dtype!(desc.dtype, T => {
                    let view = here.view::<T>()?;
                    work(&desc, &|at, out| Ok(view.read_bytes(at, out)?))
                })
            }
        }
    }
}

/// Copies bytes of a field, from an offset on. Several threads may call it at the same time.
pub type ReadBytes<'r> = dyn Fn(u64, &mut [u8]) -> Result<(), Failure> + Sync + 'r;

impl Moment {
    fn of(version: &Version) -> Self {
        Moment {
            version: Some(version.number()),
            step: version.step(),
            time: version.time(),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.version {
            write!(f, "version {version}  ")?;
        }
        write!(f, "step {}  t = {}", self.step, output::number(self.time))
    }
}
