//! The statuses that functions return, and the text of the last error.

use crate::border::c_text;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use tcasm_hostbuffer as hostbuffer;
use tcasm_observer as observer;
use tcasm_producer as producer;
use tcasm_transfer as transfer;

/// All is well.
pub const TCASM_OK: c_int = 0;
/// There is no newer version yet. Try again, or wait longer.
pub const TCASM_NOT_READY: c_int = 1;
/// The producer has closed the region. Its last version can still be read.
pub const TCASM_END_OF_STREAM: c_int = 2;
/// Nothing was published, because there is no room. The changes are in the next version.
pub const TCASM_SKIPPED: c_int = 3;
/// Another error.
pub const TCASM_OTHER_ERROR: c_int = -1;
/// The producer died. Its last version can still be read. Or the owner of declared memory died.
pub const TCASM_PRODUCER_LOST: c_int = -2;
/// The producer has revoked this observer. Release its versions and attach again.
pub const TCASM_REVOKED: c_int = -3;
/// An argument is null where it must not be, or has a value that it cannot have.
pub const TCASM_INVALID_ARGUMENT: c_int = -4;
/// A handle is null, of another kind, or no handle at all.
pub const TCASM_INVALID_HANDLE: c_int = -5;
/// The object was closed or released before.
pub const TCASM_CLOSED: c_int = -6;
/// The object belongs to the parent of this forked process.
pub const TCASM_FORKED: c_int = -7;
/// There is no such region.
pub const TCASM_REGION_NOT_FOUND: c_int = -8;
/// The region exists, and could not be attached to.
pub const TCASM_NOT_ATTACHED: c_int = -9;
/// The version does not exist any more, or not yet.
pub const TCASM_VERSION_GONE: c_int = -10;
/// The observer holds as many versions as it may. Release some.
pub const TCASM_TOO_MANY_PINS: c_int = -11;
/// There is no such field, mesh or attribute.
pub const TCASM_NOT_FOUND: c_int = -12;
/// The region could not be created.
pub const TCASM_NOT_CREATED: c_int = -13;
/// The field or mesh could not be added or changed.
pub const TCASM_NOT_DEFINED: c_int = -14;
/// The owner of declared memory refuses: the cookie is unknown, revoked or used, or does not allow
/// this access.
pub const TCASM_REFUSED: c_int = -15;
/// The version has no values of the field: its memory in the producer was unmapped, moved or
/// replaced.
pub const TCASM_LOST: c_int = -16;
/// A defect of the library. Please report the text of `tcasm_last_error`.
pub const TCASM_INTERNAL_ERROR: c_int = -100;

/// A status that is not `TCASM_OK`, and its text.
#[derive(Debug)]
pub struct Failure {
    status: c_int,
    text: String,
}

impl Failure {
    /// Returns a status with its text.
    pub fn new(status: c_int, text: impl Into<String>) -> Self {
        let text = text.into();
        Failure { status, text }
    }

    /// An argument has a value that it cannot have.
    pub fn argument(text: impl Into<String>) -> Self {
        Failure::new(TCASM_INVALID_ARGUMENT, text)
    }

    /// An error of any other kind.
    pub fn other(error: impl std::fmt::Display) -> Self {
        Failure::new(TCASM_OTHER_ERROR, error.to_string())
    }

    /// Remembers the text for this thread, and returns the status. A thread that ends has no text
    /// any more: functions that run then, such as destructors and those of `atexit`, get the
    /// status.
    pub fn remember(self) -> c_int {
        let _ = LAST.try_with(|last| *last.borrow_mut() = c_text(&self.text));
        self.status
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the text of the last status of this thread that was not `TCASM_OK`, in UTF-8. It says
/// what happened and what to do about it. The text is valid until the next call of a function of
/// this library in this thread. It is empty in functions that run while the thread or the program
/// ends, such as those of `atexit`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Returns the name of a status, such as `"TCASM_NOT_READY"`, or `"unknown"`. The text is valid for
/// ever.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_status_name(status: c_int) -> *const c_char {
    name_of(status).as_ptr()
}

macro_rules! names {
    ($($status:ident),+) => {
        fn name_of(status: c_int) -> &'static CStr {
            let name = match status {
                $($status => concat!(stringify!($status), "\0"),)+
                _ => "unknown\0",
            };
            CStr::from_bytes_until_nul(name.as_bytes()).unwrap_or(c"")
        }
    };
}

