//! The reasons why a version could not be appended, and what may succeed after them.

use crate::failure::{Code, Failure};
use crate::files::stored::Choice;
use tcasm_checkpoint::WriteError;
use tcasm_core::field::{FieldDesc, FieldTable};

/// Why a version could not be appended.
#[derive(Debug)]
pub struct Trouble {
    pub failure: Failure,
    pub retry: Retry,
}

/// The attempts that may succeed after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt at the same version.
    SameVersion,
    /// A later version. This one can never be appended.
    LaterVersion,
    /// Nothing.
    Never,
}

impl Trouble {
    /// Returns the trouble with the fields of `table`, of which the part `choice` is to be stored.
    /// A part that does not exist may exist later, if it does where all lengths are the largest
    /// ones.
    pub fn of_part(failure: Failure, choice: &Choice, table: &FieldTable) -> Self {
        let does_not_fit = failure.code == Code::Usage;
        match does_not_fit && fits_at_capacity(choice, table) {
            true => Trouble {
                failure,
                retry: Retry::LaterVersion,
            },
            false => failure.into(),
        }
    }
}

/// Returns true if the part `choice` exists of all of its fields when they have their largest
/// lengths.
fn fits_at_capacity(choice: &Choice, table: &FieldTable) -> bool {
    choice.fits(&FieldTable {
        fields: table.fields.iter().map(FieldDesc::at_capacity).collect(),
        ..table.clone()
    })
}

impl From<WriteError> for Trouble {
    fn from(error: WriteError) -> Self {
        let retry = match &error {
            WriteError::Cells { .. } => Retry::LaterVersion,
            error if error.may_pass() => Retry::SameVersion,
            _ => Retry::Never,
        };
        let failure = error.into();
        Trouble { failure, retry }
    }
}

impl From<Failure> for Trouble {
    /// Only a lost lease is permanent, and arguments that do not fit the fields or the series.
    fn from(failure: Failure) -> Self {
        use Code::{NoField, NotAllowed, OtherRun, Usage};
        let retry = match failure.code {
            NotAllowed | NoField | Usage | OtherRun => Retry::Never,
            _ => Retry::SameVersion,
        };
        Trouble { failure, retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::args::Part;
    use clap::Parser;
    use tcasm_core::field::DType;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        part: Part,
    }

    /// Returns what may succeed after a failure to store the part that `args` name.
    fn retry(args: &[&str], table: &FieldTable) -> Retry {
        let args = Args::try_parse_from([&["x"], args].concat()).unwrap();
        let failure = Failure::new(Code::Usage, "it does not fit");
        Trouble::of_part(failure, &Choice::from(&args.part), table).retry
    }

    #[test]
    fn part_that_a_longer_field_has_may_be_stored_of_a_later_version() {
        let mut x = FieldDesc::new("x", DType::F64, &[1]);
        x.capacity = Some(9);
        let table = FieldTable {
            fields: vec![x, FieldDesc::new("t", DType::F64, &[3, 4])],
            ..FieldTable::default()
        };
        let later = |args: &[&str]| retry(args, &table) == Retry::LaterVersion;
        assert!(later(&["--fields", "x", "--slice", "5"]));
        assert!(later(&["--fields", "x", "--slice", "8:20"]));
        assert!(!later(&["--fields", "x", "--slice", "9"]));
        assert!(!later(&["--fields", "x", "--slice", "0,0"]));
        assert!(!later(&["--slice", "5"]), "t has no such part");
        assert!(later(&["--slice", "2"]));
    }

    #[test]
    fn version_with_wrong_cells_is_not_tried_again_but_the_next_one_is() {
        let (mesh, why) = ("m".to_owned(), "a cell".to_owned());
        let trouble = Trouble::from(WriteError::Cells { mesh, why });
        assert_eq!(trouble.retry, Retry::LaterVersion);
        let failure = |code| Trouble::from(Failure::new(code, "")).retry;
        assert_eq!(failure(Code::Io), Retry::SameVersion);
        assert_eq!(failure(Code::NoField), Retry::Never);
    }
}
