//! Builds the program again when a file of the page changes: the page is part of the program. Stops
//! if the files of other projects that the page uses are missing.

use std::fs;

fn main() {
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rerun-if-changed=vendor/files.sha256");
    // Only the server has the page.
    if std::env::var_os("CARGO_FEATURE_SERVER").is_some() && !fetched() {
        println!(
            "cargo::error=the page of the live view uses files of other projects; those in \
             view/assets/vendor are missing, or are not those of view/vendor/files.sha256: run \
             `make setup` in the repository, or only `ci/vendor.sh`, which needs npm"
        );
    }
}

/// Returns true if the files that `vendor/files.sha256` lists were fetched. `ci/vendor.sh` copies
/// that list when it has compared all files with it.
fn fetched() -> bool {
    let list = fs::read("vendor/files.sha256").ok();
    list.is_some() && list == fs::read("assets/vendor/files.sha256").ok()
}
