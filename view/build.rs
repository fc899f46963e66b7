//! Builds the program again when a file of the page changes: the page is part of the program.

fn main() {
    println!("cargo::rerun-if-changed=assets");
}
