//! The errors of a producer, one enum for each operation.

mod create;
mod define;
mod launch;
mod publish;
mod view;

pub use create::CreateError;
pub(crate) use create::LAST_FIRST;
pub use define::{DefineError, Structure};
pub use launch::{EnvError, Looked};
pub use publish::{PublishError, RollbackError};
pub use view::ViewError;
