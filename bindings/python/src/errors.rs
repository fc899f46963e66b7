//! Errors as exceptions of the package: `tcasm._errors` has the classes.

use pyo3::PyErr;
use std::fmt::Display;
use std::path::Path;
use tcasm_core::field::DType;
use tcasm_hostbuffer as hostbuffer;
use tcasm_observer as observer;
use tcasm_producer as producer;
use tcasm_transfer as transfer;

mod classes {
    use pyo3::import_exception;
    import_exception!(tcasm._errors, Error);
    import_exception!(tcasm._errors, NotReady);
    import_exception!(tcasm._errors, EndOfStream);
    import_exception!(tcasm._errors, ProducerLost);
    import_exception!(tcasm._errors, Revoked);
    import_exception!(tcasm._errors, VersionGone);
    import_exception!(tcasm._errors, FieldLost);
    import_exception!(tcasm._errors, TooManyPins);
    import_exception!(tcasm._errors, Forked);
    import_exception!(tcasm._errors, Closed);
    import_exception!(tcasm._errors, AttachError);
    import_exception!(tcasm._errors, RegionNotFound);
    import_exception!(tcasm._errors, FieldNotFound);
    import_exception!(tcasm._errors, CreateError);
    import_exception!(tcasm._errors, DefineError);
    import_exception!(tcasm._errors, CheckpointError);
    import_exception!(tcasm._errors, DeclareError);
    import_exception!(tcasm._errors, TransferError);
    import_exception!(tcasm._errors, CookieEnded);
    import_exception!(tcasm._errors, OwnerGone);
    import_exception!(tcasm._errors, OwnerSilent);
    import_exception!(tcasm._errors, HostBufferError);
    import_exception!(tcasm._errors, CannotPickle);
}
use classes::*;

/// Returns the exception for an operation on an object that was closed.
pub fn closed(what: &str) -> PyErr {
    Closed::new_err(format!("this {what} is closed; make a new one"))
}

/// Returns the exception for an object that a forked child has inherited.
pub fn forked(what: &str) -> PyErr {
    Forked::new_err(format!(
        "this process is a fork of the one that made the {what}; make one here, or start processes \
         with multiprocessing.get_context(\"spawn\")"
    ))
}

/// Returns the exception for an object that cannot be sent to another process.
pub fn cannot_pickle(what: &str, instead: &str) -> PyErr {
    CannotPickle::new_err(format!("cannot pickle {what}; {instead}"))
}

/// Returns the exception for the end of the time that a call may wait.
pub fn not_ready(timeout: f64) -> PyErr {
    NotReady::new_err(format!("there is no newer version after {timeout} s"))
}

/// Returns the exception for a region that could not be attached to.
pub fn attach(error: observer::AttachError) -> PyErr {
    use observer::AttachError as E;
    let text = error.to_string();
    match error {
        E::NotFound { .. } | E::Dead { .. } | E::Ended { .. } => RegionNotFound::new_err(text),
        _ => AttachError::new_err(text),
    }
}

/// Returns the exception for a version that could not be had.
pub fn observe(error: observer::ObserveError) -> PyErr {
    use observer::ObserveError as E;
    let text = error.to_string();
    match error {
        E::NotReady => NotReady::new_err(text),
        E::EndOfStream => EndOfStream::new_err(text),
        E::ProducerLost => ProducerLost::new_err(text),
        E::Revoked => Revoked::new_err(text),
        E::Gone { .. } => VersionGone::new_err(text),
        E::TooManyPins { .. } => TooManyPins::new_err(text),
        E::Forked => forked("observer"),
        _ => Error::new_err(text),
    }
}

