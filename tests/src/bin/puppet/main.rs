//! A process that obeys the commands of a test, one per line of its standard input. It answers each
//! with a line that begins with `ok`, or with `error` and the name of the variant. Commands about
//! regions are in `regions.rs`, about attachments in `attachments.rs`, about the process's rights
//! and limits in `rights.rs`, about its memory as a whole in `memory.rs`, about the folder of
//! sockets in `folder.rs`, about forked children in `children.rs`.

mod answer;
mod attachments;
mod children;
mod folder;
mod memory;
mod regions;
mod rights;

use answer::{Answer, line};
use attachments::Attachment;
use regions::Region;

/// Everything that the process has. Commands use the last one of several.
#[derive(Default)]
struct Puppet {
    regions: Vec<Region>,
    attachments: Vec<Attachment>,
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
                done.unwrap_or_else(|| Err(format!("Unknown: {command:?} is not a command")))
            }
            [] => Err("Unknown: an empty command".into()),
        }
    }

    fn answer(&mut self, command: &str) -> String {
        line(self.obey(command))
    }
}

fn main() {
    tcasm_tests::child::die_with_parent();
    let mut puppet = Puppet::default();
    for command in std::io::stdin().lines().map_while(Result::ok) {
        println!("{}", puppet.answer(&command));
    }
}
