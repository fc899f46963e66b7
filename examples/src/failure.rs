//! The error type of the example programs. A program that fails prints its message and exits with
//! status 1.

use std::error::Error;
use std::fmt;

/// The result of `main` of an example.
pub type Outcome = Result<(), Failure>;

/// Any error. Rust prints the error that `main` returns with `Debug`, which here prints the plain
/// message.
pub struct Failure(Box<dyn Error>);

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(Box::new(error))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
