//! A process for tests: it does what its standard input says, a command a line, and answers each
//! with a line that begins with `ok`, or with `error` and the variant's name. Commands about
//! regions are in `regions.rs`, about attachments in `attachments.rs`, about the process's rights
//! and limits in `rights.rs`, about its memory as a whole in `memory.rs`, about the folder of
//! sockets in `folder.rs`, about forked children in `children.rs`.

mod attachments;
mod children;
mod folder;
mod memory;
mod regions;
mod rights;

use attachments::Attachment;
use regions::Region;
use std::fmt::{Debug, Display};

/// Everything that the process has. Where there are several, the last one is meant.
#[derive(Default)]
struct Puppet {
    regions: Vec<Region>,
    attachments: Vec<Attachment>,
}

/// What to answer.
type Answer = Result<String, String>;

/// An error as the test wants to see it: the variant's name, then the text for users.
fn failed(error: impl Debug + Display) -> String {
    let debug = format!("{error:?}");
    let variant = debug
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    format!("{variant}: {error}")
}

impl Puppet {
    fn obey(&mut self, command: &str) -> Answer {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["fork", ..] => self.in_child(command.trim_start_matches("fork ")),
            ["leave-child"] => children::leave_child(),
            [verb, arguments @ ..] => {
                let done = rights::obey(verb, arguments)
                    .or_else(|| memory::obey(verb, arguments))
                    .or_else(|| folder::obey(verb, arguments))
                    .or_else(|| regions::obey(&mut self.regions, verb, arguments))
                    .or_else(|| attachments::obey(&mut self.attachments, verb, arguments));
                done.unwrap_or_else(|| Err(format!("Unknown: {command:?} is no command")))
            }
            [] => Err("Unknown: an empty command".into()),
        }
    }

    fn answer(&mut self, command: &str) -> String {
        line(self.obey(command))
    }
}

/// The line for the test.
fn line(answer: Answer) -> String {
    match answer {
        Ok(text) => format!("ok {text}"),
        Err(text) => format!("error {}", text.replace('\n', " ")),
    }
}

fn main() {
    tcasm_tests::child::die_with_parent();
    let mut puppet = Puppet::default();
    for command in std::io::stdin().lines().map_while(Result::ok) {
        println!("{}", puppet.answer(&command));
    }
}
