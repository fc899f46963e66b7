//! Waits for input: keys, signals and the end of the terminal, each in a thread of its own.

use super::event::Event;
use super::terminal::abandon;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::crossterm::event::{self, KeyEventKind};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::sync::mpsc::Sender;
use std::thread::{self, sleep};
use std::time::Duration;

/// Starts the threads. They run as long as the process lives.
pub fn listen(sender: &Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGCONT])?;
    spawn(sender, "tcasm-signals", move |sender| {
        follow_signals(&mut signals, sender);
    })?;
    spawn(sender, "tcasm-hangup", wait_for_hangup)?;
    spawn(sender, "tcasm-keys", read_keys)
}

fn spawn(
    sender: &Sender<Event>,
    name: &str,
    run: impl FnOnce(&Sender<Event>) + Send + 'static,
) -> io::Result<()> {
    let (sender, builder) = (sender.clone(), thread::Builder::new());
    let thread = builder.name(name.to_owned());
    thread.spawn(move || run(&sender)).map(drop)
}

fn read_keys(sender: &Sender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) if key.kind == KeyEventKind::Release => continue,
            Ok(event::Event::Key(key)) => Event::Key(key),
            Ok(event::Event::Resize(..)) => Event::Resized,
            Ok(_) => continue,
            Err(_) => Event::End,
        };
        let last = matches!(event, Event::End);
        if sender.send(event).is_err() || last {
            return;
        }
    }
}

/// Waits until the terminal is gone. Reading keys does not report this: crossterm tries again
/// forever.
fn wait_for_hangup(sender: &Sender<Event>) {
    let stdin = stdin();
    loop {
        // Request no events: `poll` always reports hang-up and errors.
        let mut terminal = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
        let _ = poll(&mut terminal, PollTimeout::NONE);
        if terminal[0].any() == Some(true) {
            let _ = sender.send(Event::End);
            return;
        }
    }
}

/// The time that the main loop gets to end after a signal. It takes longer only if it is blocked in
/// a write to a terminal that accepts nothing.
const TIMEOUT: Duration = Duration::from_secs(1);

fn follow_signals(signals: &mut Signals, sender: &Sender<Event>) {
    for signal in signals.forever() {
        if signal == SIGCONT {
            let _ = sender.send(Event::Redraw);
            continue;
        }
        let _ = sender.send(Event::End);
        sleep(TIMEOUT);
        abandon();
        std::process::exit(0);
    }
}
