//! Arguments that select what of a version is stored: fields, a part of each, their type, and how
//! exact they are.

use super::values::relative_error;
use clap::{Args, ValueEnum};
use tcasm_analytics::{Extract, Selection};

/// The fields that are stored.
#[derive(Clone, Debug, Default, Args)]
pub struct Fields {
    /// Store only these fields, such as u,v [default: all; of checkpoints all that the simulation
    /// has not marked as not for checkpoints]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fields: Vec<String>,
}

/// The part of each field that is stored, the type of its values, and how exact they are.
#[derive(Clone, Debug, Args)]
pub struct Part {
    #[command(flatten)]
    pub fields: Fields,
    /// Store only a part of each field, written as in numpy: '3,:,10:20'. Indices do not count
    /// ghost layers, which are left out
    #[arg(
        long,
        value_name = "SLICE",
        allow_hyphen_values = true,
        default_value_t,
        hide_default_value = true
    )]
    slice: Selection,
    /// Store only every N-th value along each axis, of those that --slice takes
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    stride: u32,
    /// Store numbers of type float64 as float32, and complex128 as complex64
    #[arg(long = "as", value_name = "TYPE", value_enum)]
    to: Option<To>,
    /// Round floats, so that they compress better: none changes by more than BOUND of itself, for
    /// example 1e-3. Integers and coordinates of meshes stay exact [default: all values are exact]
    #[arg(long, value_name = "BOUND", value_parser = relative_error)]
    pub relative_error: Option<f64>,
}

/// The types that values can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// Numbers of 32 bits
    F32,
}

impl Part {
    /// Returns the part of each field.
    pub fn extract(&self) -> Extract {
        Extract {
            selection: self.slice.clone(),
            stride: self.stride as usize,
            single: self.to == Some(To::F32),
        }
    }
}
