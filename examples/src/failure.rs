//! How an example program ends when something fails: with a message for people, and exit status 1.

use std::error::Error;
use std::fmt;

/// What `main` of an example returns.
pub type Outcome = Result<(), Failure>;

/// Any error. Rust prints what `main` returns by `Debug`, which here is the message itself.
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