names!(
    TCASM_OK,
    TCASM_NOT_READY,
    TCASM_END_OF_STREAM,
    TCASM_SKIPPED,
    TCASM_OTHER_ERROR,
    TCASM_PRODUCER_LOST,
    TCASM_REVOKED,
    TCASM_INVALID_ARGUMENT,
    TCASM_INVALID_HANDLE,
    TCASM_CLOSED,
    TCASM_FORKED,
    TCASM_REGION_NOT_FOUND,
    TCASM_NOT_ATTACHED,
    TCASM_VERSION_GONE,
    TCASM_TOO_MANY_PINS,
    TCASM_NOT_FOUND,
    TCASM_NOT_CREATED,
    TCASM_NOT_DEFINED,
    TCASM_REFUSED,
    TCASM_LOST,
    TCASM_INTERNAL_ERROR
);

/// Returns the version of this library, such as `"0.1.0"`. The text is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_library_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Implements `From` for an error type: the status of some variants, and of all others.
macro_rules! statuses {
    ($($error:ty, or $other:ident { $($variant:pat => $status:ident,)* })+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let text = error.to_string();
                #[allow(clippy::match_single_binding)]
                match error {
                    $($variant => Failure::new($status, text),)*
                    _ => Failure::new($other, text),
                }
            }
        })+
    };
}