/// Returns the exception for a version that could not be mapped.
pub fn view(error: observer::ViewError) -> PyErr {
    use observer::ViewError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        E::Lost { .. } => FieldLost::new_err(error.to_string()),
        E::Forked => forked("observer"),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for bytes of a version that could not be found.
pub fn read(error: observer::ReadError) -> PyErr {
    use observer::ReadError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        E::Lost { .. } => FieldLost::new_err(error.to_string()),
        E::Forked => forked("observer"),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for a group that cannot be observed, or has no such version.
pub fn group(error: observer::GroupError) -> PyErr {
    use observer::GroupError as E;
    let text = error.to_string();
    match error {
        E::NotFound { .. } | E::NoAgent { .. } => RegionNotFound::new_err(text),
        E::NotReady { .. } | E::Absent { .. } | E::OtherRun { .. } | E::NotAgreed { .. } => {
            NotReady::new_err(text)
        }
        E::EndOfStream { .. } => EndOfStream::new_err(text),
        E::Lost { .. } | E::AgentGone { .. } => ProducerLost::new_err(text),
        E::AgreedGone { .. } => VersionGone::new_err(text),
        _ => Error::new_err(text),
    }
}

/// Returns the exception for blocks that give no global array.
pub fn global_array(error: observer::GlobalArrayError) -> PyErr {
    use observer::GlobalArrayError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for any other error, with its text.
pub fn other(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// Returns the exception for a region that could not be restored.
#[cfg(feature = "files")]
pub fn restore(error: tcasm_restart::RestoreError) -> PyErr {
    use tcasm_restart::RestoreError as E;
    match error {
        E::Create(error) => create(error),
        E::Define(error) => define(error),
        E::File(error) => checkpoint(error),
        error => CreateError::new_err(error.to_string()),
    }
}

/// Returns the exception for a region that could not be created.
pub fn create(error: producer::CreateError) -> PyErr {
    CreateError::new_err(error.to_string())
}

/// Returns the exception for a field or a mesh that could not be added or changed.
pub fn define(error: producer::DefineError) -> PyErr {
    use producer::DefineError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        E::Closed => closed("producer"),
        E::Forked => forked("producer"),
        _ => DefineError::new_err(error.to_string()),
    }
}

/// Returns the exception for live memory that could not be viewed.
pub fn live(error: producer::ViewError) -> PyErr {
    use producer::ViewError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        E::Forked => forked("producer"),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for a version that could not be published.
pub fn publish(error: producer::PublishError) -> PyErr {
    use producer::PublishError as E;
    match error {
        E::Closed => closed("producer"),
        E::Forked => forked("producer"),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for a version that could not be rolled back to.
pub fn rollback(error: producer::RollbackError) -> PyErr {
    use producer::RollbackError as E;
    match error {
        E::Closed => closed("producer"),
        E::Forked => forked("producer"),
        E::NotYet { .. } | E::Gone { .. } => VersionGone::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for unused memory that could not be given back.
pub fn trim(error: std::io::Error) -> PyErr {
    Error::new_err(format!(
        "cannot give unused memory back to the system: {error}"
    ))
}

/// Returns the exception for memory that could not be declared.
pub fn declare(error: transfer::DeclareError) -> PyErr {
    match error {
        transfer::DeclareError::Forked => forked("owner"),
        _ => DeclareError::new_err(error.to_string()),
    }
}

/// Returns the exception for memory that peers would write, and that is not shared memory.
pub fn write_needs_shared() -> PyErr {
    DeclareError::new_err("peers may write only memory that is made for it: tcasm.SharedArray")
}

/// Returns the exception for a transfer that failed.
pub fn transfer(error: transfer::TransferError) -> PyErr {
    use transfer::{Status, TransferError as E};
    let text = error.to_string();
    match error {
        E::Refused(Status::NoCookie | Status::Revoked | Status::Used) => CookieEnded::new_err(text),
        E::Connect { .. } | E::OwnerGone => OwnerGone::new_err(text),
        E::TimedOut(_) => OwnerSilent::new_err(text),
        E::Forked => forked("peer"),
        _ => TransferError::new_err(text),
    }
}

/// Returns the exception for arrays that a transfer cannot use together.
pub fn pieces(error: transfer::LayoutError) -> PyErr {
    TransferError::new_err(format!("cannot transfer these arrays: {error}"))
}

/// Returns the exception for memory in pieces that could not be published.
pub fn gather(error: transfer::GatherError) -> PyErr {
    use transfer::GatherError as E;
    match error {
        E::Create(error) => create(error),
        E::Define(error) => define(error),
        E::Publish(error) => publish(error),
        E::View(error) => live(error),
        E::Attach(error) => attach(error),
        E::Observe(error) => observe(error),
        E::Declare(error) => declare(error),
        _ => Error::new_err(error.to_string()),
    }
}

/// Returns the exception for memory in several pieces, which an array cannot show.
pub fn not_in_one_piece() -> PyErr {
    TransferError::new_err(
        "the declared array is not in one piece in memory; read it, do not map it",
    )
}

/// Returns the exception for a host buffer that a process did not get, or could not seal.
pub fn host_buffer(error: hostbuffer::HostBufferError) -> PyErr {
    use hostbuffer::HostBufferError as E;
    match error {
        E::Forked => forked("host buffer"),
        _ => HostBufferError::new_err(error.to_string()),
    }
}

/// Returns the exception for a secret that cannot be read.
pub fn secret(path: &Path, error: impl Display) -> PyErr {
    HostBufferError::new_err(format!("the secret in {path:?}: {error}"))
}

/// Returns the exception for a name that is not that of a dtype.
pub fn dtype(name: &str) -> PyErr {
    let names = DType::ALL.map(DType::name).join(", ");
    DefineError::new_err(format!(
        "a field cannot have dtype {name}; use one of {names}"
    ))
}

/// Returns the exception for a vector without an axis for its components.
pub fn no_components(field: &str) -> PyErr {
    DefineError::new_err(format!(
        "field {field:?} is a vector, and its shape has no axis for the components"
    ))
}

/// Returns the exception for a block of which only one half of its place is given.
pub fn half_a_place(field: &str) -> PyErr {
    DefineError::new_err(format!(
        "field {field:?} is a block of a global array: give both global_shape and global_offset"
    ))
}

/// Returns the exception for an argument that is not one of the names that it can be.
pub fn choice(what: &str, given: &str, known: &str) -> PyErr {
    DefineError::new_err(format!("{what} cannot be {given:?}; use one of {known}"))
}

/// Returns the exception for a setting of a region that it cannot have.
pub fn setting(text: impl Into<String>) -> PyErr {
    let text: String = text.into();
    DefineError::new_err(text)
}

/// Returns the exception for a checkpoint that could not be read.
#[cfg(feature = "files")]
pub fn checkpoint(error: tcasm_checkpoint::ReadError) -> PyErr {
    use tcasm_checkpoint::ReadError as E;
    match error {
        E::NoField { .. } => FieldNotFound::new_err(error.to_string()),
        E::Lost { .. } => FieldLost::new_err(error.to_string()),
        _ => CheckpointError::new_err(error.to_string()),
    }
}
