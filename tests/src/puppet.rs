//! The client side of the program `puppet`, a process with producers and observers. It obeys
//! commands, one per line. See `bin/puppet` for the commands.

use crate::child::{Child, DEADLINE, Received};
use std::path::Path;

/// A running `puppet`.
#[derive(Debug)]
pub struct Puppet {
    /// The process.
    pub child: Child,
}

impl Puppet {
    /// Starts `program`, which must be `puppet`, with sockets in `dir`.
    pub fn start(program: &str, dir: &Path) -> Puppet {
        Puppet::with_env(program, dir, &[])
    }

    /// Does the same with additional environment variables.
    pub fn with_env(program: &str, dir: &Path, env: &[(&str, &str)]) -> Puppet {
        let child = Child::start(program, &[], dir, env);
        Puppet { child }
    }

    /// Sends a command and returns the answer, or `None` if the process dies.
    pub fn ask(&mut self, command: &str) -> Option<String> {
        self.child.send(command);
        match self.child.receive(DEADLINE) {
            Received::Line(line) => Some(line),
            Received::Ended => None,
            Received::Nothing => panic!("{command:?}: no answer within {DEADLINE:?}"),
        }
    }

    /// Returns the answer to a command that must succeed.
    pub fn ok(&mut self, command: &str) -> String {
        let answer = self
            .ask(command)
            .unwrap_or_else(|| panic!("{command:?}: it died"));
        match answer.strip_prefix("ok") {
            Some(rest) => rest.trim_start().to_owned(),
            None => panic!("{command:?}: {answer}"),
        }
    }

    /// Returns the answer to a command that must fail: the name of the variant and the text of the
    /// error.
    pub fn error(&mut self, command: &str) -> String {
        let answer = self
            .ask(command)
            .unwrap_or_else(|| panic!("{command:?}: it died"));
        match answer.strip_prefix("error ") {
            Some(rest) => rest.to_owned(),
            None => panic!("{command:?} worked: {answer}"),
        }
    }

    /// Sends a command that the process must not survive.
    pub fn dies_of(&mut self, command: &str) {
        assert_eq!(self.ask(command), None, "{command:?}");
        self.child.wait();
    }

    /// Returns the number after `key=` in the answer to a command.
    pub fn number(&mut self, command: &str, key: &str) -> u64 {
        let answer = self.ok(command);
        number(&answer, key).unwrap_or_else(|| panic!("{command:?}: no {key} in {answer:?}"))
    }
}

/// Returns the number after `key=` in a line.
pub fn number(line: &str, key: &str) -> Option<u64> {
    let value = |word: &str| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok();
    line.split(' ').find_map(value)
}
