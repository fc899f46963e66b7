//! The reasons why the environment does not tell the place of a process in its job.

use std::fmt;
use tcasm_core::group::BadMember;
use thiserror::Error;

/// Variables of the environment that were looked at, with their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked(pub Vec<(&'static str, Option<String>)>);

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { ", " })?;
            match value {
                Some(value) => write!(f, "{name}={value:?}")?,
                None => write!(f, "{name} unset")?,
            }
        }
        Ok(())
    }
}

/// The reason why the place of a process in its job is not known: see
/// [`Group::from_env`](crate::Group::from_env).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvError {
    /// The launcher has told a part of it only.
    #[error(
        "the environment does not tell the {what}; start the program with srun or mpirun, or set \
         {own}. These variables were looked at: {looked}"
    )]
    Missing {
        /// The fact that is missing.
        what: &'static str,
        /// The variable that would tell it.
        own: &'static str,
        /// The variables.
        looked: Looked,
    },
    /// A variable is not a number.
    #[error(
        "{name}={value:?} in the environment is not a number of 0 to {}",
        u32::MAX
    )]
    Number {
        /// Name of the variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Slurm's list of hosts does not have this host.
    #[error("{name}={list:?} in the environment has no number of ranks for SLURM_NODEID={host}")]
    PerHost {
        /// Name of the variable.
        name: &'static str,
        /// Its value.
        list: String,
        /// The number of this host.
        host: u32,
    },
    /// The numbers contradict each other.
    #[error("{source}. The environment says so: {looked}")]
    Member {
        /// The contradiction.
        source: BadMember,
        /// The variables.
        looked: Looked,
    },
}
