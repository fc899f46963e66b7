//! The errors of a case.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a case has no row.
#[derive(Debug, Error)]
pub enum Failure {
    /// A system call failed.
    #[error("{what}: {source}")]
    Os {
        /// The operation that failed.
        what: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// The library of a method returned an error.
    #[error("{what}: {source}")]
    Method {
        /// The operation that failed.
        what: &'static str,
        /// The error of the library.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The method cannot run on this machine, for the reason given.
    #[error("not available on this machine: {0}")]
    Unavailable(String),
    /// The method has no mode of this name.
    #[error("{method} has no mode {mode:?}; its modes are {modes}")]
    Mode {
        /// The name of the method.
        method: String,
        /// The unknown mode.
        mode: String,
        /// The modes that the method has, separated by commas.
        modes: String,
    },
    /// There is no method of the first name. The second string lists the methods that exist.
    #[error("there is no method {0:?}; the methods are {1}")]
    UnknownMethod(String, String),
    /// An observer was too slow.
    #[error("observer {observer} did not finish the version of step {step} within {seconds} s")]
    Late {
        /// The number of the observer.
        observer: usize,
        /// The step whose version the producer waited for.
        step: u64,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// An observer ended before the case did.
    #[error("observer {observer} ended early ({how}); its messages are printed above")]
    ObserverEnded {
        /// The number of the observer.
        observer: usize,
        /// The exit status of its process.
        how: String,
    },
    /// The producer ended, with the exit status given, and reported no outcome.
    #[error("the producer ended with {0} and reported no result; its messages are printed above")]
    ProducerEnded(String),
    /// The producer reported the error given.
    #[error("the producer failed: {0}")]
    ProducerFailed(String),
    /// The case ran longer than the time limit, in seconds.
    #[error("the case did not end within {0} s and was killed")]
    Timeout(u64),
    /// Cases are to run as root, but another user has started the program.
    #[error("only root can measure with --user root")]
    NotRoot,
    /// Other users may not run the program at this path.
    #[error(
        "an ordinary user may not run {0:?}; let all users enter its folders (chmod o+x) and run \
         it (chmod o+rx), or build elsewhere (CARGO_TARGET_DIR)"
    )]
    Closed(PathBuf),
    /// A signal asked the program to end.
    #[error("interrupted")]
    Interrupted,
    /// A value cannot be converted from or to JSON.
    #[error("cannot read {what} as JSON: {source}")]
    Json {
        /// The value.
        what: &'static str,
        /// The error of the JSON library.
        source: serde_json::Error,
    },
    /// A figure cannot be drawn.
    #[error("the figure {name} cannot be drawn: {why}")]
    Figure {
        /// The name of the figure.
        name: String,
        /// The reason.
        why: String,
    },
}

impl Failure {
    /// Returns a function that wraps an error of a method's own library. `what` names the attempt.
    pub fn method<E>(what: &'static str) -> impl FnOnce(E) -> Failure
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        move |source| Failure::Method {
            what,
            source: Box::new(source),
        }
    }
}

/// Adds to the error of a system call what was attempted.
pub trait While<T> {
    /// Converts the error into a [`Failure`] with `what` in its message.
    fn context(self, what: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> While<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|source| Failure::Os {
            what: what.into(),
            source: source.into(),
        })
    }
}
