//! What can go wrong, verb by verb.

use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tcasm_core::field::ArrayError;
use tcasm_core::index::IndexError;
use tcasm_core::lease::LeaseError;
use tcasm_core::place::BadName;
use tcasm_core::sys::mem::MapError;
use thiserror::Error;

/// Why attaching failed.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum AttachError {
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(
        "there is no region {name:?}: nothing listens at {path:?}; start the producer, or set TCASM_RUNTIME_DIR as it does"
    )]
    NotFound { name: String, path: PathBuf },
    #[error(
        "the producer of {name:?} is dead: its socket {path:?} is stale; start it again, the socket is taken over"
    )]
    Dead { name: String, path: PathBuf },
    #[error("this user may not attach to {name:?}; the producer decides who may (Builder::allow)")]
    NotAllowed { name: String },
    #[error(
        "the producer of {name:?} belongs to user {uid}; set TCASM_RUNTIME_DIR to its folder if that is what you want"
    )]
    Stranger { name: String, uid: u32 },
    #[error(
        "the producer of {name:?} uses layout version {theirs}, this program {ours}; build both from the same release"
    )]
    OtherLayout {
        name: String,
        theirs: u64,
        ours: u64,
    },
    #[error(
        "as many observers as {name:?} allows are attached; end one, or raise the producer's max_observers"
    )]
    Full { name: String },
    #[error(
        "the producer of {name:?} could not make a lease: it is out of memory or descriptors; try again later"
    )]
    Failed { name: String },
    #[error("the producer of {name:?} did not answer within {timeout:?}; it may be stopped")]
    NoAnswer { name: String, timeout: Duration },
    #[error("what answered for {name:?} is not a producer of TCASM: {what}")]
    BadAnswer { name: String, what: String },
    #[error("the producer of {name:?} ended while attaching")]
    Ended { name: String },
    #[error(
        "this process has no file descriptors left (needs {needed}); raise its limit (ulimit -n) or hold fewer"
    )]
    NoDescriptors { needed: usize },
    #[error("cannot map what the producer shares: {0}")]
    Map(#[from] MapError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error("cannot connect to {path:?}: {source}")]
    Os { path: PathBuf, source: io::Error },
}

/// Why there is no version to be had.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ObserveError {
    #[error("no (newer) version is there yet")]
    NotReady,
    #[error("end of stream: the producer has closed the region")]
    EndOfStream,
    #[error("the producer is lost: it died without closing the region")]
    ProducerLost,
    #[error("the producer has revoked this observer's lease; attach again")]
    Ousted,
    #[error("version {version} is not there (any more); there are {available:?}")]
    Gone { version: u64, available: Vec<u64> },
    #[error("{pins} versions are held already, the most at once; drop some")]
    TooManyPins { pins: usize },
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    #[error("the descriptors of the region cannot be duplicated: {0}; raise the limit (ulimit -n)")]
    Descriptors(io::Error),
    #[error(transparent)]
    Index(IndexError),
}

/// Why a version could not be mapped, or its content not be viewed.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ViewError {
    #[error("there is no field {name:?}; the version has {available:?}")]
    NoField {
        name: String,
        available: Vec<String>,
    },
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error("{name:?} holds {stored}, not {asked} of {size} bytes; use the producer's own type")]
    RawType {
        name: String,
        stored: String,
        asked: String,
        size: usize,
    },
    #[error("address {address:#x} is not that of a {asked} in the region {base:#x}..{end:#x}")]
    Pointer {
        address: u64,
        asked: String,
        base: u64,
        end: u64,
    },
    #[error(
        "{0}. One view at a time can lie at the producer's address, and an observer keeps it for its next view: use that observer, or map elsewhere with view()"
    )]
    Base(MapError),
    #[error("cannot map the version: {0}")]
    Map(#[from] MapError),
    #[error("cannot read a plane: {0}")]
    Read(#[from] io::Error),
    #[error(
        "the version is scattered over more runs than can be mapped, and memory for a copy of {bytes} bytes cannot be had: {source}; hold fewer views, or read without mapping"
    )]
    Copies { bytes: usize, source: io::Error },
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    #[error(
        "field {name:?} ends at byte {end} of a region of {bytes}: it is described for another region"
    )]
    OtherRegion { name: String, end: u64, bytes: u64 },
    #[error(transparent)]
    Index(IndexError),
}

/// Why bytes of a version could not be read.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ReadError {
    #[error("there is no field {name:?}; the version has {available:?}")]
    NoField {
        name: String,
        available: Vec<String>,
    },
    #[error("bytes {start}..{end} were asked for, of {bytes}")]
    Range { start: u64, end: u64, bytes: u64 },
    #[error("the lease was revoked while reading; attach again")]
    Ousted,
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    #[error("cannot read a plane: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Index(IndexError),
}

/// A forked child is told the same whichever verb finds out that it is one.
macro_rules! forked_or_index {
    ($($error:ident),*) => {
        $(impl From<IndexError> for $error {
            fn from(error: IndexError) -> Self {
                match error {
                    IndexError::Forked => $error::Forked,
                    other => $error::Index(other),
                }
            }
        })*
    };
}

forked_or_index!(ObserveError, ViewError, ReadError);
