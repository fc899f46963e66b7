//! What can go wrong in a case.

use std::io;
use thiserror::Error;

/// Why a case has no row.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum Failure {
    #[error("{what}: {source}")]
    Os { what: String, source: io::Error },
    #[error("{what}: {source}")]
    Method {
        what: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot be had here: {0}")]
    Unavailable(String),
    #[error("{method} has no mode {mode:?}; its modes are {modes}")]
    Mode {
        method: String,
        mode: String,
        modes: String,
    },
    #[error("there is no method {0:?}; the methods are {1}")]
    UnknownMethod(String, String),
    #[error(
        "observer {observer} was not through with the version of step {step} within {seconds} s"
    )]
    Late {
        observer: usize,
        step: u64,
        seconds: u64,
    },
    #[error("observer {observer} ended early ({how}); what it said is above")]
    ObserverEnded { observer: usize, how: String },
    #[error("the producer ended with {0}; what it said is above")]
    ProducerEnded(String),
    #[error("the producer: {0}")]
    ProducerFailed(String),
    #[error("the case did not end within {0} s; it was killed")]
    Timeout(u64),
    #[error("interrupted")]
    Interrupted,
    #[error("cannot read {what} as JSON: {source}")]
    Json {
        what: &'static str,
        source: serde_json::Error,
    },
    #[error("the figure {name} cannot be drawn: {why}")]
    Figure { name: String, why: String },
}

impl Failure {
    /// An error of a method's own library.
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

/// Names what was attempted when a system call fails.
pub trait While<T> {
    /// The same, with `what` in the message.
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
