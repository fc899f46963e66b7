//! `include/tcasm.h` is what cbindgen makes of this crate, and `include/tcasm_files.h` what it
//! makes of `bindings/c-files` besides. After a change of the interface, run the test with
//! `TCASM_UPDATE=1`, which writes the files.

use cbindgen::{Builder, Config};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The names that C has for the types of Rust.
const NAMES: &[(&str, &str)] = &[
    ("Producer", "tcasm_producer"),
    ("Options", "tcasm_options"),
    ("FieldOptions", "tcasm_field_options"),
    ("Attrs", "tcasm_attrs"),
    ("Buffer", "tcasm_buffer"),
    ("Observer", "tcasm_observer"),
    ("Version", "tcasm_version"),
    ("GroupObserver", "tcasm_group_observer"),
    ("GroupVersion", "tcasm_group_version"),
    ("HostBuffer", "tcasm_host_buffer"),
    ("HostBufferOptions", "tcasm_host_buffer_options"),
    ("Owner", "tcasm_owner"),
    ("Peer", "tcasm_peer"),
    ("SharedMemory", "tcasm_shared_memory"),
    ("Mapped", "tcasm_mapped"),
    ("Gathered", "tcasm_gathered"),
];

#[test]
fn the_header_is_that_of_the_functions() {
    check("include/tcasm.h", &header());
}

#[test]
fn the_header_of_files_is_that_of_the_functions() {
    check("include/tcasm_files.h", &header_of_files());
}

/// Compares a header with the one in `path`, or writes that.
fn check(path: &str, made: &str) {
    if std::env::var_os("TCASM_UPDATE").is_some() {
        std::fs::write(path, made).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    let differs = made.lines().zip(stored.lines()).position(|(a, b)| a != b);
    assert!(
        made == stored,
        "{path} differs from line {differs:?} on: TCASM_UPDATE=1 cargo test -p tcasm-c \
         --test header writes it"
    );
}

#[test]
fn the_shared_library_has_the_functions_of_the_header() {
    assert_eq!(exported("tcasm.map"), functions(&header()));
    assert_eq!(exported("tcasm_files.map"), functions(&header_of_files()));
}

/// Returns the functions that a version script lists.
fn exported(map: &str) -> BTreeSet<String> {
    let map = std::fs::read_to_string(map).unwrap();
    map.lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|name| name.starts_with("tcasm_"))
        .map(str::to_owned)
        .collect()
}

/// Returns the names of the functions that a header declares.
fn functions(header: &str) -> BTreeSet<String> {
    let declared = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/', '}']) && !line.starts_with("typedef"));
    let names = declared.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    names.map(str::to_owned).collect()
}

fn header() -> String {
    header_of(sources())
}

/// Returns the header of the functions in `bindings/c-files`: all that is not in `tcasm.h`.
fn header_of_files() -> String {
    let own = header();
    let known: BTreeSet<&str> = own.split("\n\n").collect();
    let files = ["restart", "checkpoint"];
    let files = files.map(|name| format!("../c-files/src/{name}.rs").into());
    let whole = header_of(sources().into_iter().chain(files).collect());
    let items = whole.split("\n\n").filter(|item| !known.contains(item));
    FILES.replace("{}", &items.collect::<Vec<_>>().join("\n\n"))
}

/// The text around the items of `tcasm_files.h`.
const FILES: &str = "\
/*
 * TCASM for C: checkpoints, and runs that continue from them. docs/c.md is an introduction.
 *
 * These functions are in libtcasm_files, which has all functions of tcasm.h, too, and needs HDF5.
 * Link it instead of libtcasm: a program must not link both.
 */

#ifndef TCASM_FILES_H
#define TCASM_FILES_H

#include <tcasm.h>

#ifdef __cplusplus
extern \"C\" {
#endif

{}

#ifdef __cplusplus
}
#endif

#endif
";

fn header_of(sources: Vec<PathBuf>) -> String {
    let mut builder = Builder::new().with_config(config());
    for file in sources {
        builder = builder.with_src(file);
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    resolved(&String::from_utf8(made).unwrap())
}

/// Returns the files that have functions, in the order in which the header tells of them.
fn sources() -> Vec<PathBuf> {
    let order = [
        "status",
        "options",
        "producer",
        "constants",
        "field_options",
        "publish",
        "meshes",
        "buffers",
        "adopted",
        "observer",
        "facts",
        "observers",
        "version",
        "mapping",
        "changes",
        "meshes_of",
        "groups",
        "global_arrays",
        "host_buffers",
        "host_buffer_options",
        "transfers",
        "transfers_peer",
        "transfers_shared",
        "transfers_vectored",
        "transfers_gathered",
        "transfers_hold",
        "array",
        "attrs",
    ];
    let files = order.map(|name| Path::new("src").join(name).with_extension("rs"));
    for file in std::fs::read_dir("src").unwrap() {
        let file = file.unwrap().path();
        let exports = std::fs::read_to_string(&file)
            .unwrap()
            .contains("no_mangle");
        assert!(
            files.contains(&file) || !exports,
            "the list lacks {}",
            file.display()
        );
    }
    let mut files = Vec::from(files);
    files.extend(["border", "handles", "buffer"].map(|name| format!("src/{name}.rs").into()));
    files
}

/// Replaces the names of the types at the border (`Out_f64`) by the pointers that they stand for.
fn resolved(header: &str) -> String {
    const BORDER: [&str; 7] = ["Text", "List", "Out", "Fill", "Count", "Sized", "Handle"];
    let mut types: Vec<(String, String)> = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    for item in header.split("\n\n") {
        let typedef = item
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("typedef "));
        let parts = typedef.and_then(|t| t.strip_suffix(';')?.rsplit_once([' ', '*']));
        let name = parts.map_or("", |(_, name)| name);
        if !BORDER.contains(&name.split('_').next().unwrap_or("")) {
            kept.push(replaced(item, &types));
            continue;
        }
        let whole = typedef.unwrap_or("");
        let meant = whole[..whole.len() - name.len() - 1].trim_end();
        types.push((name.to_owned(), replaced(meant, &types)));
    }
    kept.join("\n\n")
}

/// Replaces the names of types, which stand before a space or a `*`.
fn replaced(text: &str, types: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    // The later ones may contain names of the earlier ones.
    for (name, meant) in types.iter().rev() {
        for end in [" ", "*"] {
            let meant = meant.trim_end();
            let space = if meant.ends_with('*') { "" } else { " " };
            text = text.replace(
                &format!("{name}{end}"),
                &format!("{meant}{space}{}", end.trim()),
            );
        }
    }
    text
}

fn config() -> Config {
    let mut config = Config::from_file("cbindgen.toml").unwrap();
    let names = NAMES.iter();
    let names = names.map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned()));
    config.export.rename = names.collect();
    config
}
