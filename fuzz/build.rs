//! Compiles the random calls of the tests in C, for the target `c_interface`.

fn main() {
    let (folder, headers) = ("../bindings/c/tests/c", "../bindings/c/include");
    // Cargo looks at all files in a folder: the program consists of several.
    println!("cargo::rerun-if-changed={folder}");
    println!("cargo::rerun-if-changed={headers}");
    let mut build = cc::Build::new();
    let source = format!("{folder}/random.c");
    build.file(source).include(headers).define("TCASM_FUZZ", None);
    build.define("_GNU_SOURCE", None).std("c11").compile("random_calls");
}
