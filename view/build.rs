//! The page is part of the program: a new file of it makes a new program.

fn main() {
    println!("cargo::rerun-if-changed=assets");
}
