//! Fields of versions, declared for peers that do not attach to the region.

use crate::declaration::Declaration;
use crate::error::DeclareError;
use std::num::NonZeroU64;
use std::sync::Arc;
use tcasm_observer::{Version, View, ViewError};
use thiserror::Error;

/// The reason why a field of a version cannot be declared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The field cannot be mapped here.
    #[error(transparent)]
    Map(#[from] ViewError),
    /// The field has no bytes, or cannot be declared otherwise.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// The version was never published.
    #[error("version 0 has no fields; declare one that is published")]
    Unpublished,
}

impl Declaration {
    /// Declares a field of a version, for reading. Peers read any of its bytes
    /// ([`Peer::read_version`](crate::Peer::read_version)), and need neither attach to the region
    /// nor map it.
    ///
    /// The field is mapped in this process, and the version is held as long as the declaration or a
    /// transfer of it exists. [`Owner::set_version`](crate::Owner::set_version) replaces it by the
    /// same field of a newer version.
    pub fn field(version: &Version, name: &str) -> Result<Self, FieldError> {
        let number = NonZeroU64::new(version.number()).ok_or(FieldError::Unpublished)?;
        let field = MappedField {
            view: version.view_of(&[name])?,
            name: name.to_owned(),
        };
        // Errors have a reason here. `as_ref` returns no bytes for them.
        field.view.bytes(name)?;
        Ok(Declaration::version(number, Arc::new(field))?)
    }
}

/// A field that is mapped.
struct MappedField {
    view: View,
    name: String,
}

impl AsRef<[u8]> for MappedField {
    fn as_ref(&self) -> &[u8] {
        self.view.bytes(&self.name).unwrap_or(&[])
    }
}
