//! Compiles the random calls of the tests in C, for the target `c_interface`.

fn main() {
    let (source, headers) = ("../bindings/c/tests/c/random.c", "../bindings/c/include");
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-changed={headers}");
    let mut build = cc::Build::new();
    build.file(source).include(headers).define("TCASM_FUZZ", None);
    build.define("_GNU_SOURCE", None).std("c11").compile("random_calls");
}
