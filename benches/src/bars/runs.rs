//! Measures groups of bars as root and as an ordinary user.

use super::bar::Bar;
use super::{Group, PROGRAMS};
use crate::outcome::Outcome;
use crate::programs::{self, Program, ProgramError};
use crate::user;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use tcasm_compare::user::{User, every_user_may_run};
use tempfile::TempDir;

/// A group that is measured only as the user who has started the program: its browser runs only
/// where its user may write its settings.
const AS_STARTED: &str = "pixels";

/// The bars of a group, and the rights with which they were measured.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// The rights of the process.
    pub rights: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// The processes that measure.
pub struct Runs {
    /// The folder of the ordinary user, if this process is root's and starts processes of that
    /// user.
    folder: Option<TempDir>,
}

impl Runs {
    /// Prepares to measure these groups as these users. All programs are looked for now, and not
    /// after minutes of measuring other groups.
    pub fn prepare(groups: &[Group], users: &[User]) -> Outcome<Self> {
        let other = users.iter().any(|user| *user != User::current());
        let wanted = |group: &str| groups.iter().any(|(name, _)| *name == group);
        let mut programs = Vec::new();
        for (_, program) in PROGRAMS.iter().filter(|(group, _)| wanted(group)) {
            programs.push(programs::find(program)?);
        }
        if !other {
            return Ok(Runs { folder: None });
        }
        programs.push(std::env::current_exe()?);
        let closed = |program: &PathBuf| !every_user_may_run(program);
        if let Some(program) = programs.into_iter().find(closed) {
            return Err(ProgramError::Closed(program).into());
        }
        let folder = Some(user::folder_of_ordinary()?);
        Ok(Runs { folder })
    }

    /// Measures a group as this user. Returns none if it is not measured as this user.
    pub fn measure(&self, group: &Group, user: User) -> Outcome<Option<Measured>> {
        let (name, _) = *group;
        match &self.folder {
            _ if user == User::current() => measure_here(group).map(Some),
            Some(folder) if name != AS_STARTED => elsewhere(name, folder).map(Some),
            _ => Ok(None),
        }
    }
}

/// Measures a group in this process.
pub fn measure_here((_, measure): &Group) -> Outcome<Measured> {
    Ok(Measured {
        rights: user::rights()?,
        bars: measure(),
    })
}

/// Measures a group in a process of an ordinary user, whose files are in `folder`.
fn elsewhere(group: &str, folder: &TempDir) -> Outcome<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--json", group]);
    user::run_as_ordinary(&mut command, folder.path());
    let text = Program::run("bars", command)?.finish()?;
    Ok(serde_json::from_str(&text)?)
}
