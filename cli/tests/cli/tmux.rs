//! A terminal in tmux, where keys are pressed and the screen is read.

use crate::common::{name, runtime_dir};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A terminal of 120 x 40 in which a command runs. It shows the exit status of the command.
pub struct Tmux {
    socket: String,
}

impl Tmux {
    /// Runs `tcasm watch` with these arguments.
    pub fn watch(args: &[&str]) -> Tmux {
        Tmux::run(&format!(
            "{} watch {}",
            env!("CARGO_BIN_EXE_tcasm"),
            args.join(" ")
        ))
    }

    pub fn run(what: &str) -> Tmux {
        let socket = name("tmux");
        let dir = runtime_dir().display();
        let line = format!(
            "echo before; TCASM_RUNTIME_DIR={dir} COLORTERM=truecolor {what}; \
             echo status $?; exec cat"
        );
        let tmux = Tmux { socket };
        let size = ["-x", "120", "-y", "40"];
        tmux.command(
            &[
                &["-f", "/dev/null", "new-session", "-d"],
                &size[..],
                &["sh", "-c", &line],
            ]
            .concat(),
        );
        tmux
    }

    pub fn command(&self, args: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-L", &self.socket]).args(args);
        tmux.env_remove("TMUX").stdin(Stdio::null());
        let output = tmux.output().expect("tmux runs; ci/setup.sh installs it");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn press(&self, key: &str) {
        self.command(&["send-keys", key]);
    }

    pub fn resize(&self, width: &str, height: &str) {
        self.command(&["resize-window", "-x", width, "-y", height]);
    }

    pub fn screen(&self) -> String {
        self.command(&["capture-pane", "-p"])
    }

    /// Returns the screen with the escape sequences for its colours.
    pub fn colours(&self) -> String {
        self.command(&["capture-pane", "-p", "-e"])
    }

    /// Waits until `done` returns true for the screen. Returns the screen; panics after 30 seconds.
    pub fn until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let screen = self.screen();
            if done(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "never: {what}, on\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn until_it_says(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Checks that the command has ended with this status and restored the terminal.
    pub fn assert_left(&self, status: i32) {
        let screen = self.until_it_says(&format!("status {status}"));
        assert!(screen.starts_with("before\n"), "{screen}");
        // Typed text is echoed again, and the cursor is visible.
        self.press("typed");
        self.until_it_says("typed");
        let flags = self.command(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(flags.trim(), "0 1");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        let _ = tmux.args(["-L", &self.socket, "kill-server"]).output();
    }
}