statuses! {
    observer::AttachError, or TCASM_NOT_ATTACHED {
        observer::AttachError::NotFound { .. } => TCASM_REGION_NOT_FOUND,
        observer::AttachError::Dead { .. } => TCASM_REGION_NOT_FOUND,
        observer::AttachError::Ended { .. } => TCASM_REGION_NOT_FOUND,
        observer::AttachError::Name(_) => TCASM_INVALID_ARGUMENT,
    }
    observer::ObserveError, or TCASM_OTHER_ERROR {
        observer::ObserveError::NotReady => TCASM_NOT_READY,
        observer::ObserveError::EndOfStream => TCASM_END_OF_STREAM,
        observer::ObserveError::ProducerLost => TCASM_PRODUCER_LOST,
        observer::ObserveError::Revoked => TCASM_REVOKED,
        observer::ObserveError::Gone { .. } => TCASM_VERSION_GONE,
        observer::ObserveError::TooManyPins { .. } => TCASM_TOO_MANY_PINS,
        observer::ObserveError::Forked => TCASM_FORKED,
    }
    observer::ViewError, or TCASM_OTHER_ERROR {
        observer::ViewError::NoField { .. } => TCASM_NOT_FOUND,
        observer::ViewError::Lost { .. } => TCASM_LOST,
        observer::ViewError::SubArray { .. } => TCASM_INVALID_ARGUMENT,
        observer::ViewError::Forked => TCASM_FORKED,
    }
    observer::ReadError, or TCASM_OTHER_ERROR {
        observer::ReadError::NoField { .. } => TCASM_NOT_FOUND,
        observer::ReadError::Lost { .. } => TCASM_LOST,
        observer::ReadError::Range { .. } => TCASM_INVALID_ARGUMENT,
        observer::ReadError::Forked => TCASM_FORKED,
    }
    producer::CreateError, or TCASM_NOT_CREATED {
        producer::CreateError::Name(_) => TCASM_INVALID_ARGUMENT,
    }
    producer::DefineError, or TCASM_NOT_DEFINED {
        producer::DefineError::NoField { .. } => TCASM_NOT_FOUND,
        producer::DefineError::NoMesh { .. } => TCASM_NOT_FOUND,
        producer::DefineError::Closed => TCASM_CLOSED,
        producer::DefineError::Forked => TCASM_FORKED,
    }
    producer::ViewError, or TCASM_OTHER_ERROR {
        producer::ViewError::NoField { .. } => TCASM_NOT_FOUND,
        producer::ViewError::Gone => TCASM_LOST,
        producer::ViewError::Forked => TCASM_FORKED,
    }
    producer::PublishError, or TCASM_OTHER_ERROR {
        producer::PublishError::Closed => TCASM_CLOSED,
        producer::PublishError::Forked => TCASM_FORKED,
    }
    producer::RollbackError, or TCASM_OTHER_ERROR {
        producer::RollbackError::Closed => TCASM_CLOSED,
        producer::RollbackError::Lost { .. } => TCASM_LOST,
        producer::RollbackError::Forked => TCASM_FORKED,
        producer::RollbackError::NotYet { .. } => TCASM_VERSION_GONE,
        producer::RollbackError::Gone { .. } => TCASM_VERSION_GONE,
    }
    observer::GroupError, or TCASM_OTHER_ERROR {
        observer::GroupError::NotFound { .. } => TCASM_REGION_NOT_FOUND,
        observer::GroupError::Name(_) => TCASM_INVALID_ARGUMENT,
        observer::GroupError::NotReady { .. } => TCASM_NOT_READY,
        observer::GroupError::Absent { .. } => TCASM_NOT_READY,
        observer::GroupError::OtherRun { .. } => TCASM_NOT_READY,
        observer::GroupError::EndOfStream { .. } => TCASM_END_OF_STREAM,
        observer::GroupError::Lost { .. } => TCASM_PRODUCER_LOST,
        observer::GroupError::NoAgent { .. } => TCASM_REGION_NOT_FOUND,
        observer::GroupError::NotAgreed { .. } => TCASM_NOT_READY,
        observer::GroupError::AgentGone { .. } => TCASM_PRODUCER_LOST,
        observer::GroupError::AgreedGone { .. } => TCASM_VERSION_GONE,
    }
    observer::GlobalArrayError, or TCASM_OTHER_ERROR {
        observer::GlobalArrayError::NoField { .. } => TCASM_NOT_FOUND,
        observer::GlobalArrayError::Range { .. } => TCASM_INVALID_ARGUMENT,
    }
    transfer::OwnerError, or TCASM_NOT_CREATED {}
    transfer::DeclareError, or TCASM_NOT_DEFINED {
        transfer::DeclareError::Forked => TCASM_FORKED,
    }
    transfer::FieldError, or TCASM_NOT_DEFINED {}
    transfer::GatherError, or TCASM_NOT_CREATED {
        transfer::GatherError::Create(producer::CreateError::Name(_)) => TCASM_INVALID_ARGUMENT,
        transfer::GatherError::Publish(_) => TCASM_OTHER_ERROR,
        transfer::GatherError::View(_) => TCASM_OTHER_ERROR,
    }
    transfer::TransferError, or TCASM_OTHER_ERROR {
        transfer::TransferError::Refused(_) => TCASM_REFUSED,
        transfer::TransferError::OwnerGone => TCASM_PRODUCER_LOST,
        transfer::TransferError::TimedOut(_) => TCASM_NOT_READY,
        transfer::TransferError::Forked => TCASM_FORKED,
    }
    hostbuffer::HostBufferError, or TCASM_NOT_CREATED {
        hostbuffer::HostBufferError::Forked => TCASM_FORKED,
        hostbuffer::HostBufferError::Name(_) => TCASM_INVALID_ARGUMENT,
        hostbuffer::HostBufferError::Layout(_) => TCASM_INVALID_ARGUMENT,
        hostbuffer::HostBufferError::NoSection(_) => TCASM_NOT_FOUND,
        hostbuffer::HostBufferError::SealTimeout { .. } => TCASM_NOT_READY,
    }
}
