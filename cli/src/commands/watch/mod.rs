//! `tcasm watch`: shows a region live in a terminal.
//!
//! The program is one client of the hub (`tcasm_view`), in the same process. `model` holds the
//! state of the region and the choice of the user. Each panel has a file that draws it. Only
//! `input` and `terminal` use the terminal itself.

mod chart;
mod choice;
mod colours;
mod event;
mod fields;
mod help;
mod histogram;
mod image;
mod input;
mod keys;
mod model;
mod panel;
mod places;
mod producer;
mod records;
mod scatter;
mod screen;
mod slice;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod versions;

use crate::args::WatchArgs;
use crate::failure::{Code, Failure};
use crate::mirror::{self, Mirror};
use crate::{output, wait};
use choice::Action;
use colours::Depth;
use event::Event;
use model::Model;
use places::Places;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};
use tcasm_view::{Client, Hub, Options};
use terminal::Screen;

pub fn run(args: &WatchArgs) -> Result<(), Failure> {
    need_terminal(&args.name)?;
    let mirror = mirror::of_group(&args.name)?;
    let region = mirror.as_ref().map_or(args.name.as_str(), Mirror::name);
    wait::expect(region, &args.wait, || false, output::note)?;
    let least = Duration::from_secs(1) / args.rate;
    let (sender, events) = mpsc::channel();
    let screen = Screen::enter(sender.clone()).map_err(no_terminal)?;
    input::listen(&sender).map_err(no_terminal)?;
    let options = Options {
        frame: least,
        ..Options::default()
    };
    let hub = Hub::start(region, options)
        .map_err(|e| Failure::new(Code::Other, format!("cannot start a thread: {e}")))?;
    let client = hub.client(move || drop(sender.send(Event::News)));
    let mut main_loop = MainLoop {
        model: Model::new(&args.name),
        client,
        screen,
        depth: Depth::of_environment(),
        least,
        due: Instant::now(),
        stale: true,
    };
    main_loop.run(&events)
}

fn need_terminal(name: &str) -> Result<(), Failure> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    let text = format!(
        "watch needs a terminal for its input and output; \
         in scripts and pipes use 'tcasm info --watch {name}'"
    );
    Err(Failure::new(Code::Usage, text))
}

fn no_terminal(error: io::Error) -> Failure {
    Failure::new(
        Code::Io,
        format!("the terminal cannot be used: {error}; try 'tcasm info --watch'"),
    )
}

/// The main loop, which connects client, model and terminal.
struct MainLoop {
    model: Model,
    client: Client,
    screen: Screen,
    depth: Depth,
    /// The least time between two drawings.
    least: Duration,
    /// The earliest time of the next drawing.
    due: Instant,
    /// True if the model has changed since the last drawing.
    stale: bool,
}

/// The next step of the main loop after an event.
enum Next {
    /// Take the next event.
    Go,
    /// No event is left: draw or wait.
    Wait,
    /// End the program.
    End,
}

impl MainLoop {
    fn run(&mut self, events: &Receiver<Event>) -> Result<(), Failure> {
        loop {
            // Taking a frame requests the next one, so a slow terminal gets fewer frames.
            self.stale |= self.model.apply(self.client.take());
            if self.stale && Instant::now() >= self.due {
                self.draw().map_err(no_terminal)?;
                continue;
            }
            if let Next::End = self.wait(events)? {
                return Ok(());
            }
        }
    }

    /// Waits for an event, and handles all events that have arrived.
    fn wait(&mut self, events: &Receiver<Event>) -> Result<Next, Failure> {
        let left = self.due.saturating_duration_since(Instant::now());
        let mut event = match self.stale {
            true => events.recv_timeout(left),
            false => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        loop {
            match event {
                Ok(event) => match self.handle(event)? {
                    Next::Go => {}
                    next => return Ok(next),
                },
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Wait),
                Err(RecvTimeoutError::Disconnected) => return Ok(Next::End),
            }
            event = events.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
    }

    fn handle(&mut self, event: Event) -> Result<Next, Failure> {
        match event {
            Event::News => {}
            Event::Resized => self.stale = true,
            Event::Redraw => self.redraw()?,
            Event::Key(key) => match keys::action(key) {
                Some(Action::Quit) if !self.model.help => return Ok(Next::End),
                Some(Action::Interrupt) => return Ok(Next::End),
                Some(Action::Suspend) => {
                    self.screen.suspend().map_err(no_terminal)?;
                    self.redraw()?;
                }
                Some(Action::Redraw) => self.redraw()?,
                action => self.stale |= self.model.act(action),
            },
            Event::End => return Ok(Next::End),
            Event::Broken => {
                let text = "a thread of this program panicked (see above); please report it";
                return Err(Failure::new(Code::Other, text));
            }
        }
        Ok(Next::Go)
    }

    /// Draws the whole screen the next time.
    fn redraw(&mut self) -> Result<(), Failure> {
        self.stale = true;
        self.screen.forget().map_err(no_terminal)
    }

    fn draw(&mut self) -> io::Result<()> {
        let places = Places::of(self.screen.area()?, &self.model.sizes());
        if let Some(request) = self.model.new_request(&places) {
            self.client.request(request);
        }
        let (model, depth) = (&self.model, self.depth);
        self.screen
            .draw(|frame| screen::draw(frame, model, depth))?;
        (self.stale, self.due) = (false, Instant::now() + self.least);
        Ok(())
    }
}
