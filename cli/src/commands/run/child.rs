//! Runs a program to its end, and passes on the signals that this process is sent.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SignalFd, siginfo};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

/// The signals that are passed on.
const PASSED_ON: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];
/// `si_code` of a signal that the kernel has sent: that of a terminal.
const OF_KERNEL: i32 = 0x80;

/// Runs the program, and returns its exit status as shells show it.
///
/// The signals are blocked here, and read one by one. The program starts with those blocked that
/// were blocked before: it inherits them from the thread that starts it.
pub fn run(command: &mut Command) -> io::Result<i32> {
    let mut signals: SigSet = PASSED_ON.into_iter().collect();
    signals.add(Signal::SIGCHLD);
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let arrived = SignalFd::new(&signals)?;
    let mut child = std::thread::scope(|scope| {
        let start = || {
            before.thread_set_mask()?;
            command.spawn()
        };
        let started = scope.spawn(start).join();
        started.unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
    })?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(of_shell(status));
        }
        match arrived.read_signal() {
            Ok(Some(info)) => pass_on(&info, &child),
            Ok(None) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends the signal to the program. A terminal has sent its signals to the program, too.
fn pass_on(info: &siginfo, child: &Child) {
    let signal = Signal::try_from(info.ssi_signo as i32);
    if let Ok(signal) = signal
        && PASSED_ON.contains(&signal)
        && info.ssi_code != OF_KERNEL
    {
        // It has not been waited for, so no other process has its id.
        let _ = kill(Pid::from_raw(child.id() as i32), signal);
    }
}

fn of_shell(status: ExitStatus) -> i32 {
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}
