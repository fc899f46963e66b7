//! The answers of the process.

use std::fmt::{Debug, Display};

/// The answer to a command, or the text of an error.
pub type Answer = Result<String, String>;

/// Formats an error for the test: the name of the variant, then the text for users.
pub fn failed(error: impl Debug + Display) -> String {
    let debug = format!("{error:?}");
    let variant = debug
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    format!("{variant}: {error}")
}

/// Returns the answer as a line for the test.
pub fn line(answer: Answer) -> String {
    match answer {
        Ok(text) => format!("ok {text}"),
        Err(text) => format!("error {}", text.replace('\n', " ")),
    }
}
