//! `tcasm mirror`: shows a region of another machine as a region of this one.

mod connection;

use crate::args::MirrorArgs;
use crate::failure::{Code, Failure};
use crate::output;
use crate::plain::plain;
use crate::signals::Signals;
use connection::{Connection, Received};
use std::io::{BufRead, stdin};
use std::time::{Duration, Instant};
use tcasm_core::group::rank_of;
use tcasm_relay::{Incoming, RelayError};

/// The time without a message after which the server is gone. It asks three times as often whether
/// this program is still there.
const SILENCE: Duration = Duration::from_secs(30);
/// The pause while observers of a mirror leave no room for a step.
const PAUSE: Duration = Duration::from_millis(5);

pub fn run(args: &MirrorArgs) -> Result<(), Failure> {
    let url = match args.url.as_str() {
        "-" => read_line()?,
        url => url.to_owned(),
    };
    let signals = Signals::catch()?;
    let mut connection = Connection::open(url.trim(), args.name.as_deref())?;
    let (mut incoming, mut said, mut heard) = (Incoming::default(), false, Instant::now());
    while !signals.end() {
        match connection.receive()? {
            Received::Message(message) => {
                incoming.take(&message)?;
                let published = publish(&mut incoming, &signals)?;
                if published && !said {
                    check_names(&incoming, args.name.as_deref())?;
                    output::text(&greeting(&incoming))?;
                    said = true;
                }
            }
            Received::Sign => {}
            Received::Nothing if heard.elapsed() < SILENCE => continue,
            Received::Nothing => {
                let text = "the other side does not answer any more; start this command again";
                return Err(Failure::new(Code::NoAnswer, text));
            }
            Received::End => break,
        }
        heard = Instant::now();
        connection.say_that_this_is_here()?;
    }
    connection.close();
    Ok(())
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    match stdin().lock().read_line(&mut line) {
        Ok(_) => Ok(line),
        Err(error) => {
            let text = format!("cannot read the address from standard input: {error}");
            Err(Failure::new(Code::Io, text))
        }
    }
}

/// Publishes the step if all of it has come. Returns true if it did.
fn publish(incoming: &mut Incoming, signals: &Signals) -> Result<bool, Failure> {
    loop {
        if incoming.publish()? {
            return Ok(true);
        }
        if !incoming.waits_for_room() || signals.end() {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns an error if the other side has sent something else than what was asked for.
fn check_names(incoming: &Incoming, asked: Option<&str>) -> Result<(), Failure> {
    let Some(asked) = asked else { return Ok(()) };
    let is_asked = |name: &str| name == asked || rank_of(asked, name).is_some();
    match incoming.names().find(|name| !is_asked(name)) {
        None => Ok(()),
        Some(name) => {
            let text = format!("the other side has sent region {name:?} instead of {asked:?}");
            Err(Failure::new(Code::Other, text))
        }
    }
}

fn greeting(incoming: &Incoming) -> String {
    let names: Vec<&str> = incoming.names().collect();
    let what = match names[..] {
        [name] => plain(name).to_string(),
        _ => format!("{} regions: {}", names.len(), plain(&names.join(", "))),
    };
    format!("mirrors {what} (Ctrl-C ends it)\n")
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        Failure::new(Code::Other, error.to_string())
    }
}
