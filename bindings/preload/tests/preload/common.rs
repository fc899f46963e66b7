//! The puppet: a C program that is compiled without TCASM, and does what it is told under the
//! preload library.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tcasm_observer::{Observer, Version};
use tcasm_tests::child::{DEADLINE, poll_until};
use tcasm_tests::runtime_dir;
use tempfile::TempDir;

/// `msync` flags, as numbers for the puppet.
pub const ASYNC: i32 = libc::MS_ASYNC;
pub const INVALIDATE: i32 = libc::MS_INVALIDATE;
pub const SYNC: i32 = libc::MS_SYNC;

/// Returns the path of the library, which cargo has built for this test.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.with_file_name("libtcasm_preload.so");
    assert!(path.exists(), "{path:?} was built before the tests");
    path
}

/// Compiles a program once.
pub fn compiled(compiler: &str, source: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let name = source.file_stem().unwrap().to_str().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let own = folder.join(format!("{name}-{}", std::process::id()));
    let mut command = Command::new(compiler);
    command
        .arg(&source)
        .args(["-O1", "-o"])
        .arg(&own)
        .args(options);
    // Modules of Fortran go to the current folder.
    let done = command.current_dir(folder).status();
    assert!(done.is_ok_and(|status| status.success()), "{command:?}");
    let program = folder.join(name);
    std::fs::rename(own, &program).unwrap();
    program
}

fn puppet() -> &'static Path {
    static PUPPET: OnceLock<PathBuf> = OnceLock::new();
    PUPPET.get_or_init(|| compiled("cc", "c/puppet.c", &["-Wall", "-Werror", "-pthread"]))
}

/// Returns a command that runs under the library. Its folder of descriptions is empty.
pub fn preloaded(program: impl AsRef<std::ffi::OsStr>) -> Command {
    static EMPTY: OnceLock<TempDir> = OnceLock::new();
    let empty = EMPTY.get_or_init(|| tempfile::tempdir().unwrap());
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library())
        .env("TCASM_RUNTIME_DIR", runtime_dir())
        .env("TCASM_DESCRIPTION", empty.path())
        // A version is visible when msync returns, and none is skipped because of the one before.
        .env("TCASM_CAPTURE", "inline");
    for variable in ["TCASM_PRELOAD", "TCASM_RUN_REPORT", "TCASM_TRACKER"] {
        command.env_remove(variable);
    }
    command
}

/// A running puppet. Dropping it kills it.
pub struct Puppet {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Puppet {
    /// Starts the puppet.
    pub fn new() -> Puppet {
        Puppet::with(&[])
    }

    /// Starts the puppet with variables in its environment.
    pub fn with(environment: &[(&str, &str)]) -> Puppet {
        let folder = tempfile::tempdir().unwrap();
        let errors = File::create(folder.path().join("errors")).unwrap();
        let mut command = preloaded(puppet());
        command.envs(environment.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut process = command.spawn().unwrap();
        Puppet {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            folder,
        }
    }

    /// Sends a command, and returns the line that the puppet prints.
    pub fn line_of(&mut self, command: &str) -> String {
        self.tell(command);
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let errors = self.errors();
        assert!(!line.is_empty(), "{command:?} ended the program: {errors}");
        line.trim_end().to_owned()
    }

    /// Sends a command, and returns the numbers that the puppet prints.
    pub fn ask(&mut self, command: &str) -> Vec<i64> {
        let line = self.line_of(command);
        let number = |word: &str| {
            word.parse()
                .unwrap_or_else(|_| panic!("{command:?}: {line}"))
        };
        line.split_whitespace().map(number).collect()
    }

    /// Sends a command without an answer.
    pub fn tell(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    /// Opens a path, which must work.
    pub fn open(&mut self, path: &str) -> i64 {
        let fd = self.ask(&format!("open {path}"))[0];
        assert!(fd >= 0, "{path}: {}", self.errors());
        fd
    }

    /// Maps an object, which must work. Returns the address.
    pub fn map(&mut self, fd: i64, len: u64) -> i64 {
        self.ask(&format!("map {fd} {len} 0 0"))[0]
    }

    /// Opens and maps the region `name`.
    pub fn region(&mut self, name: &str, len: u64) -> i64 {
        let fd = self.open(&format!("tcasm:{name}"));
        self.ask(&format!("truncate {fd} {len}"));
        self.map(fd, len)
    }

    /// Stores a byte many times.
    pub fn fill(&mut self, at: i64, len: u64, byte: u8) {
        assert_eq!(self.ask(&format!("fill {at} {len} {byte}")), [0, 0]);
    }

    /// Returns a byte.
    pub fn get(&mut self, at: i64) -> i64 {
        self.ask(&format!("get {at}"))[0]
    }

    /// Calls `msync`. Returns the result and errno, which was 77.
    pub fn sync(&mut self, at: i64, len: u64, flags: i32) -> (i64, i64) {
        let answer = self.ask(&format!("sync {at} {len} {flags}"));
        (answer[0], answer[1])
    }

    /// Calls `msync`, which must work.
    pub fn publish(&mut self, at: i64, len: u64) {
        assert_eq!(self.sync(at, len, SYNC), (0, 77), "errno stays as it was");
    }

    /// Returns what the puppet has printed on standard error.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("errors")).unwrap()
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Lets the program end by returning from `main`.
    pub fn finish(&mut self) -> ExitStatus {
        drop(self.input.take());
        self.wait()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        poll_until("the program ends", || self.process.try_wait().unwrap())
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Attaches to a region.
pub fn observe(name: &str) -> Observer {
    Observer::attach_wait(name, DEADLINE).unwrap()
}

/// Returns the newest version, which has this number.
pub fn version(observer: &mut Observer, number: u64) -> Version {
    let version = observer.latest().unwrap();
    assert_eq!(version.number(), number);
    version
}

/// Returns the bytes of a field.
pub fn bytes(version: &Version, field: &str) -> Vec<u8> {
    version.view().unwrap().bytes(field).unwrap().to_vec()
}

/// Returns true if no region of this name lives.
pub fn is_gone(name: &str) -> bool {
    Observer::attach_wait(name, Duration::ZERO).is_err()
}
