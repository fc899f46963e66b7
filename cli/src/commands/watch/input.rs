//! What happens to the program: keys, signals, the end of the terminal. Each thread here waits for one of them.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::crossterm::event::{self, KeyEvent, KeyEventKind};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::sync::mpsc::Sender;
use std::thread::{self, sleep};
use std::time::Duration;

/// Something that the loop has to know.
#[derive(Debug)]
pub enum Event {
    /// The client has something to take.
    News,
    /// A key was pressed.
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    /// What is on the terminal may be something else's.
    Redraw,
    /// The program shall end, or the terminal is gone.
    End,
    /// A thread panicked.
    Broken,
}

/// Start to listen, for as long as the process lives.
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

/// Reading does not tell when the terminal is gone: crossterm tries again without end.
fn wait_for_hangup(sender: &Sender<Event>) {
    let stdin = stdin();
    loop {
        // No events are asked for: hang-up and errors come anyway.
        let mut terminal = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
        let _ = poll(&mut terminal, PollTimeout::NONE);
        if terminal[0].any() == Some(true) {
            let _ = sender.send(Event::End);
            return;
        }
    }
}

/// The loop ends within this time, unless it is stuck in writing to a terminal that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

fn follow_signals(signals: &mut Signals, sender: &Sender<Event>) {
    for signal in signals.forever() {
        if signal == SIGCONT {
            let _ = sender.send(Event::Redraw);
            continue;
        }
        let _ = sender.send(Event::End);
        sleep(PATIENCE);
        super::terminal::abandon();
        std::process::exit(0);
    }
}
