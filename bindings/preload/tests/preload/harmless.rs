//! Programs that publish nothing behave as without the library.

use crate::common::*;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Shell scripts for dash, which use most of what coreutils and others map, open and fork.
const SCRIPTS: [&str; 16] = [
    "ls -lA . && ls /nowhere",
    "cp input copy && cat copy input | sort -r | uniq -c | head -n 5",
    "dd if=input of=out bs=100 count=7 conv=notrunc 2>/dev/null; wc out; cksum out",
    "dd if=/dev/zero of=big bs=1M count=8 2>/dev/null; sort -S 1M input input -o sorted; \
     cksum sorted",
    "mv input other; ln -s other link; readlink link; stat -c '%s %F' link; rm link; \
     mv other input",
    "echo text >tcasm-x; cat tcasm-x; rm tcasm-x; cat tcasm-x",
    "exec 5<>input; read line <&5; echo \"$line\"; (echo sub; exit 7); echo $?",
    "mkdir -p a/b/c; touch a/b/c/f; find a -type f; du -a a | sort; rm -r a; find a",
    "seq 100000 | tac | tail -n 3; seq 10 | xargs -n 3 echo; seq 3 | tee copy | md5sum",
    "split -n 3 input part; cat parta* | cmp - input && echo same; truncate -s 100 partaa; \
     wc -c partaa",
    "trap 'echo caught' TERM; kill -TERM $$; sleep 0; echo after; kill -9 $$",
    "timeout 0.1 sleep 5; echo $?; nice -n 1 true; env -i /bin/echo clean",
    "cat <<END | tr a-z A-Z | od -c | head -n 2\nhere\nEND",
    "for i in 1 2 3; do (echo $i & wait); done; wait; test -f nothing; exit 42",
    "cat input >&- 2>/dev/null; echo $?; cat 0<&- 2>/dev/null; echo $?",
    "python3 -c 'import mmap, os, tempfile, subprocess, ctypes, threading
f = tempfile.TemporaryFile(); f.truncate(1 << 16); m = mmap.mmap(f.fileno(), 0)
m[:5] = b\"hello\"; m.flush(); m.resize(1 << 17); print(m[:6], len(m)); m.close(); print(f.read(5))
print(subprocess.run([\"echo\", \"sub\"], capture_output=True).stdout)
pid = os.fork()
if pid == 0: os._exit(5)
print(os.waitpid(pid, 0)[1])
t = threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join()
a = mmap.mmap(-1, 1 << 16); a[0] = 7; print(a[0])
os.abort() if a[1] else print(open(\"input\").read(5))'",
];

fn run(script: &str, command: &mut Command) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..2000)
        .map(|i| format!("{} line\n", i * 7919 % 2000))
        .collect();
    std::fs::write(folder.path().join("input"), lines).unwrap();
    let mut touch = Command::new("touch");
    touch
        .args(["-d", "@0", "input", "."])
        .current_dir(folder.path());
    assert!(touch.status().unwrap().success());
    command
        .args(["-c", script])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn dash_coreutils_and_python_do_the_same_with_the_library() {
    for script in SCRIPTS {
        let plain = run(script, &mut Command::new("dash"));
        for variables in [&[][..], &[("TCASM_PRELOAD", "*.nothing:/no/*")]] {
            let mut command = preloaded("dash");
            command.envs(variables.iter().copied());
            let with = run(script, &mut command);
            assert_eq!(with.status, plain.status, "{script}");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&with.stdout), text(&plain.stdout), "{script}");
            assert_eq!(text(&with.stderr), text(&plain.stderr), "{script}");
        }
    }
}

#[test]
fn files_that_match_a_pattern_are_the_same_afterwards() {
    for script in &SCRIPTS[1..5] {
        let script = format!("{script}; cksum *");
        let plain = run(&script, &mut Command::new("dash"));
        let with = run(&script, preloaded("dash").env("TCASM_PRELOAD", "*"));
        assert_eq!(with, plain, "{script}");
    }
}

#[test]
fn message_to_a_pipe_that_nobody_reads_ends_no_program() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    // cat would print the error itself, and be ended by SIGPIPE.
    let program = "import os
try: os.open('tcasm:a/b', os.O_RDWR)
except OSError as error: print(error.errno)";
    let mut command = preloaded("python3");
    command.args([
        "-c",
        &format!("import signal\nsignal.signal(13, 0)\n{program}"),
    ]);
    let with = command.stderr(writer).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&with.stdout),
        format!("{}\n", libc::EINVAL)
    );
    assert!(with.status.success(), "{:?}", with.status);
}

#[test]
fn allocators_that_map_memory_before_anything_else_work() {
    let found = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
    ]
    .iter()
    .map(|folder| format!("{folder}/libjemalloc.so.2"))
    .find(|path| Path::new(path).exists());
    let Some(allocator) = found else {
        println!("NOT RUN: there is no libjemalloc.so.2");
        return;
    };
    for order in [
        format!("{allocator}:{}", library().display()),
        format!("{}:{allocator}", library().display()),
    ] {
        let script = "ls -d /; python3 -c 'print(sum(range(10)))'";
        let mut command = preloaded("dash");
        command.env("LD_PRELOAD", &order);
        let with = run(script, &mut command);
        assert_eq!(
            String::from_utf8_lossy(&with.stdout),
            "/\n45\n",
            "{order}: {with:?}"
        );
    }
}
