//! The events that the main loop waits for.

use ratatui::crossterm::event::KeyEvent;

/// An event for the main loop.
#[derive(Debug)]
pub enum Event {
    /// The client has an update to take.
    News,
    /// A key was pressed.
    Key(KeyEvent),
    /// The size of the terminal has changed.
    Resized,
    /// Another program may have written to the terminal.
    Redraw,
    /// A signal asks the program to end, or the terminal is gone.
    End,
    /// A thread panicked.
    Broken,
}
