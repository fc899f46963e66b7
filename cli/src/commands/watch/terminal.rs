//! Takes the terminal at the start, and restores it however the program ends.

use super::event::Event;
use crate::log;
use nix::sys::signal::{Signal, raise};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};
use std::fs::File;
use std::io::{self, BufWriter, stdout};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::Sender;

/// Size of the output buffer. It holds a screen with a different colour in each cell, so that a
/// frame is written at once.
const BUFFER: usize = 256 << 10;

/// True while this program has the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while this program has it. Dropping this value restores the terminal.
pub struct Screen {
    /// Never dropped, because its destructor prints an error if the terminal is gone. [`leave`]
    /// does what the destructor would do.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<File>>>>,
}

impl Screen {
    /// Takes the terminal. When a thread panics, restores the terminal and sends [`Event::Broken`].
    pub fn enter(sender: Sender<Event>) -> io::Result<Screen> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave();
            before(info);
            let _ = sender.send(Event::Broken);
        }));
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, output()?));
        let terminal = ManuallyDrop::new(Terminal::new(backend)?);
        let screen = Screen { terminal };
        take()?;
        Ok(screen)
    }

    /// Returns the size of the terminal.
    pub fn area(&self) -> io::Result<Rect> {
        Ok(self.terminal.size()?.into())
    }

    /// Draws what has changed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Makes the next call of `draw` draw everything. (`clear` would ask the terminal for the
    /// position of its cursor, and wait for an answer.)
    pub fn forget(&mut self) -> io::Result<()> {
        let area = self.area()?;
        self.terminal.resize(area)
    }

    /// Restores the terminal, and stops until the shell continues the program.
    pub fn suspend(&mut self) -> io::Result<()> {
        leave();
        raise(Signal::SIGTSTP)?;
        take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Opens the terminal for writing without the lock of standard output. A thread that is blocked in
/// a write would hold that lock.
fn output() -> io::Result<File> {
    Ok(File::from(stdout().as_fd().try_clone_to_owned()?))
}

/// Takes the terminal, and holds back the log.
fn take() -> io::Result<()> {
    TAKEN.store(true, SeqCst);
    log::hold();
    enable_raw_mode()?;
    execute!(output()?, EnterAlternateScreen, Hide)
}

/// Restores the terminal if this program has it, and writes the log that was held back.
fn leave() {
    if !TAKEN.swap(false, SeqCst) {
        return;
    }
    let _ = disable_raw_mode();
    if let Ok(mut output) = output() {
        let _ = execute!(output, LeaveAlternateScreen, Show);
    }
    log::release();
}

/// Restores what can be restored without writing to the terminal, for a terminal that accepts
/// nothing.
pub fn abandon() {
    let _ = disable_raw_mode();
}
