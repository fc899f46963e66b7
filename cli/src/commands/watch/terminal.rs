//! The terminal: taken at the start, given back on every way out.

use super::input::Event;
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

/// Bytes that are written at once: a screen with another colour in each cell.
const BUFFER: usize = 256 << 10;

/// Whether the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours. Dropped, it is given back.
pub struct Screen {
    /// Never dropped: it would complain where the terminal is gone. What it would do, [`leave`] does.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<File>>>>,
}

impl Screen {
    /// Take the terminal. When a thread panics, it is given back, and `sender` is told.
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

    /// Its size.
    pub fn area(&self) -> io::Result<Rect> {
        Ok(self.terminal.size()?.into())
    }

    /// Draw what has changed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Draw everything the next time. (`clear` would ask the terminal where its cursor is, and wait for an answer.)
    pub fn forget(&mut self) -> io::Result<()> {
        let area = self.area()?;
        self.terminal.resize(area)
    }

    /// Give the terminal back, and stop until the shell lets the program go on.
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

/// A way to the terminal without the lock of standard output: who is stuck in writing would hold that.
fn output() -> io::Result<File> {
    Ok(File::from(stdout().as_fd().try_clone_to_owned()?))
}

fn take() -> io::Result<()> {
    TAKEN.store(true, SeqCst);
    log::hold();
    enable_raw_mode()?;
    execute!(output()?, EnterAlternateScreen, Hide)
}

/// Give the terminal back, if it is ours.
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

/// The terminal takes nothing: give back what can be given back without writing to it.
pub fn abandon() {
    let _ = disable_raw_mode();
}
