//! Programs in other languages that map a file themselves.

use crate::common::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use tcasm_observer::Status;
use tcasm_tests::name;

/// Runs a program that publishes 3 versions of 1000 doubles, which have the number of the version,
/// with a line from it and one to it after each.
fn three_versions(command: &mut Command, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[field]]\nname = \"u\"\ndtype = \"float64\"\nshape = [10, 100]\n";
    std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    command.env("TCASM_DESCRIPTION", folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut input = process.stdin.take().unwrap();
    let mut observer = None;
    for number in 1..=3u64 {
        assert_eq!(output.next().unwrap().unwrap().trim(), "published");
        let observer = observer.get_or_insert_with(|| observe(name));
        let seen = version(observer, number);
        let view = seen.view().unwrap();
        let values = view.array::<f64>("u").unwrap();
        assert_eq!(values.shape(), [10, 100]);
        assert!(
            values.iter().all(|value| *value == number as f64),
            "version {number}"
        );
        writeln!(input, "go on").unwrap();
    }
    assert!(process.wait().unwrap().success());
    assert!(matches!(
        observer.unwrap().status().unwrap(),
        Status::EndOfStream
    ));
}

#[test]
fn python_publishes_by_flushing_an_mmap() {
    let name = name("python");
    let program = "
import mmap, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 8000)
with mmap.mmap(fd, 8000) as memory:
    os.close(fd)
    for number in (1, 2, 3):
        memory[:] = struct.pack('d', number) * 1000
        memory.flush()
        print('published', flush=True)
        input()
";
    let mut command = preloaded("python3");
    command.args(["-c", program, &format!("tcasm:{name}")]);
    three_versions(&mut command, &name);
}

#[test]
fn fortran_publishes_through_the_functions_of_c() {
    let name = name("fortran");
    let program = compiled("gfortran", "fortran/maps.f90", &["-Wall", "-Werror"]);
    three_versions(preloaded(program).arg(format!("tcasm:{name}")), &name);
}

#[test]
fn fortified_programs_open_regions_too() {
    let name = name("fortified");
    // With a path and flags that the compiler does not know, glibc has functions of its own.
    let options = ["-O2", "-D_FORTIFY_SOURCE=2", "-Wall", "-Werror"];
    let program = compiled("cc", "c/fortified.c", &options);
    three_versions(preloaded(program).arg(format!("tcasm:{name}")), &name);
}
