//! The test's end of the program `puppet`: a process that has producers and observers, and does
//! with them what it is told, a line at a time. See `bin/puppet` for what it understands.

use crate::child::{Child, DEADLINE, Said};
use std::path::Path;

/// A puppet.
#[derive(Debug)]
pub struct Puppet {
    /// The process.
    pub child: Child,
}

impl Puppet {
    /// Start `program`, which must be the puppet, with sockets in `dir`.
    pub fn start(program: &str, dir: &Path) -> Puppet {
        Puppet::with_env(program, dir, &[])
    }

    /// The same with variables in its environment.
    pub fn with_env(program: &str, dir: &Path, env: &[(&str, &str)]) -> Puppet {
        let child = Child::start(program, &[], dir, env);
        Puppet { child }
    }

    /// Tell it something, and hear its answer; none if it dies.
    pub fn ask(&mut self, command: &str) -> Option<String> {
        self.child.tell(command);
        match self.child.hear(DEADLINE) {
            Said::Line(line) => Some(line),
            Said::Ended => None,
            Said::Nothing => panic!("{command:?}: no answer within {DEADLINE:?}"),
        }
    }

    /// What it answers to something that must work.
    pub fn ok(&mut self, command: &str) -> String {
        let answer = self
            .ask(command)
            .unwrap_or_else(|| panic!("{command:?}: it died"));
        match answer.strip_prefix("ok") {
            Some(rest) => rest.trim_start().to_owned(),
            None => panic!("{command:?}: {answer}"),
        }
    }

    /// What it answers to something that must fail: the error's variant and its text.
    pub fn error(&mut self, command: &str) -> String {
        let answer = self
            .ask(command)
            .unwrap_or_else(|| panic!("{command:?}: it died"));
        match answer.strip_prefix("error ") {
            Some(rest) => rest.to_owned(),
            None => panic!("{command:?} worked: {answer}"),
        }
    }

    /// Tell it something that it does not survive.
    pub fn dies_of(&mut self, command: &str) {
        assert_eq!(self.ask(command), None, "{command:?}");
        self.child.wait();
    }

    /// The number behind `key=` in what it answers.
    pub fn number(&mut self, command: &str, key: &str) -> u64 {
        let answer = self.ok(command);
        number(&answer, key).unwrap_or_else(|| panic!("{command:?}: no {key} in {answer:?}"))
    }
}

/// The number behind `key=` in a line.
pub fn number(line: &str, key: &str) -> Option<u64> {
    let value = |word: &str| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok();
    line.split(' ').find_map(value)
}
